"""Sweeps with executors from outside: any of them gives the bits of the local pool."""

import math
import multiprocessing
import sys
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress

import pytest
import standins
import threadpoolctl

from sottovoce import lab
from sottovoce._threads import single_threaded
from sottovoce.errors import SweepStopped
from sottovoce.lab import Cell, Sweep, run_cell
from sottovoce.lab.sweeps._executors import OtherVersions, attempt
from sottovoce.lab.sweeps._versions import versions
from sottovoce.lab.sweeps._workers import Done, Failed

CELLS = tuple(
    Cell(problem, *algorithm, 400, 0)
    for problem in ("toy", "toy:size=4")
    for algorithm in (("default", 1.0), ("no-privacy", math.inf))
)


def sweep(folder, cells=CELLS, **options):
    return lab.sweep(folder, cells, **{"command": "redo", "task": standins.run_toy, **options})


def assert_equal_to_running_them_here(swept, cells=CELLS):
    assert [result.status for result in swept.results] == ["done"] * len(cells)
    for cell in cells:
        alone, kept = run_cell(cell), swept.run_of(cell)
        assert kept.regret.tobytes() == alone.run.regret.tobytes()
        assert swept.point_of(cell).tobytes() == alone.point.tobytes()


def test_threads(tmp_path):
    with ThreadPoolExecutor(3) as threads:
        assert_equal_to_running_them_here(sweep(tmp_path, executor=threads))
        assert threads.submit(int).result() == 0  # it is the caller's, and stays open


def test_processes_one_of_which_dies(tmp_path):
    """The standard pool breaks as a whole: no cell is blamed, and the sweep goes on with another."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as broken:
        with pytest.raises(SweepStopped, match=r"BrokenProcessPool.*0 of 4 cells are finished, and are kept"):
            sweep(tmp_path, executor=broken, task=standins.die)
        with pytest.raises(SweepStopped, match=r"it takes no more work: BrokenProcessPool"):
            sweep(tmp_path, executor=broken)
    assert Sweep.load(tmp_path).results == ()
    with ProcessPoolExecutor(1, mp_context=spawn) as processes:
        assert_equal_to_running_them_here(sweep(tmp_path, executor=processes))


def test_what_runs_at_once_is_kept_at_once(tmp_path):
    kept = []
    sweep(tmp_path, executor=standins.Inline(), progress=lambda standing: kept.append(standing.done))
    assert kept == [0, 1, 2, 3, 4]


def test_an_executor_that_was_shut_down_says_so(tmp_path):
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(SweepStopped, match=r"it takes no more work: RuntimeError"):
        sweep(tmp_path, executor=threads)


def test_an_error_here_cancels_what_has_not_begun(tmp_path):
    waiting = standins.NeverBegins()

    def interrupt(standing):
        if waiting.futures:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path, executor=waiting, progress=interrupt)
    assert len(waiting.futures) == len(CELLS)
    assert all(future.cancelled() for future in waiting.futures[1:])


def test_what_is_no_executor_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(TypeError, match=r"executor must be a concurrent\.futures\.Executor, got int"):
        sweep(tmp_path / "new", executor=4)
    with ThreadPoolExecutor(1) as threads, pytest.raises(ValueError, match="jobs and executor each say"):
        sweep(tmp_path / "new", executor=threads, jobs=1)
    assert not (tmp_path / "new").exists()
    assert isinstance(threads, Executor)


@pytest.mark.parametrize("name", ["sottovoce", "python", "numpy", "scipy", "numba", "machine"])
def test_another_version_there_is_refused(tmp_path, monkeypatch, name):
    """Here by an executor that is told to expect another version; nothing is run, and the cell is not blamed."""
    other = {**versions(), name: "0.0.1"}
    monkeypatch.setattr("sottovoce.lab.sweeps._executors.versions", lambda: other)
    attempted = attempt(standins.run_toy, CELLS[0], other)
    assert isinstance(attempted, Done)

    class Elsewhere(standins.Inline):
        def submit(self, fn, /, task, item, expected):
            return super().submit(fn, task, item, {**expected, name: "0.0.2"})

    with pytest.raises(OtherVersions, match=rf"{name} 0\.0\.1 there, 0\.0\.2 here"):
        sweep(tmp_path, executor=Elsewhere())
    assert Sweep.load(tmp_path).results == ()


def test_what_a_task_raises_is_said_in_the_words_of_the_local_pool():
    for item, words in (("raise", "ValueError: two lines"), ("memory", "MemoryError: not enough memory")):
        came = attempt(standins.troubled, item, versions())
        assert isinstance(came, Failed)
        assert came.reason == words


def test_one_thread_for_all_who_are_inside():
    """The first of two to leave must not lift the limit for the other: its sums would be split differently."""
    pools = threadpoolctl.ThreadpoolController()

    def threads():
        return {pool["num_threads"] for pool in pools.info() if pool["user_api"] == "blas"}

    with pools.limit(limits=3, user_api="blas"):
        first, second = single_threaded(), single_threaded()
        first.__enter__()
        second.__enter__()
        assert threads() == {1}
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {3}


def test_an_interrupt_at_any_line_of_the_limit_keeps_nobody_out():
    def inside():
        with single_threaded():
            pass

    lines = interrupted(inside, None)
    assert lines > 10
    for number in range(1, lines + 1):
        with suppress(KeyboardInterrupt):  # after another one there may be fewer lines
            interrupted(inside, number)
        again = threading.Thread(target=inside, daemon=True)
        again.start()
        again.join(600)
        assert not again.is_alive(), f"the lock is held after an interrupt before line {number}"


def interrupted(call, number):
    """Count the lines of the limit that a call executes; raise before one of them."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if not frame.f_code.co_filename.endswith("_threads.py"):
            return None
        if event == "line":
            count += 1
            if count == number:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return count
