"""Who works on the cells of a sweep: processes, any executor, a Dask cluster; all of them give the same bits."""

import math
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress

import pytest
import standins
import threadpoolctl

from sottovoce import _threads, lab
from sottovoce._threads import single_threaded
from sottovoce.errors import SweepStopped
from sottovoce.lab import Cell, Sweep, run_cell
from tracing import Tracer, lines_of

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
        assert kept.point.tobytes() == alone.run.point.tobytes()


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---------------------------------------------------------------------- processes of this machine


def test_a_process_that_dies_costs_its_cell_only(tmp_path):
    cells = [Cell("toy", "default", 1.0, 300, seed) for seed in range(5)]
    seen = []
    note = lambda standing: seen.append((standing.done, standing.failed))  # noqa: E731
    results = sweep(tmp_path, cells, task=standins.troubled, progress=note).results
    assert (seen[0], seen[-1], seen) == ((0, 0), (2, 3), sorted(seen))
    failed = {one.cell.seed: one.error for one in results if one.status == "failed" and math.isnan(one.regret)}
    assert set(failed) == {1, 2, 3}
    assert (tmp_path / "results.csv").read_text().count(",failed,") == 3
    assert failed[1] == "ValueError: two lines"
    assert "local object" in failed[2]  # cannot be sent; which versions of Python say in different words
    assert failed[3] == "its process died: killed, or out of memory"
    assert_equal_to_running_them_here(sweep(tmp_path, cells, jobs=1), cells)  # failed ones are tried again


def wait_for(paths):
    while not all(path.exists() and path.read_text() for path in paths):
        time.sleep(0.02)
    return [int(path.read_text()) for path in paths]


def test_an_interrupt_ends_the_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("NOTED", str(tmp_path / "noted"))
    cells, processes = [Cell("toy", "default", 1.0, 300, seed) for seed in range(2)], []

    def interrupt():
        processes.extend(wait_for([tmp_path / f"noted-{seed}" for seed in range(2)]))
        os.kill(os.getpid(), signal.SIGINT)

    watch = threading.Thread(target=interrupt)
    watch.start()
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path / "sweep", cells, task=standins.noted)
    watch.join()
    assert len(processes) == 2
    assert not any(map(alive, processes))


def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    cells, noted = "[Cell('toy', 'default', 1.0, 300, seed) for seed in range(2)]", str(tmp_path / "noted")
    parent = standins.start_sweep(tmp_path / "sweep", cells, "task=standins.noted", NOTED=noted)
    processes = wait_for([tmp_path / f"noted-{seed}" for seed in range(2)])
    assert all(map(alive, processes))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    while any(map(alive, processes)):  # the suite's own limit ends it, should they live on
        time.sleep(0.02)


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text(
        "from sottovoce.lab import Cell, sweep\n"
        f"sweep({str(tmp_path / 'sweep')!r}, [Cell('ball', 'default', 1.0, 300, 0)])\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "below `if __name__ == '__main__':`" in ended.stderr


# ---------------------------------------------------------------------- executors of others


def test_threads(tmp_path):
    with ThreadPoolExecutor(3) as threads:
        assert_equal_to_running_them_here(sweep(tmp_path, executor=threads))
        assert threads.submit(int).result() == 0  # it is the caller's, and stays open


def test_a_pool_that_breaks_stops_the_sweep_and_blames_no_cell(tmp_path):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as broken:
        with pytest.raises(SweepStopped, match=r"BrokenProcessPool.*0 of 4 cells are finished, and are kept"):
            sweep(tmp_path, executor=broken, task=standins.die)
        with pytest.raises(SweepStopped, match=r"it takes no more work: BrokenProcessPool"):
            sweep(tmp_path, executor=broken)
    assert Sweep.load(tmp_path).results == ()


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
    with pytest.raises(ValueError, match="jobs and executor each say"):
        sweep(tmp_path / "new", executor=standins.Inline(), jobs=1)
    assert not (tmp_path / "new").exists()


def test_what_is_sent_is_small_and_says_nothing_of_this_machine(tmp_path, monkeypatch):
    sent = []

    class Witness(standins.Inline):
        def submit(self, fn, /, *args):
            sent.append(pickle.dumps((fn, args)))
            return super().submit(fn, *args)

    monkeypatch.setenv("SECRET", "a secret of this machine")
    sweep(tmp_path, CELLS[:2], executor=Witness())
    assert len(sent) == 2
    for message in sent:
        assert len(message) < 1_000
        for private in (str(tmp_path), tmp_path.name, os.path.expanduser("~"), "a secret", socket.gethostname()):
            assert private.encode() not in message
    assert pickle.loads(sent[0])[1] == (standins.run_toy, CELLS[0])


# ---------------------------------------------------------------------- a Dask cluster


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A Dask cluster on this machine: a scheduler, two workers that can be killed, and its client."""
    from distributed import Client, LocalCluster  # takes long, and few tests need it

    monkeypatch.chdir(tmp_path)  # of the workers, too
    options = {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as running, Client(running) as client:
        running.client = client
        yield running


@pytest.mark.long
class TestCluster:
    def test_a_cluster_gives_the_same_and_a_worker_that_is_killed_loses_nothing(self, cluster, tmp_path):
        executor = cluster.client.get_executor(pure=False)
        assert_equal_to_running_them_here(sweep(tmp_path / "all", executor=executor))
        there = sweep(tmp_path / "killed", CELLS[:1], executor=executor, task=standins.die_once)
        assert_equal_to_running_them_here(there, CELLS[:1])

    def test_a_scheduler_that_goes_away_is_said_and_the_sweep_is_finished_here(self, cluster, tmp_path):
        def kill(standing):
            if standing.done == 1:
                cluster.close()

        executor = cluster.client.get_executor(pure=False)
        with pytest.raises(SweepStopped, match=r"went away.* of 4 cells are finished, and are kept"):
            sweep(tmp_path, executor=executor, task=standins.one_then_wait, progress=kill)
        assert len(Sweep.load(tmp_path).results) < len(CELLS)
        assert_equal_to_running_them_here(sweep(tmp_path, jobs=1))


# ---------------------------------------------------------------------- one thread


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

    lines = len(lines_of(inside, where=_threads.__file__))
    assert lines > 10
    for number in range(1, lines + 1):
        with suppress(KeyboardInterrupt), Tracer(number, where=_threads.__file__):  # after one there may be fewer lines
            inside()
        again = threading.Thread(target=inside, daemon=True)
        again.start()
        again.join(600)
        assert not again.is_alive(), f"the lock is held after an interrupt before line {number}"


def test_a_signal_handler_may_look_while_its_thread_is_on_the_way_in_or_out():
    class Meanwhile(Tracer):
        def _reach(self):
            with single_threaded():
                pass

    def outside(number):
        with Meanwhile(number, where=_threads.__file__), single_threaded():
            pass

    for number in range(1, 30):
        once = threading.Thread(target=outside, args=(number,), daemon=True)
        once.start()
        once.join(600)
        assert not once.is_alive(), f"it waits for itself before line {number}"
