"""`sottovoce compare`: a grid of runs, and what it says."""

import hashlib
import math
import os
import re
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from sottovoce._checks import number
from sottovoce._extras import load
from sottovoce._written import listed, split_names
from sottovoce.cli import parsing
from sottovoce.cli.folders import check_folder
from sottovoce.errors import SweepStopped
from sottovoce.lab import ALGORITHMS, Cell, Standing, Sweep, grid, sweep
from sottovoce.lab.grouping import gather
from sottovoce.lab.problems import PROBLEMS
from sottovoce.lab.slopes import Slope, slopes
from sottovoce.lab.summary import Summary, failures, summarise

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
    cluster: Annotated[
        str | None, typer.Option(help="Run on a Dask cluster: its scheduler, such as tcp://scheduler:8786.")
    ] = None,
    cluster_timeout: Annotated[float, typer.Option(help="Seconds that the scheduler has to answer in.")] = 10.0,
) -> None:
    """Run algorithms on problems, over processes or machines, and compare; what is finished is not run again."""
    out = default_folder(problems) if out is None else out
    check_folder(out)
    for needed in ("distributed",) * (cluster is not None) + ("filelock", "matplotlib"):  # before hours are spent
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
    with _executor(console, cluster, cluster_timeout, jobs) as executor:
        sweep = run_with_progress(
            console, out, cells, command=command, jobs=jobs, fresh=fresh, executor=executor, cluster=cluster
        )
    show(console, sweep)
    if not any(result.status == "done" for result in sweep.results):
        raise typer.Exit(NOTHING_DONE)


def default_folder(problems: Sequence[str]) -> Path:
    """Return the folder for the results of problems, so that other problems have another one.

    Examples
    --------
    >>> default_folder(["slate", "ranking:set=birkhoff,items=6"]).as_posix()
    'results/compare-slate-ranking-set-birkhoff-items-6'
    """
    safe = "-".join(re.sub(r"[^a-z0-9.]+", "-", one.lower()).strip("-.") for one in problems)
    if len(safe) > LONGEST:  # what was cut off must still tell folders apart
        safe = f"{safe[:LONGEST].rstrip('-.')}-{hashlib.sha256(safe.encode()).hexdigest()[:8]}"
    return Path("results") / f"compare-{safe}"


@contextmanager
def _executor(console: Console, cluster: str | None, timeout: float, jobs: int | None) -> Iterator[Any]:
    """Connect to a cluster, if there is to be one, and say how large it is."""
    if cluster is None:
        yield None
        return
    if jobs is not None:
        raise ValueError(
            "jobs are processes of this machine, and with --cluster the cells run elsewhere: leave one out"
        )
    distributed = load("distributed", "a sweep on a cluster")
    try:
        client = distributed.Client(
            cluster, timeout=number("cluster_timeout", timeout, above=0.0), set_as_default=False
        )
    except (AssertionError, OSError, RuntimeError, TimeoutError, TypeError, ValueError) as problem:
        raise ConnectionError(
            f"no Dask scheduler answers at {cluster!r} within {timeout:g} s ({type(problem).__name__}): check the "
            "address (such as tcp://scheduler:8786), that `dask scheduler` runs there, and that nothing stands between"
        ) from None
    with client:
        threads = client.nthreads()
        console.print(f"cluster {cluster}: {len(threads)} workers, {sum(threads.values())} threads", highlight=False)
        if not threads:
            console.print(f"[yellow]no workers yet:[/] cells wait for one, such as `dask worker {cluster}`")
        yield client.get_executor(pure=False)


def run_with_progress(
    console: Console,
    out: Path,
    cells: tuple[Cell, ...],
    *,
    command: str,
    jobs: int | None,
    fresh: bool,
    executor: Any = None,
    cluster: str | None = None,
    call: str | None = None,
) -> Sweep:
    """Run what is left of a sweep, with one display; on an interrupt say how to go on, and end with code 130.

    `command` is what the results say that made them; `call` the same with all that this call was given.
    """
    call = call or command
    again = call if jobs is None else f"{call} --jobs {jobs}"
    if executor is not None:
        again = f"{call} --cluster {cluster}"
    elif jobs is None:
        jobs = _cores()
    try:
        with SweepProgress(console) as display:
            return sweep(out, cells, command=command, jobs=jobs, executor=executor, fresh=fresh, progress=display.show)
    except SweepStopped as problem:
        console.print(f"[bold red]stopped:[/] {escape(str(problem))}", soft_wrap=True, highlight=False)
        console.print(f"to go on here: {call}", soft_wrap=True, highlight=False, markup=False)
        raise typer.Exit(STOPPED) from None
    except KeyboardInterrupt:
        done = (
            sum(result.status == "done" for result in Sweep.load(out).results) if (out / "sweep.json").exists() else 0
        )
        console.print(f"[yellow]interrupted:[/] {done} of {len(cells)} cells are finished, and are kept")
        console.print(f"to go on: {again}", soft_wrap=True, highlight=False, markup=False)
        raise typer.Exit(INTERRUPTED) from None


