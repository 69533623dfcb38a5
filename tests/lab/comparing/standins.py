"""A problem and tasks that worker processes can import by name: small, and made to fail in every way."""

import os
import signal
import threading
import time
from concurrent.futures import Executor, Future
from contextlib import suppress

import numpy as np

import sottovoce as sv
from sottovoce.lab import run_cell
from sottovoce.lab.problems import PROBLEMS, DecisionProblem
from sottovoce.lab.sweeps import _running
from sottovoce.lab.sweeps._workers import Done, Failed, Started, one_line


class Toy(DecisionProblem):
    name, title, story = "toy", "A toy", "A ball and a target."

    def __init__(self, *, size: int = 3, drift: float = 0.1, seed: int = 0) -> None:
        self.environment = sv.lab.MovingTarget(sv.domains.Ball(size), drift=drift, seed=seed)

    def explain(self, point):
        return [("first", f"{point[0]:.2f}")]

    @classmethod
    def sized(cls, size, *, seed=0):
        return cls(size=size, seed=seed)


def register():
    """For other processes; in the tests' own a fixture does it, and undoes it, so that no other test meets the toy."""
    PROBLEMS["toy"] = Toy


def run_toy(cell, report):
    """The real task, in a process that knows the toy."""
    register()
    return run_cell(cell, report)


def double(item, report):
    return 2 * item


def threads(item, report):
    import threadpoolctl

    pools = {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}
    return item, os.getpid(), pools, os.environ["NUMBA_NUM_THREADS"]


def troubled(item, report):
    report("begun")
    match item:
        case "raise":
            raise ValueError("two\nlines")
        case "memory":
            raise MemoryError
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(3)
        case "unpicklable":
            return lambda: None
    return item, os.getpid()


def slow(item, report):
    time.sleep(60)


class Unimportable:
    """Can be pickled, and makes the process that unpickles it fail."""

    def __reduce__(self):
        return (np.frombuffer, (None,))


def fail(cell, report):
    raise MemoryError("today")


def work_inline(task, pick, jobs):
    """Stand in for `work`, in this process."""
    while (item := pick()) is not None:
        yield Started(item, None)
        try:
            yield Done(item, task(item, lambda news: None))
        except Exception as problem:
            yield Failed(item, one_line(problem))


def stop_half_way(cell, report):
    """Run the toy; the first process to come half way says who it is, and waits there for ever."""
    _running._PAUSE = 0.0
    marker = f"half-way-{cell.key}"

    def halt(events):
        with suppress(FileExistsError), open(marker, "x") as file:
            file.write(str(os.getpid()))
            file.flush()
            report(events)
            threading.Event().wait()

    register()
    return run_cell(cell, halt)


def endless(cell, report):
    """Come back only if the one who is told of the progress says so."""
    while True:
        report(1)
        time.sleep(0.01)  # a worker's own thread needs a turn


def die(cell, report):
    os.kill(os.getpid(), signal.SIGKILL)


def one_then_endless(cell, report):
    return run_toy(cell, report) if cell.algorithm == "default" and ":" not in cell.problem else endless(cell, report)


class Inline(Executor):
    """Works on what it is given at once, in this thread."""

    def submit(self, fn, /, *args):
        future = Future()
        try:
            future.set_result(fn(*args))
        except Exception as problem:
            future.set_exception(problem)
        return future


class NeverBegins(Executor):
    """Finishes the first thing that it is given, as soon as there is a second; the others wait for ever."""

    def __init__(self):
        self.futures = []

    def submit(self, fn, /, *args):
        self.futures.append(Future())
        if len(self.futures) == 4:
            self.futures[0].set_result(fn(*args))
        return self.futures[-1]


def failed_future(problem):
    future = Future()
    future.set_exception(problem)
    return future
