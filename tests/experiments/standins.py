"""A problem and tasks that worker processes can import by name: small, and made to fail in every way."""

import os
import signal
import time

import numpy as np

import sottovoce as sv
from sottovoce.experiments import run_cell
from sottovoce.experiments.sweeps._workers import Done, Failed, Started, one_line
from sottovoce.problems import PROBLEMS, DecisionProblem


class Toy(DecisionProblem):
    name, title, story = "toy", "A toy", "A ball and a target."

    def __init__(self, *, size: int = 3, drift: float = 0.1, seed: int = 0) -> None:
        self.environment = sv.simulation.MovingTarget(sv.domains.Ball(size), drift=drift, seed=seed)

    def draw(self, axes, point):
        axes.plot(point)

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

    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info()], os.environ["NUMBA_NUM_THREADS"]


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
