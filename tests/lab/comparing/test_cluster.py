"""Sweeps on a Dask cluster: a real scheduler and real worker processes, with the bits of the local pool."""

import json
import math
import os
import pickle
import signal
import socket
import sys
from types import SimpleNamespace

import clusters
import numpy as np
import pretending
import pytest
import standins

import sottovoce as sv
from sampling import every
from sottovoce.cli import main
from sottovoce.errors import SweepStopped
from sottovoce.lab import Cell, Sweep, run_cell
from sottovoce.lab.sweeps._executors import OtherVersions
from sottovoce.lab.sweeps._versions import versions
from sottovoce.lab.sweeps.cluster import connect
from sottovoce.lab.sweeps.records import row_of

pytestmark = pytest.mark.long
CELLS = tuple(
    Cell(problem, *algorithm, 500, 0)
    for problem in ("toy", "toy:drift=0.9")
    for algorithm in (("default", 1.0), ("no-privacy", math.inf))
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    running = clusters.Cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.close()


@pytest.fixture
def client(cluster):
    return cluster.client()


def sweep(folder, cells=CELLS, **options):
    return sv.lab.sweep(folder, cells, **{"command": "redo", "task": standins.run_toy, **options})


def content(swept):
    """Everything that a sweep holds, times apart, bit for bit."""
    found = {"about": (swept.folder / "sweep.json").read_bytes()}
    for result in swept.results:
        row = {**row_of(result), "seconds": ""}
        if result.status == "done":
            run = swept.run_of(result.cell)
            curves = (run.events, run.rounds, run.simulation_only_loss, run.simulation_only_best_loss)
            details = {**run.details.to_dict(), "seconds": 0.0}
            row |= {"curves": [curve.tobytes() for curve in curves], "details": json.dumps(details)}
            row |= {"center": run.simulation_only_center_loss.tobytes()}
            row |= {"point": swept.point_path(result.cell).read_bytes()}
        found[result.cell] = row
    return found


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The same sweep by the local pool's processes."""
    return content(sweep(tmp_path_factory.mktemp("local"), jobs=1))


# ---------------------------------------------------------------------- the same sweep


def test_files_equal_those_of_the_local_pool_failures_included(client, local, tmp_path):
    seen = []
    swept = sweep(
        tmp_path, client=client, progress=lambda now: seen.append((now.done, now.failed, dict(now.running), now.left))
    )
    assert content(swept) == local
    assert {row["status"] for cell, row in local.items() if cell != "about"} == {"done", "failed"}
    assert "drift + jitter must be less than 1" in swept.results[-1].error
    assert [(done, failed) for done, failed, _, _ in seen] == sorted((done, failed) for done, failed, _, _ in seen)
    assert (seen[0], seen[-1]) == ((0, 0, {}, 4), (2, 2, {}, 0))
    assert set(CELLS) == {cell for _, _, running, _ in seen for cell in running}  # workers told when they began
    assert client.run(
        os.listdir, str(tmp_path / "cells")
    )  # on loopback they could write there; see below that none does


def test_dasks_own_executor_will_do(client, local, tmp_path):
    assert content(sweep(tmp_path, executor=client.get_executor(pure=False))) == local


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
    fn, (task, cell, expected) = pickle.loads(sent[0])
    assert (fn.__module__, task, cell) == ("sottovoce.lab.sweeps._executors", standins.run_toy, CELLS[0])
    assert expected == versions()


@pytest.mark.usefixtures("inline")  # what runs here runs in this process; the local pool was met above
def test_the_command_line_runs_there_too(client, cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["compare", "ball:dimension=2", "--algorithms", "default", "--horizon", "300", "--seeds", "2"]
    for out, more in (("there", ["--cluster", cluster.address]), ("here", ["--jobs", "1"])):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--out", out, *more])
        assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert f"cluster {cluster.address}: 2 workers, 2 threads" in printed
    assert "2 done, 0 failed, 0 left" in printed
    there, here = content(Sweep.load("there")), content(Sweep.load("here"))
    assert there.pop("about").replace(b"--out there", b"--out here") == here.pop("about")
    assert there == here


# ---------------------------------------------------------------------- what goes wrong there


def test_a_worker_killed_in_the_middle_of_a_cell_loses_nothing(client, cluster, tmp_path):
    cell = Cell("toy", "default", 1.0, 700, 3)
    marker = cluster.folder / f"half-way-{cell.key}"
    killed = []

    def kill(standing):
        if not killed and marker.exists() and any(events for events, _ in standing.running.values()):
            killed.append(int(marker.read_text()))
            os.kill(killed[0], signal.SIGKILL)

    swept = sweep(tmp_path, [cell], client=client, task=standins.stop_half_way, progress=kill)
    assert killed[0] in [worker.pid for worker in cluster.workers]
    assert [result.status for result in swept.results] == ["done"]
    alone = run_cell(cell)
    assert swept.run_of(cell).regret.tobytes() == alone.run.regret.tobytes()
    assert swept.point_of(cell).tobytes() == alone.point.tobytes()


def test_an_interrupt_frees_the_workers_and_leaves_a_sweep_that_goes_on(client, local, tmp_path):
    def interrupt(standing):
        if sum(events for events, _ in standing.running.values()) == 2:  # both workers are at it
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path, client=client, task=standins.endless, progress=interrupt)
    assert Sweep.load(tmp_path).results == ()
    assert content(sweep(tmp_path, client=client)) == local  # on the same two workers: they are free again


def test_a_cell_that_kills_every_worker_fails_alone(tmp_path):
    """As Dask says it after `allowed-failures`; here by an executor that says the same."""
    from distributed import KilledWorker

    class Deadly(standins.Inline):
        def submit(self, fn, /, *args):
            future = super().submit(fn, *args)
            return (
                standins.failed_future(KilledWorker("cell", SimpleNamespace(address="tcp://worker:1"), 3))
                if args[1] == CELLS[0]
                else future
            )

    swept = sweep(tmp_path, CELLS[:2], executor=Deadly())
    assert [result.status for result in swept.results] == ["failed", "done"]
    assert swept.results[0].error.startswith("KilledWorker")


# ---------------------------------------------------------------------- versions


@pytest.fixture
def odd_worker(client):
    """Make one of the workers believe something, for the time of a test."""
    worker = min(client.nthreads())
    client.run(versions)  # everything is loaded
    yield lambda belief: client.run(belief, workers=[worker]) and worker
    client.run(pretending.be_yourself, workers=[worker])


def test_workers_with_other_versions_are_refused_before_anything_runs(client, odd_worker, tmp_path):
    sweep(tmp_path, CELLS[:1], executor=standins.Inline())
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    worker = odd_worker(pretending.other_versions)
    with pytest.raises(OtherVersions) as refused:
        sweep(tmp_path, client=client, fresh=True)
    words = str(refused.value)
    assert f"worker {worker} has sottovoce 0.0.9" in words
    assert "numpy 1.99.0 there" in words
    assert f"{np.__version__} here" in words
    assert "python 3.10.1 there" in words
    assert sv.__version__ in words
    assert "Install the same versions" in words
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_worker_without_the_library_is_refused(client, odd_worker, tmp_path):
    worker = odd_worker(pretending.no_library)
    with pytest.raises(OtherVersions, match=rf"worker {worker} has no usable sottovoce"):
        sweep(tmp_path / "new", client=client)
    assert not (tmp_path / "new").exists()


def test_a_worker_that_comes_later_with_another_version_is_refused_by_its_first_cell(client, odd_worker, tmp_path):
    def change(standing):
        if standing.done == standing.failed == 0 and not standing.running:
            for worker in client.nthreads():
                client.run(pretending.other_versions, workers=[worker])

    try:
        with pytest.raises(OtherVersions, match=r"numpy 1\.99\.0 there"):
            sweep(tmp_path, client=client, progress=change)
    finally:
        client.run(pretending.be_yourself)
    assert Sweep.load(tmp_path).results == ()


# ---------------------------------------------------------------------- who is asked, and how


def test_an_address_where_nobody_answers_is_an_error_in_words(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        closed = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=rf"no Dask scheduler answers at '{closed}' within 0\.2 s"):
            connect(closed, timeout=0.2)
        deaf.listen()  # takes connections, and never says a word
        with pytest.raises(ConnectionError, match="check the address"):
            connect(closed, timeout=0.2)
        with pytest.raises(SystemExit) as ended:
            main(["compare", "ball", "--cluster", closed, "--cluster-timeout", "0.2"])
    assert ended.value.code == 1
    err = capsys.readouterr().err
    assert "no Dask scheduler answers" in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@every("address", ["", "scheduler", "ftp://scheduler:1", "tcp://", "tcp://127.0.0.1:notaport"])
def test_what_is_no_address_is_an_error_in_words(address):
    with pytest.raises(ConnectionError, match="such as tcp://scheduler:8786"):
        connect(address, timeout=0.2)


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(sv.errors.MissingExtra, match=r"pip install '\.\[cluster\]'"):
        sweep(tmp_path / "new", client=object())
    with pytest.raises(SystemExit):
        main(["compare", "ball", "--cluster", "tcp://127.0.0.1:1"])
    assert "pip install '.[cluster]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_clients_that_cannot_serve_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client, got str"):
        sweep(tmp_path, client="tcp://127.0.0.1:8786")
    with pytest.raises(ValueError, match="jobs and client each say where the cells run"):
        sweep(tmp_path, client="tcp://127.0.0.1:8786", jobs=2)


# ---------------------------------------------------------------------- the end of the scheduler: last, for it ends all


def test_a_scheduler_that_goes_away_is_said_and_the_sweep_is_finished_here(client, cluster, local, tmp_path):
    def kill(standing):
        if standing.done == 1:
            cluster.scheduler.kill()

    with pytest.raises(SweepStopped, match=r"went away.* of 4 cells are finished, and are kept"):
        sweep(tmp_path, client=client, task=standins.one_then_endless, progress=kill)
    finished = Sweep.load(tmp_path).results
    assert len(finished) < len(CELLS)
    with pytest.raises(ValueError, match="client must be connected, and is"):
        sweep(tmp_path, client=client)
    assert content(sweep(tmp_path, jobs=1)) == local
