"""Processes that stay, and take one item of work after another.

A process that dies takes its item with it and nothing else: the item counts as failed, and another process takes its
place. Processes are spawned, so they share nothing with this one, and end with it, however it ends.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from sottovoce._checks import whole

Task = Callable[[Any, Callable[[Any], None]], Any]
"""Work on an item: called with it, and with a function that takes news of its progress."""

NO_MEMORY = "MemoryError: not enough memory"

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Started:
    """An item was handed to a process, with this process id."""

    item: Any
    process: int | None


@dataclass(frozen=True, slots=True)
class Progress:
    """News from an item that is being worked on."""

    item: Any
    news: Any


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an item."""

    item: Any
    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """Why nothing came of an item, in one line, and after how many seconds, if its process lived to say it."""

    item: Any
    reason: str
    seconds: float | None = None


Message = Started | Progress | Done | Failed


def work(task: Task, pick: Callable[[], Any], jobs: int) -> Iterator[Message]:
    """Yield what happens while `jobs` processes work on the items that `pick` hands out, until it returns None.

    Parameters
    ----------
    task
        A function that other processes can import, or an object that can be pickled. What it raises fails its item.
    pick
        Called in this process whenever a worker is free; None if nothing is left.
    jobs
        How many processes.

    Closing the generator, or an exception in the loop over it, ends all processes at once.
    """
    crew = _Crew(task, whole("jobs", jobs))
    try:
        yield from crew.run(pick)
    finally:
        crew.end()


class _Worker:
    """A process, the pipe to it, and the item that it works on."""

    def __init__(self, task: Task) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs, task), daemon=True)
        with _one_thread():
            self.process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self.ready = False
        self.spent = False  # not to be given any more
        self.item: Any = None

    def hand(self, item: Any) -> Started:
        self.item = item
        with suppress(OSError):  # it may have died, and its end is about to be noticed
            self.pipe.send(item)
        return Started(item, self.process.pid)

    def messages(self) -> Iterator[Message]:
        """Yield what the process says, and at its death why its item failed."""
        try:
            while self.pipe.poll():
                yield from self._heard(*self.pipe.recv())
        except (EOFError, OSError):
            self.process.join()
            if not self.ready:
                raise RuntimeError(
                    f"a worker process {_ending(self.process.exitcode)} before it could begin; in a script, start the "
                    "work below `if __name__ == '__main__':`"
                ) from None
            if self.item is not None:
                item, self.item = self.item, None
                yield Failed(item, f"its process {_ending(self.process.exitcode)}")

    def _heard(self, kind: str, content: Any) -> Iterator[Message]:
        if kind == "ready":
            self.ready = True
        elif kind == "progress":
            yield Progress(self.item, content)
        else:
            item, self.item = self.item, None
            self.spent = kind == "spent"
            yield Done(item, content) if kind == "done" else Failed(item, content)

    @property
    def free(self) -> bool:
        return self.ready and self.item is None

    @property
    def finished(self) -> bool:
        return self.item is None and (self.spent or self.process.exitcode is not None)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Crew:
    def __init__(self, task: Task, jobs: int) -> None:
        self._task, self._jobs = task, jobs
        self._workers: list[_Worker] = []

    def run(self, pick: Callable[[], Any]) -> Iterator[Message]:
        waiting, heard = pick(), list[Message]()
        while True:
            self._replace_finished(needed=waiting is not None)
            for worker in self._workers:
                if waiting is not None and worker.free:
                    yield worker.hand(waiting)
                    waiting = pick()
            yield from heard  # after new work was handed out: who hears it may take long, and a process would idle
            if waiting is None and all(worker.item is None for worker in self._workers):
                return
            wait([worker.pipe for worker in self._workers])
            heard = [message for worker in self._workers for message in worker.messages()]

    def _replace_finished(self, needed: bool) -> None:
        for worker in [worker for worker in self._workers if worker.finished]:
            worker.end()
            self._workers.remove(worker)
        while needed and len(self._workers) < self._jobs:
            self._workers.append(_Worker(self._task))

    def end(self) -> None:
        for worker in self._workers:
            worker.end()


def _serve(pipe: Connection, task: Task) -> None:
    """Take items until the parent closes the pipe; runs in the worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pipe.send(("ready", None))
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(("done", task(item, lambda news: pipe.send(("progress", news)))))
        except MemoryError:
            pipe.send(("spent", NO_MEMORY))  # no more work here: who knows what is left of it
        except Exception as problem:
            pipe.send(("failed", one_line(problem)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def one_line(problem: BaseException) -> str:
    """Return an exception in one line.

    Examples
    --------
    >>> one_line(ValueError("bad   value"))
    'ValueError: bad value'
    """
    return " ".join(f"{type(problem).__name__}: {problem}".split())


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with code {code}"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let the processes that are started here use one thread each: libraries read these names when they are loaded."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
