"""Run what is left of a sweep: over processes of this machine, on a cluster, or with any executor."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sottovoce
from sottovoce._checks import whole
from sottovoce._extras import load
from sottovoce.errors import SweepStopped
from sottovoce.lab.sweeps._executors import EngineLost, work_on
from sottovoce.lab.sweeps._running import keep, run_cell
from sottovoce.lab.sweeps._workers import Done, Failed, Message, Progress, Started, Task, work
from sottovoce.lab.sweeps.cell import Cell, Result
from sottovoce.lab.sweeps.cluster import check_client, work_on_cluster
from sottovoce.lab.sweeps.records import write_record
from sottovoce.lab.sweeps.standing import Standing
from sottovoce.lab.sweeps.swept import Sweep, read_about

if TYPE_CHECKING:
    from distributed import Client


# ----------------------------------------------------------------------
# Which cell next: the one that should take longest, so that all processes end together.


class CellQueue:
    """Cells that are left, longest first, by what the finished ones took per event.

    An algorithm that was not seen yet on a problem is taken to be as slow as the slowest, so it is tried early.

    Examples
    --------
    >>> short, long = Cell("ball", "default", 1.0, 1_000, 0), Cell("ball", "default", 1.0, 100_000, 0)
    >>> schedule = CellQueue([short, long])
    >>> schedule.pick() == long, schedule.pick() == short, schedule.pick()
    (True, True, None)
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._left = list(cells)
        self._out: set[Cell] = set()  # handed out, and not finished
        self.seconds_finished = 0.0
        self._pace: dict[tuple[str, str], float] = {}  # seconds per event

    def learn(self, cell: Cell, seconds: float) -> None:
        """Note what a cell took."""
        self._pace[cell.problem, cell.algorithm] = seconds / cell.horizon

    def finish(self, cell: Cell, seconds: float) -> None:
        """Note that a cell that was handed out needs no more time, whatever came of it."""
        self._out.discard(cell)
        self.seconds_finished += seconds

    def seconds_of(self, cell: Cell) -> float:
        """Return what a cell should take."""
        slowest = max(self._pace.values(), default=1e-5)
        return cell.horizon * self._pace.get((cell.problem, cell.algorithm), slowest)

    def pick(self) -> Cell | None:
        """Hand out the cell that should take longest; the first such one."""
        if not self._left:
            return None
        best = max(range(len(self._left)), key=lambda place: (self.seconds_of(self._left[place]), -place))
        cell = self._left.pop(best)
        self._out.add(cell)
        return cell

    @property
    def seconds_left(self) -> float:
        """Return what the cells that are not finished should take together."""
        return sum(map(self.seconds_of, self._left)) + sum(map(self.seconds_of, self._out))


_TABLE_PAUSE = 10.0  # seconds between two writings of the table while a sweep runs
_JOBS = 2


def sweep(
    folder: str | Path,
    cells: Iterable[Cell],
    *,
    command: str = "",
    jobs: int | None = None,
    client: "Client | None" = None,
    executor: Executor | None = None,
    fresh: bool = False,
    progress: Callable[[Standing], None] | None = None,
    task: Task = run_cell,
) -> Sweep:
    """Run a grid of cells and return the sweep; what is finished in the folder already is not run again.

    Each cell that fails is noted with its reason, and is tried again the next time. A keyboard interrupt, or a kill,
    costs the cells that were being run and nothing else: call this again to go on. Where the cells run changes nothing
    of what comes of them: a sweep may be begun on a cluster and finished here.

    Parameters
    ----------
    folder
        Where the sweep lies, or will; only this process writes there.
    cells
        The grid. A sweep that is there already may be continued by the same grid or a larger one.
    command
        The command line that redoes it, to be written down.
    jobs
        Processes of this machine, two unless said otherwise; not with a client or an executor, which have their own.
    client
        A `distributed.Client`: the cells run on its Dask cluster. Workers with other versions are refused.
    executor
        Any other engine with the interface of `concurrent.futures`, such as `ThreadPoolExecutor(4)`,
        `loky.get_reusable_executor()` or `mpi4py.futures.MPIPoolExecutor()`.
    fresh
        Forget what is in the folder.
    progress
        Called whenever something has happened.
    task
        What is done with a cell; tests put another one in its place.

    Raises
    ------
    SweepStopped
        The cluster, or the executor, went away. What is finished is kept.

    Examples
    --------
    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> cells = [Cell("ball:dimension=2", "default", 1.0, 300, seed) for seed in range(2)]
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as threads:
    ...     found = sweep(folder, cells, executor=threads)
    ...     [result.status for result in found.results]
    ['done', 'done']
    """
    engine = _engine(jobs, client, executor)
    folder = Path(folder)
    with alone_in(folder):
        found = begin(folder, tuple(dict.fromkeys(cells)), command, fresh)
        try:
            _run_left(found, task, engine, progress or (lambda standing: None))
        finally:
            found.write_results()
    return found.refreshed()


@dataclass(frozen=True, slots=True)
class _Engine:
    """What works on cells, and how many at a time, if that is known."""

    work: Callable[[Task, Callable[[], Any], int], Iterator[Message]]
    jobs: int | None


