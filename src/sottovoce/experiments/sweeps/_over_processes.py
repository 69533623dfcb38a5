"""Run what is left of a sweep, over processes."""

import fcntl
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sottovoce
from sottovoce.experiments.sweeps._queue import CellQueue
from sottovoce.experiments.sweeps._running import CellTask
from sottovoce.experiments.sweeps._workers import Done, Failed, Message, Progress, Started, Task, work
from sottovoce.experiments.sweeps.cell import Cell, Result
from sottovoce.experiments.sweeps.records import write_record
from sottovoce.experiments.sweeps.sweep import Sweep, read_about

__all__ = ["Standing", "run_sweep"]

_TABLE_PAUSE = 10.0  # seconds between two writings of the table while a sweep runs


@dataclass
class Standing:
    """How a sweep stands, for a progress display.

    Attributes
    ----------
    cells, done, failed
        Cells in all, finished ones (those of earlier times too), and failed ones.
    events_done, events_total
        Of the cells that this call runs.
    seconds_left
        A guess, from what other cells took.
    latest
        The result that came last, if any.
    running
        Cells that are being run: events done, and when it began.

    Examples
    --------
    >>> standing = Standing(cells=10, done=4, failed=1)
    >>> standing.left
    5
    """

    cells: int
    done: int
    failed: int = 0
    events_done: int = 0
    events_total: int = 0
    seconds_left: float | None = None
    latest: Result | None = None
    running: dict[Cell, tuple[int, float]] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return self.cells - self.done - self.failed

    @property
    def events(self) -> int:
        """Events done, those of running cells included."""
        return self.events_done + sum(done for done, _ in self.running.values())


def run_sweep(
    folder: str | Path,
    cells: Iterable[Cell],
    *,
    command: str,
    jobs: int = 2,
    fresh: bool = False,
    progress: Callable[[Standing], None] | None = None,
    task: Callable[[Sweep], Task] = CellTask,
) -> Sweep:
    """Run a grid of cells and return the sweep; what is finished in the folder already is not run again.

    Each cell that fails is noted with its reason, and is tried again the next time. A keyboard interrupt, or a kill,
    costs the cells that were being run and nothing else: call this again to go on.

    Parameters
    ----------
    folder
        Where the sweep lies, or will.
    cells
        The grid. A sweep that is there already may be continued by the same grid or a larger one.
    command
        The command line that redoes it, to be written down.
    jobs
        Processes.
    fresh
        Forget what is in the folder.
    progress
        Called whenever something has happened.
    task
        What is done with a cell; tests put another one in its place.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone_in(folder):
        sweep = _begin(folder, tuple(dict.fromkeys(cells)), command, fresh)
        try:
            _run_left(sweep, task(sweep.refreshed()), jobs, progress or (lambda standing: None))
        finally:
            sweep.write_results()
    return sweep.refreshed()


def _run_left(sweep: Sweep, task: Task, jobs: int, progress: Callable[[Standing], None]) -> None:
    left = sweep.left
    schedule = CellQueue(left)
    for earlier in sweep.results:
        if earlier.status == "done":
            schedule.learn(earlier.cell, earlier.seconds)
    standing = Standing(len(sweep.cells), len(sweep.cells) - len(left), events_total=sum(c.horizon for c in left))
    progress(standing)
    written = time.monotonic()
    for message in work(task, schedule.pick, min(jobs, max(1, len(left)))):
        result = _result_of(message, standing)
        if result is not None:
            if isinstance(message, Failed):
                write_record(sweep.record_path(result.cell), result)
            _note(standing, schedule, result, jobs)
            if time.monotonic() > written + _TABLE_PAUSE:
                sweep.write_results()
                written = time.monotonic()
        progress(standing)


def _result_of(message: Message, standing: Standing) -> Result | None:
    """Note what a message says of a running cell; return its result, if it has come."""
    standing.latest = None
    now = time.monotonic()
    match message:
        case Started(item=cell):
            standing.running[cell] = (0, now)
        case Progress(item=cell, news=events):
            standing.running[cell] = (int(events), standing.running[cell][1])
        case Done(value=result):
            return result  # type: ignore[no-any-return]
        case Failed(item=cell, reason=reason):
            return Result(cell, "failed", error=reason, seconds=now - standing.running[cell][1])
    return None


def _note(standing: Standing, schedule: CellQueue, result: Result, jobs: int) -> None:
    standing.latest = result
    del standing.running[result.cell]
    standing.events_done += result.cell.horizon
    if result.status == "done":
        standing.done += 1
        schedule.learn(result.cell, result.seconds)
    else:
        standing.failed += 1
    begun = sum(schedule.seconds_of(cell) for cell in standing.running) / 2  # half way, on average
    standing.seconds_left = (schedule.seconds_left + begun) / jobs


# ---------------------------------------------------------------------- the folder


def _begin(folder: Path, cells: tuple[Cell, ...], command: str, fresh: bool) -> Sweep:
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
    missing = [cell for cell in Sweep.load(folder).cells if cell not in set(cells)]
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
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second sweep out of the folder; the lock goes when the process does, however it ends."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"another sweep is running in {folder}: wait for it, or choose another folder") from None
        yield
