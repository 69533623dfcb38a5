"""Run what is left of a sweep, over processes of this machine or with any executor."""

import multiprocessing.connection
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sottovoce
from sottovoce._checks import whole
from sottovoce._extras import load
from sottovoce._threads import single_threaded
from sottovoce.errors import SweepStopped
from sottovoce.lab.sweeps.cell import Cell, Result
from sottovoce.lab.sweeps.running import Outcome, run_cell
from sottovoce.lab.sweeps.swept import Sweep, read_about, write_record

Task = Callable[[Cell], Outcome]
_AHEAD = 1000  # cells handed over and not back: more than any engine has hands, so that none of them waits


@dataclass
class Standing:
    """How a sweep stands, for a progress display.

    Attributes
    ----------
    cells, done, failed
        Cells in all, finished ones (those of earlier times too), and failed ones.
    events_done, events_total
        Of the cells that this call runs.
    latest
        The result that came last, if any.

    Examples
    --------
    >>> Standing(cells=10, done=4, failed=1).left
    5
    """

    cells: int
    done: int
    failed: int = 0
    events_done: int = 0
    events_total: int = 0
    latest: Result | None = None

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return self.cells - self.done - self.failed


def sweep(
    folder: str | Path,
    cells: Iterable[Cell],
    *,
    command: str = "",
    jobs: int | None = None,
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
        Processes of this machine, two unless said otherwise; not with an executor, which has its own.
    executor
        Any engine with the interface of `concurrent.futures`, such as `ThreadPoolExecutor(4)`,
        `loky.get_reusable_executor()`, or `distributed.Client(address).get_executor(pure=False)` for a Dask cluster.
        Processes there need the same versions, or figures may differ.
    fresh
        Forget what is in the folder.
    progress
        Called whenever a cell is finished, and at the beginning.
    task
        What is done with a cell; tests put another one in its place.

    Raises
    ------
    SweepStopped
        The executor went away. What is finished is kept.

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
    if jobs is not None and executor is not None:
        raise ValueError("jobs and executor each say where the cells run: give one of them")
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}")
    hands = whole("jobs", 2 if jobs is None else jobs)
    folder = Path(folder)
    with alone_in(folder):
        found = begin(folder, tuple(dict.fromkeys(cells)), command, fresh)
        left = sorted(found.left, key=lambda cell: -cell.horizon)  # long ones first: all processes end together
        try:
            work = _by(executor, left, task) if executor else _over_processes(left, task, min(hands, len(left)))
            with closing(work):  # type: ignore[type-var]
                _collect(found, left, work, progress or (lambda standing: None))
        finally:
            found.write_results()
    return found.refreshed()


def _collect(sweep: Sweep, left: list[Cell], work: Iterator[Outcome], progress: Callable[[Standing], None]) -> None:
    """Keep what comes of the cells, as it comes."""
    standing = Standing(len(sweep.cells), len(sweep.cells) - len(left), events_total=sum(c.horizon for c in left))
    progress(standing)
    try:
        for result, run in work:
            if run is not None:
                run.save(sweep.run_path(result.cell))
            write_record(sweep.record_path(result.cell), result)  # last: a cell that has its record is complete
            standing.latest = result
            standing.done += result.status == "done"
            standing.failed += result.status != "done"
            standing.events_done += result.cell.horizon
            progress(standing)
    except (BrokenExecutor, CancelledError, OSError) as problem:
        raise SweepStopped(
            f"what ran the cells went away ({one_line(problem)}): {standing.done} of {standing.cells} cells are "
            "finished, and are kept in the folder; the same call goes on, there, elsewhere, or on this machine"
        ) from problem


# ----------------------------------------------------------------------
# Who works on the cells.


def attempt(task: Task, cell: Cell) -> Outcome:
    """Work on a cell, in the process of an executor; nothing is written there."""
    started = time.perf_counter()
    try:
        with single_threaded():  # threads would change the last bits of sums
            return task(cell)
    except Exception as problem:
        return _failed(cell, one_line(problem), time.perf_counter() - started)


def _failed(cell: Cell, error: str, seconds: float = 0.0) -> Outcome:
    return Outcome(Result(cell, "failed", error=error, seconds=seconds))