def _engine(jobs: int | None, client: Any, executor: Executor | None) -> _Engine:
    """Return what shall work on the cells, checked before anything is touched."""
    given = [name for name, one in (("jobs", jobs), ("client", client), ("executor", executor)) if one is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} each say where the cells run: give one of them")
    if client is not None:
        check_client(client)
        return _Engine(lambda task, pick, left: work_on_cluster(client, task, pick), None)
    if executor is not None:
        if not isinstance(executor, Executor):
            raise TypeError(f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}")
        return _Engine(lambda task, pick, left: work_on(executor, task, pick), None)
    here = whole("jobs", _JOBS if jobs is None else jobs)
    return _Engine(lambda task, pick, left: work(task, pick, min(here, max(1, left))), here)


def _run_left(sweep: Sweep, task: Task, engine: _Engine, progress: Callable[[Standing], None]) -> None:
    left = sweep.left
    schedule = CellQueue(left)
    for earlier in sweep.results:
        if earlier.status == "done":
            schedule.learn(earlier.cell, earlier.seconds)
    standing = Standing(len(sweep.cells), len(sweep.cells) - len(left), events_total=sum(c.horizon for c in left))
    progress(standing)
    written = begun = time.monotonic()
    try:
        with closing(engine.work(task, schedule.pick, len(left))) as messages:  # type: ignore[type-var]
            for message in messages:
                result = _result_of(message, standing, sweep)
                if result is not None:
                    _note(standing, schedule, result)
                    hands = engine.jobs or max(1.0, schedule.seconds_finished / (time.monotonic() - begun))
                    standing.seconds_left = _seconds_left(standing, schedule) / hands
                    if time.monotonic() > written + _TABLE_PAUSE:
                        sweep.write_results()
                        written = time.monotonic()
                progress(standing)
    except EngineLost as problem:
        raise SweepStopped(
            f"what ran the cells went away ({problem}): {standing.done} of {standing.cells} cells are finished, and "
            "are kept in the folder; the same call goes on, there, elsewhere, or on this machine"
        ) from problem


def _result_of(message: Message, standing: Standing, sweep: Sweep) -> Result | None:
    """Note what a message says of a running cell; return its result, if it has come, once it is on disk."""
    standing.latest = None
    now = time.monotonic()
    match message:
        case Started(item=cell):
            standing.running[cell] = (0, now)
        case Progress(item=cell, news=events) if cell in standing.running:
            standing.running[cell] = (int(events), standing.running[cell][1])
        case Done(value=outcome):
            keep(sweep, outcome)
            return outcome.result  # type: ignore[no-any-return]
        case Failed(item=cell, reason=reason, seconds=seconds):
            if seconds is None:
                seconds = now - standing.running[cell][1]
            result = Result(cell, "failed", error=reason, seconds=seconds)
            write_record(sweep.record_path(cell), result)
            return result
    return None


def _note(standing: Standing, schedule: CellQueue, result: Result) -> None:
    standing.latest = result
    standing.running.pop(result.cell, None)
    standing.events_done += result.cell.horizon
    schedule.finish(result.cell, result.seconds)
    if result.status == "done":
        standing.done += 1
        schedule.learn(result.cell, result.seconds)
    else:
        standing.failed += 1


def _seconds_left(standing: Standing, schedule: CellQueue) -> float:
    begun = sum(map(schedule.seconds_of, standing.running))
    return schedule.seconds_left - begun / 2  # half way, on average


# ----------------------------------------------------------------------
# The folder of a sweep: begun, continued, cleared, and kept to one sweep at a time.


def begin(folder: Path, cells: tuple[Cell, ...], command: str, fresh: bool) -> Sweep:
    """Return the sweep in a folder, new or continued; another one is refused."""
    if (folder / "sweep.json").exists():
        if fresh:
            _clear(folder)
        else:
            _check_continues(folder, cells)
    elif (folder / "cells").exists() and any((folder / "cells").iterdir()):
        raise ValueError(f"{folder}/cells holds files, and there is no sweep.json beside it: choose another folder")
    for partial in (folder / "cells").glob("*.partial"):
        partial.unlink()  # what was being written when a process was killed
    return Sweep.create(folder, cells, command=command)


def _check_continues(folder: Path, cells: tuple[Cell, ...]) -> None:
    version = read_about(folder)["sottovoce"]
    if version != sottovoce.__version__:
        raise ValueError(
            f"{folder} holds a sweep by sottovoce {version}, and this is {sottovoce.__version__}: "
            "start anew (--fresh), or choose another folder"
        )
    asked = set(cells)
    missing = [cell for cell in Sweep.load(folder).cells if cell not in asked]
    if missing:
        raise ValueError(
            f"{folder} holds another sweep: {len(missing)} of its cells are not in this grid, such as "
            f"{_words(missing[0])}. "
            "Ask for a grid that holds them, start anew (--fresh), or choose another folder"
        )


def _clear(folder: Path) -> None:
    """Remove records first: a kill in the middle leaves a sweep with less finished, not one that claims too much."""
    for record in (folder / "cells").glob("*.json"):
        record.unlink()
    shutil.rmtree(folder / "cells", ignore_errors=True)


def _words(cell: Cell) -> str:
    return f"{cell.problem} / {cell.algorithm} / epsilon {cell.epsilon:g} / {cell.horizon} events / seed {cell.seed}"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make the folder, and keep a second sweep out of it; the lock goes when the process does, however it ends."""
    filelock = load("filelock", "a sweep in a folder")
    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / ".lock", blocking=False)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise ValueError(f"another sweep is running in {folder}: wait for it, or choose another folder") from None
    try:
        yield
    finally:
        lock.release()
