"""`sottovoce compare`: a grid of runs, and what it says."""

import math
import os
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from sottovoce._extras import load
from sottovoce._written import listed, split_names
from sottovoce.cli import parsing
from sottovoce.cli.folders import check_folder
from sottovoce.errors import SweepStopped
from sottovoce.lab import ALGORITHMS, Cell, Standing, Sweep, grid, sweep
from sottovoce.lab.problems import PROBLEMS
from sottovoce.lab.summary import Summary, failures, gather, summarise

NOTHING_DONE, STOPPED, INTERRUPTED = 1, 1, 130
LONGEST = 60  # characters of a folder's name that come from problems


def compare_command(
    problems: Annotated[
        list[str],
        typer.Argument(
            metavar="PROBLEM...", help=f"One or more of {', '.join(PROBLEMS)}; with settings: slate:items=40,slots=5."
        ),
    ],
    algorithms: Annotated[
        str,
        typer.Option(
            help=f"Some of {', '.join(ALGORITHMS)}, with commas between them; with options: default:mechanism=tree."
        ),
    ] = "default,no-privacy,paper-gaussian",
    epsilon: Annotated[str, typer.Option(help="Privacy budgets, such as 0.1,1.")] = "1",
    horizon: Annotated[str, typer.Option(help="Events, such as 1e4,1e5 or 10k,100k.")] = "100k",
    seeds: Annotated[int, typer.Option(help="How many runs of each, with seeds 0, 1, ...")] = 5,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; by default results/compare-PROBLEMS.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what is in the folder.")] = False,
) -> None:
    """Run algorithms on problems, over processes, and compare; what is finished is not run again."""
    out = default_folder(problems) if out is None else out
    check_folder(out)
    for needed in ("filelock", "matplotlib"):  # before hours are spent
        load(needed, "`sottovoce compare`")
    names, horizons = split_names(algorithms), [parsing.count("horizon", text) for text in listed(horizon)]
    epsilons = parsing.numbers("epsilon", epsilon)
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, got {seeds}")
    cells = grid(problems, names, epsilons=epsilons, horizons=horizons, seeds=range(seeds))
    command = shlex.join(
        [
            *("sottovoce", "compare", *problems, "--algorithms", ",".join(names)),
            *("--epsilon", ",".join(map(repr, epsilons)), "--horizon", ",".join(map(str, horizons))),
            *("--seeds", str(seeds), "--out", str(out)),
        ]
    )
    console = Console()
    found = run_with_progress(console, out, cells, command=command, jobs=jobs, fresh=fresh)
    show(console, found)
    if not any(result.status == "done" for result in found.results):
        raise typer.Exit(NOTHING_DONE)


def default_folder(problems: Sequence[str]) -> Path:
    """Return the folder for the results of problems, so that other problems have another one.

    Examples
    --------
    >>> default_folder(["slate", "ranking:types=2,items=6"]).as_posix()
    'results/compare-slate-ranking-types-2-items-6'
    """
    safe = "-".join(re.sub(r"[^a-z0-9.]+", "-", one.lower()).strip("-.") for one in problems)
    return Path("results") / f"compare-{safe[:LONGEST].rstrip('-.')}"


def run_with_progress(
    console: Console, out: Path, cells: tuple[Cell, ...], *, command: str, jobs: int | None, fresh: bool
) -> Sweep:
    """Run what is left of a sweep, with one display; on an interrupt say how to go on, and end with code 130."""
    again = command if jobs is None else f"{command} --jobs {jobs}"
    jobs, started = _cores() if jobs is None else jobs, time.monotonic()
    try:
        with Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=20), TaskProgressColumn(), console=console
        ) as bars:
            task = bars.add_task("starting", total=None)

            def show(standing: Standing) -> None:
                done, total = (standing.events_done, standing.events_total) if standing.events_total else (1, 1)
                bars.update(task, completed=done, total=total, description=_words(standing, time.monotonic() - started))

            return sweep(out, cells, command=command, jobs=jobs, fresh=fresh, progress=show)
    except SweepStopped as problem:
        console.print(f"[bold red]stopped:[/] {escape(str(problem))}", soft_wrap=True, highlight=False)
        code = STOPPED
    except KeyboardInterrupt:
        results = Sweep.load(out).results if (out / "sweep.json").exists() else ()
        done = sum(result.status == "done" for result in results)
        console.print(f"[yellow]interrupted:[/] {done} of {len(cells)} cells are finished, and are kept")
        code = INTERRUPTED
    console.print(f"to go on: {again}", soft_wrap=True, highlight=False, markup=False)
    raise typer.Exit(code)


def _words(standing: Standing, seconds: float) -> str:
    """Say how many cells are done, failed and left, events per second, and the time that is left."""
    words = f"cells: {standing.done} done, {standing.failed} failed, {standing.left} left"
    if standing.events_done and standing.left:
        words += f" · {standing.events_done / seconds:,.0f} events/s"
        left = (standing.events_total - standing.events_done) * seconds / standing.events_done
        minutes, rest = divmod(round(left), 60)
        words += f" · about {f'{minutes} min ' if minutes else ''}{rest} s left"
    return words


def show(console: Console, sweep: Sweep) -> None:
    """Print what a sweep found, and which files hold it."""
    from sottovoce.report import sweep_report  # figures are slow to import, and most commands draw none

    for problem, group in gather(summarise(sweep.results), lambda summary: summary.problem).items():
        console.print(summary_table(problem, group))
    for line in failures(sweep.results):
        console.print(f"failed: {line}", soft_wrap=True, highlight=False, markup=False)
    console.print("Mean ± standard error over seeds. Noise is simulated: NOT PRIVATE.", highlight=False)
    report = sweep_report(sweep, sweep.folder / "report.html")
    for path in (report, sweep.folder / "results.csv"):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


def _cores() -> int:
    """Cores that this process may use; all there are where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ----------------------------------------------------------------------
# What `sottovoce compare` prints.


def summary_table(problem: str, group: list[Summary]) -> Group:
    """Return the table of a problem, with its title: a row for each algorithm, epsilon and horizon."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm", overflow="fold", min_width=14)
    for name in ("epsilon", "events", "per event", "of never", "runs"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in group:
        table.add_row(
            one.algorithm,
            "none" if math.isinf(one.epsilon) else f"{one.epsilon:g}",
            f"{one.horizon:,}",
            with_error(one.regret, one.regret_error) if one.runs else "failed",
            "" if math.isnan(one.ratio) else f"{one.ratio:.0%}",
            f"{one.runs}/{one.runs + one.failed}",
        )
    never = {one.horizon: one.never_learning for one in group if one.runs}
    for horizon, regret in sorted(never.items()):
        table.add_row("never learning", "", f"{horizon:,}", f"{regret:.4f}", "", "")
    title = Text(f"{problem}: regret in simulation", style="bold")  # one of its own may be wider than its table
    return Group(title, table)


def with_error(mean: float, error: float) -> str:
    """Write a mean with its standard error, if it has one.

    Examples
    --------
    >>> with_error(0.12345, 0.00321), with_error(0.12345, float("nan"))
    ('0.1235 ± 0.0032', '0.1235')
    """
    return f"{mean:.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}")
