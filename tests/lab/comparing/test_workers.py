"""Worker processes: each item is worked on once; a process that dies costs its item only."""

import os
import signal
import subprocess
import sys
import time

import pytest
import standins

from sottovoce.lab.sweeps._workers import Done, Failed, Started, work


def run(task, items, jobs=2):
    left = list(items)
    return list(work(task, lambda: left.pop(0) if left else None, jobs))


def test_every_item_is_worked_on_once_by_processes_that_stay_and_have_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    messages = run(standins.threads, range(12), jobs=2)
    done = {message.item: message.value for message in messages if isinstance(message, Done)}
    assert {item: value[0] for item, value in done.items()} == {item: item for item in range(12)}
    assert 1 <= len({process for _, process, _, _ in done.values()}) <= 2
    assert all((pools, numba) == ({1}, "1") for _, _, pools, numba in done.values())
    assert os.environ["OMP_NUM_THREADS"] == "7"  # this process keeps its own
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_nothing_to_do_starts_nothing():
    assert run(standins.double, []) == []


@pytest.mark.long
def test_what_goes_wrong_with_an_item_is_told_and_the_others_go_on():
    troubles = ["raise", "unpicklable", "memory", "kill", "exit"]
    items = [piece for trouble in troubles for piece in (trouble, f"after {trouble}")]
    messages = run(standins.troubled, items, jobs=1)
    failed = {message.item: message.reason for message in messages if isinstance(message, Failed)}
    done = {message.item for message in messages if isinstance(message, Done)}
    process = {message.item: message.process for message in messages if isinstance(message, Started)}
    assert done == {item for item in items if item.startswith("after")}
    assert set(failed) == set(troubles)
    assert failed["raise"] == "ValueError: two lines"
    assert "local object" in failed["unpicklable"]  # which versions of Python say in different words
    assert failed["memory"].startswith("MemoryError")
    assert failed["kill"] == "its process was killed by SIGKILL"
    assert failed["exit"] == "its process ended with code 3"
    kept = {trouble for trouble in troubles if process[trouble] == process[f"after {trouble}"]}
    assert kept == {"raise", "unpicklable"}  # a process that ran out of memory is replaced like one that died


def test_a_worker_that_cannot_begin_is_an_error_and_not_an_endless_loop(capfd):
    with pytest.raises(RuntimeError, match="ended with code 1 before it could begin"):
        run(standins.Unimportable(), [1, 2, 3], jobs=1)
    assert "Error" in capfd.readouterr().err  # the traceback of the worker says why


def test_closing_ends_the_processes():
    messages = work(standins.slow, lambda: 1, 1)
    process = next(messages).process
    assert alive(process)
    messages.close()
    assert not alive(process)


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import standins\n"
        "from sottovoce.lab.sweeps._workers import work\n"
        "if __name__ == '__main__':\n"
        "    for message in work(standins.slow, lambda: 1, 2):\n"
        "        print(message.process, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, script, standins.__file__.rpartition("/")[0]], stdout=subprocess.PIPE)
    processes = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(map(alive, processes))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 30
    while any(map(alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, processes))


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
