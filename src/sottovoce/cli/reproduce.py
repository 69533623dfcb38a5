"""`sottovoce reproduce`: the paper's claims as measurements."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sottovoce.cli.compare import run_with_progress
from sottovoce.cli.folders import check_folder
from sottovoce.lab.reproduction import FAILS, HOLDS, LARGE, SMALL, PaperClaim, claims, reproduction_grid

_COLOURS = {HOLDS: "green", FAILS: "bold red"}


def reproduce_command(
    large: Annotated[
        bool, typer.Option("--large", help="To 10^7 events, and 10^8 for two seeds: half an hour of a core.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for runs, tables and figures; by default results/reproduction (with --large: -large)."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what is in the folder.")] = False,
) -> None:
    """Measure what the paper claims, with its noise, the needed noise and this library's default; minutes on a core."""
    from sottovoce.report import write_reproduction  # figures are slow to import, and most commands draw none

    command = ["sottovoce", "reproduce", *(["--large"] if large else [])]
    places = ["--out", str(out)] if out else []
    out = out or Path("results") / ("reproduction-large" if large else "reproduction")  # their grids differ
    check_folder(out)
    scale = LARGE if large else SMALL
    console = Console()
    sweep = run_with_progress(
        console,
        out,
        reproduction_grid(scale),
        command=shlex.join(command),
        call=shlex.join([*command, *places]),
        jobs=jobs,
        fresh=fresh,
    )
    found = claims(sweep.results, scale.base)
    for claim, table in zip(found, claim_tables(found), strict=True):
        console.print(f"[bold]{claim.title}[/] ({claim.source})", highlight=False)
        console.print(table)
    console.print("Noise is simulated: NOT PRIVATE.", highlight=False)
    for path in write_reproduction(sweep, found, scale, out):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def claim_tables(claims: tuple[PaperClaim, ...]) -> list[Table]:
    """Return a table for each claim: one row per algorithm."""
    tables = []
    for claim in claims:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for name in ("", "regret / never", "measured", "verdict"):
            table.add_column(name, overflow="fold")
        for row in claim.rows:
            colour = _COLOURS.get(row.verdict, "yellow")
            table.add_row(row.who, row.level, row.measured or "none", f"[{colour}]{row.verdict}[/]")
        tables.append(table)
    return tables
