"""`sottovoce reproduce`: the paper's claims as measurements."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sottovoce.cli.compare import run_with_progress
from sottovoce.cli.folders import check_folder
from sottovoce.lab.reproduction import FAILS, HOLDS, LARGE, SMALL, claims, reproduction_grid

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
        for row in claim.rows:
            verdict = f"[{_COLOURS.get(row.verdict, 'yellow')}]{row.verdict}[/]"
            console.print(f"  {row.who}: {row.level} of never learning, {row.measured or 'not measured'}: {verdict}")
    console.print("Noise is simulated: NOT PRIVATE.", highlight=False)
    for path in write_reproduction(sweep, found, scale, out):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
