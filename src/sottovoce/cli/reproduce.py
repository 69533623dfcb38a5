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

    command = ["sottovoce", "reproduce", *(["--large"] if large else []), *(["--out", str(out)] if out else [])]
    out = out or Path("results") / ("reproduction-large" if large else "reproduction")  # their grids differ
    check_folder(out)
    scale, console = LARGE if large else SMALL, Console()
    cells = reproduction_grid(scale)
    sweep = run_with_progress(console, out, cells, command=shlex.join(command), jobs=jobs, fresh=fresh)
    found = claims(sweep.results, scale.base)
    for claim in found:
        console.print(f"[bold]{claim.title}[/] ({claim.source})", highlight=False)
        console.print(claim_table(claim))
    console.print("Noise is simulated: NOT PRIVATE.", highlight=False)
    for path in write_reproduction(sweep, found, scale, out):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def claim_table(claim: PaperClaim) -> Table:
    """Return the table of a claim: one row per algorithm."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("", "regret / never", "measured", "verdict"):
        table.add_column(name, overflow="fold")
    for row in claim.rows:
        colour = _COLOURS.get(row.verdict, "yellow")
        table.add_row(row.who, row.level, row.measured or "none", f"[{colour}]{row.verdict}[/]")
    return table