def _by(executor: Executor, cells: Iterable[Cell], task: Task, ahead: int = _AHEAD) -> Iterator[Outcome]:
    """Yield what comes of cells; what has not begun is cancelled if nobody wants more."""
    waiting, handed = iter(cells), dict[Future[Any], Cell]()
    try:
        while True:
            while len(handed) < ahead and (cell := next(waiting, None)) is not None:
                handed[_submit(executor, task, cell)] = cell
            if not handed:
                return
            for future in wait(handed, return_when=FIRST_COMPLETED).done:
                yield _outcome(future, handed.pop(future))
    finally:
        for future in handed:
            future.cancel()


def _submit(executor: Executor, *call: Any) -> Future[Any]:
    try:
        return executor.submit(attempt, *call)
    except Exception as problem:  # shut down, broken, disconnected: each engine has its own
        raise BrokenExecutor(f"it takes no more work: {one_line(problem)}") from problem


def _outcome(future: Future[Any], cell: Cell) -> Outcome:
    try:
        return future.result()  # type: ignore[no-any-return]
    except (BrokenExecutor, CancelledError, OSError):
        raise
    except Exception as problem:  # what came of the cell could not be sent, or its process died too often
        return _failed(cell, one_line(problem))


def _over_processes(cells: list[Cell], task: Task, jobs: int) -> Iterator[Outcome]:
    """Yield what comes of cells. A process that dies breaks its pool: what it had is run again, each cell alone."""
    left = list(cells)
    while left:
        try:
            for came in _by_pool(left, task, jobs):
                left.remove(came.result.cell)
                yield came
        except BrokenExecutor:
            for cell in left[:jobs]:  # handed over in this order, no more than there are processes
                left.remove(cell)
                try:
                    yield from _by_pool([cell], task, 1)
                except BrokenExecutor:
                    yield _failed(cell, "its process died: killed, or out of memory")


def _by_pool(cells: list[Cell], task: Task, jobs: int) -> Iterator[Outcome]:
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _end_with_parent) as pool:
        try:
            pool.submit(os.getpid).result()
        except BrokenExecutor:
            raise RuntimeError(
                "a worker process ended before it could begin; in a script, start the work below "
                "`if __name__ == '__main__':`"
            ) from None
        try:
            yield from _by(pool, cells, task, ahead=jobs)
        except BaseException:  # an interrupt does not wait for cells to end
            for process in set(multiprocessing.active_children()) - before:
                process.kill()
            raise


def _end_with_parent() -> None:
    """Let this process hear no interrupt, which its parent hears, and end with it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    watch = lambda: (multiprocessing.connection.wait([parent.sentinel]), os._exit(1))  # noqa: E731
    threading.Thread(target=watch, daemon=True).start()


def one_line(problem: BaseException) -> str:
    """Return an exception in one line.

    Examples
    --------
    >>> one_line(ValueError("bad   value"))
    'ValueError: bad value'
    """
    return " ".join(f"{type(problem).__name__}: {problem}".split())


# ----------------------------------------------------------------------
# The folder of a sweep: begun, continued, cleared, and kept to one sweep at a time.


def begin(folder: Path, cells: tuple[Cell, ...], command: str, fresh: bool) -> Sweep:
    """Return the sweep in a folder, new or continued; another one is refused."""
    if (folder / "sweep.json").exists():
        if fresh:
            _clear(folder)
        else:
            _check_continues(folder, cells)
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
            f"{folder} holds another sweep: {len(missing)} of its cells are not in this grid, such as {missing[0]}. "
            "Ask for a grid that holds them, start anew (--fresh), or choose another folder"
        )


def _clear(folder: Path) -> None:
    """Remove records first: a kill in the middle leaves a sweep with less finished, not one that claims too much."""
    for record in (folder / "cells").glob("*.json"):
        record.unlink()
    shutil.rmtree(folder / "cells", ignore_errors=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make the folder, and keep a second sweep out of it; the lock goes when the process does, however it ends."""
    filelock = load("filelock", "a sweep in a folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(folder / ".lock", blocking=False):
            yield
    except filelock.Timeout:
        raise ValueError(f"another sweep is running in {folder}: wait for it, or choose another folder") from None