def show(console: Console, sweep: Sweep) -> None:
    """Print what a sweep found, and which files hold it."""
    from sottovoce.report import sweep_report  # figures are slow to import, and most commands draw none

    for table in (*summary_tables(summarise(sweep.results)), *slope_tables(slopes(sweep.results))):
        console.print(table)
    for line in failures(sweep.results):
        console.print(f"failed: {line}", soft_wrap=True, highlight=False, markup=False)
    console.print("Mean ± standard error over seeds. Noise is simulated: NOT PRIVATE.", highlight=False)
    report = sweep_report(sweep, sweep.folder / "report.html")
    for path in (report, sweep.folder / "results.csv"):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


class SweepProgress:
    """One line: cells done, failed and left, events per second, time left."""

    def __init__(self, console: Console) -> None:
        words = "{task.fields[cells]}"
        self._bars = Progress(TextColumn(words), BarColumn(bar_width=20), TaskProgressColumn(), console=console)
        self._task = self._bars.add_task("", total=None, cells="starting")
        self._started = time.monotonic()

    def __enter__(self) -> "SweepProgress":
        self._bars.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bars.stop()

    def show(self, standing: Standing) -> None:
        """Bring the display up to date."""
        done, total = (standing.events_done, standing.events_total) if standing.events_total else (1, 1)
        self._bars.update(self._task, completed=done, total=total, cells=self._words(standing))

    def _words(self, standing: Standing) -> str:
        words = f"cells: {standing.done} done, {standing.failed} failed, {standing.left} left"
        elapsed = time.monotonic() - self._started
        if standing.events_done and standing.left:
            words += f" · {standing.events_done / elapsed:,.0f} events/s"
        if standing.seconds_left is not None and standing.left:
            words += f" · about {_duration(standing.seconds_left)} left"
        return words


def _cores() -> int:
    """Cores that this process may use; all there are where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# ----------------------------------------------------------------------
# What `sottovoce compare` prints.


def summary_tables(summaries: Iterable[Summary]) -> list[Group]:
    """Return one table per problem, with its title: a row for each algorithm, epsilon and horizon."""
    return [_summary_table(*one) for one in gather(summaries, lambda summary: summary.problem).items()]


def _summary_table(problem: str, group: list[Summary]) -> Group:
    table = _table("epsilon", "events", "per event", "of never", "runs")
    for one in group:
        table.add_row(
            one.algorithm,
            _epsilon(one.epsilon),
            f"{one.horizon:,}",
            with_error(one.regret, one.regret_error) if one.runs else "failed",
            "" if math.isnan(one.ratio) else f"{one.ratio:.0%}",
            f"{one.runs}/{one.runs + one.failed}",
        )
    never = {one.horizon: one.never_learning for one in group if one.runs}
    for horizon, regret in sorted(never.items()):
        table.add_row("never learning", "", f"{horizon:,}", f"{regret:.4f}", "", "")
    return _titled(f"{problem}: regret in simulation", table)


def slope_tables(slopes: Iterable[Slope]) -> list[Group]:
    """Return one table per problem and quantity, with its title: a row for each slope."""
    tables: dict[str, Table] = {}
    for one in slopes:
        title = f"{one.problem}: regret grows as this power of {one.against} (95% interval)"
        tables.setdefault(title, _table("epsilon", "events", "power")).add_row(
            one.algorithm,
            "" if one.epsilon is None else _epsilon(one.epsilon),
            "" if one.horizon is None else f"{one.horizon:,}",
            one.reason if one.fit is None else str(one.fit),
        )
    return [_titled(title, table) for title, table in tables.items()]


def with_error(mean: float, error: float) -> str:
    """Write a mean with its standard error, if it has one.

    Examples
    --------
    >>> with_error(0.12345, 0.00321), with_error(0.12345, float("nan"))
    ('0.1235 ± 0.0032', '0.1235')
    """
    return f"{mean:.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}")


def _titled(title: str, table: Table) -> Group:
    return Group(Text(title, style="bold"), table)  # a title of its own may be wider than its table


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm", overflow="fold", min_width=14)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _epsilon(epsilon: float) -> str:
    return "none" if math.isinf(epsilon) else f"{epsilon:g}"
