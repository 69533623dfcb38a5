"""A problem and tasks that worker processes can import by name: small, and made to fail in every way."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future

import sottovoce as sv
from sottovoce.lab import run_cell
from sottovoce.lab.problems import PROBLEMS, DecisionProblem


class Toy(DecisionProblem):
    name, title, story = "toy", "A toy", "A ball and a target."

    def __init__(self, *, size: int = 3, drift: float = 0.1, seed: int = 0) -> None:
        self.environment = sv.lab.MovingTarget(sv.domains.Ball(size), drift=drift, seed=seed)

    @classmethod
    def examples(cls):
        return [cls()]


def register():
    """For other processes; in the tests' own a fixture does it, and undoes it, so that no other test meets the toy."""
    PROBLEMS["toy"] = Toy


def run_toy(cell):
    """The real task, in a process that knows the toy."""
    register()
    return run_cell(cell)


def troubled(cell):
    """Run the toy; the seed says what goes wrong."""
    match cell.seed:
        case 1:
            raise ValueError("two\nlines")
        case 2:
            return lambda: None
        case 3:
            os.kill(os.getpid(), signal.SIGKILL)
    return run_toy(cell)


def noted(cell):
    """Say which process works, and wait for ever."""
    with open(f"{os.environ['NOTED']}-{cell.seed}", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)


def die(cell):
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(cell):
    """The first process to be asked dies."""
    try:
        with open(f"dead-{cell.key}", "x"):
            os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        return run_toy(cell)


def one_then_wait(cell):
    if cell.algorithm != "default" or ":" in cell.problem:
        time.sleep(600)
    return run_toy(cell)


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
    """Finishes the first thing that it is given, as soon as there is a fourth; the others wait for ever."""

    def __init__(self):
        self.futures = []

    def submit(self, fn, /, *args):
        self.futures.append(Future())
        if len(self.futures) == 4:
            self.futures[0].set_result(fn(*args))
        return self.futures[-1]


def start_sweep(folder, cells, options="", **environment):
    """Start a process that sweeps, in words of Python, and prints how many cells are done whenever there is news."""
    script = folder.parent / f"{folder.name}-child.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import standins; standins.register()\n"
        "from sottovoce.lab import Cell, grid, sweep\n"
        "if __name__ == '__main__':\n"
        f"    sweep(sys.argv[2], {cells}, command='redo', {options},\n"
        "        progress=lambda standing: print(standing.done, flush=True))\n"
    )
    words = [sys.executable, script, os.path.dirname(__file__), folder]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(words, env={**os.environ, **environment}, **given)
