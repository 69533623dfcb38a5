"""A queue on disk: what was accepted arrives, once; what has arrived is gone; what is refused is in nobody's way."""

import os
import socket
import sqlite3
import stat
import struct
import subprocess
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import _fork
from sottovoce.client import TellQueue
from sottovoce.client._wire import Tell
from sottovoce.client.tell_queue import Destination
from sottovoce.errors import QueueFull, ServiceAway, ServiceError, StorageError, UnknownAction

TO = Destination("http://127.0.0.1", "spring")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tells.db"


@pytest.fixture
def remote(connected, path):
    return connected(queue=path)


def settle():
    """Wait for what is done in the background."""
    for thread in threading.enumerate():
        if thread.name == "sottovoce tells":
            thread.join(600)
            assert not thread.is_alive()


def test_no_loss_that_can_be_delivered_touches_the_disk(remote, stand_in, monkeypatch):
    """Not even one of a connection that broke while it was idle, or that is refused, which is the caller's."""
    monkeypatch.setattr(TellQueue, "add", lambda *_: pytest.fail("a loss was written"))
    actions = remote.ask(2)
    remote.tell(actions.ids[0], 0.5)
    stand_in.faults.append("before")
    assert remote.tell(actions.ids[1], 0.5).recorded == 1
    with pytest.raises(UnknownAction):
        remote.tell("1.0.0.ffffffffffff", 0.5)
    assert remote.queue.refusals() == []


@pytest.mark.parametrize("fault", ["before", "after", 429, 502, 503])
def test_what_cannot_be_delivered_waits_and_arrives_by_itself(remote, stand_in, fault):
    actions = remote.ask(3)
    remote.tell(actions.ids[0], 0.125)
    stand_in.faults.extend([fault] * 3)
    assert remote.tell(actions.ids[1:], [0.25, 1 / 3]) == (0, 0, 0, 2)
    settle()
    assert remote.queue.waiting == 0
    assert stand_in.told == dict(zip(actions.ids.tolist(), [0.125, 0.25, 1 / 3], strict=True))
    assert remote.queue.refusals() == []


def test_a_service_that_wants_to_be_left_alone_is(remote, stand_in, monkeypatch):
    waits = []
    monkeypatch.setattr(type(remote._retries), "wait", lambda _, attempt, told=0.0: waits.append(told) or 0.001)
    actions = remote.ask(2)
    remote.tell(actions.ids[0], 0.5)
    settle()
    stand_in.faults.extend(["before", "before", (429, {"Retry-After": "7"})])
    remote.tell(actions.ids[1], 0.5)
    settle()
    assert len(stand_in.told) == 2
    assert 7.0 in waits


@pytest.fixture
def connecting(monkeypatch):
    """Sockets, as they are connected: a thread, other than that of the test, is held there until it may go on."""
    made, held, go_on, connect = [], threading.Event(), threading.Event(), socket.create_connection

    def held_up(*args, **options):
        made.append(connect(*args, **options))
        if threading.current_thread() is not threading.main_thread():
            held.set()
            assert go_on.wait(600)
        return made[-1]

    monkeypatch.setattr(socket, "create_connection", held_up)
    yield types.SimpleNamespace(made=made, held=held, go_on=go_on)
    go_on.set()


def closed_meanwhile(remote, connecting, thread_name):
    """Close while a thread is about to have a connection; return whether what it got hold of is closed as well."""
    assert connecting.held.wait(600)
    (thread,) = (one for one in threading.enumerate() if one.name == thread_name)
    remote.close()
    connecting.go_on.set()
    thread.join(600)
    assert not thread.is_alive()
    return {one.fileno() for one in connecting.made} == {-1}


def test_closing_in_the_midst_of_a_delivery_is_quiet(connected, stand_in, path, connecting):
    """What fails in the thread fails the test: an error in a thread is a warning, and warnings are errors here."""
    remote = connected(queue=path)
    actions = remote.ask(2)
    remote.tell(actions.ids[0], 0.5)
    settle()  # so that one thread delivers
    stand_in.faults.extend(["before", "before"])
    assert remote.tell(actions.ids[1], 0.5).queued == 1
    assert closed_meanwhile(remote, connecting, "sottovoce tells")


def test_closing_in_the_midst_of_a_call_of_another_thread_leaves_no_socket(connected, stand_in, connecting):
    remote, found = connected(), []
    threading.Thread(target=lambda: found.append(remote.ask()), name="asks").start()
    assert closed_meanwhile(remote, connecting, "asks")
    assert list(stand_in.asked) == [one.id for one in found]  # it was on its way: what was asked is not lost
    with pytest.raises(ValueError, match="this connection is closed"):
        remote.ask()


def test_tells_arrive_in_the_order_in_which_they_were_told_and_none_overtakes_those_that_wait(remote, stand_in):
    actions = remote.ask(30)
    remote.tell(actions.ids[0], 0.0)
    settle()
    remote._sender.wake = lambda: None  # nothing is delivered in the background
    stand_in.away = True
    for action in actions.ids[1:20]:
        assert remote.tell(action, 0.5).queued == 1
    stand_in.away = False
    for action in actions.ids[20:]:
        assert remote.tell(action, 0.5).queued == 1
    remote.flush()
    assert list(stand_in.told) == actions.ids.tolist()


def test_a_process_that_never_reached_the_service_knows_from_the_file_what_it_wants_and_the_next_delivers(
    connected, stand_in, path
):
    first = connected(queue=path)
    actions = first.ask(2)
    first.tell(actions.ids[0], 0.5)
    first.close()
    stand_in.away = True
    second = connected(queue=path)
    assert second.tell(actions.ids[1], 0.75).queued == 1
    second.close()
    stand_in.away = False
    third = connected(queue=path)
    settle()
    assert third.queue.waiting == 0
    assert stand_in.told == dict(zip(actions.ids.tolist(), [0.5, 0.75], strict=True))


def test_a_raw_loss_is_not_even_stored_before_it_is_known_what_the_study_wants(connected, stand_in, path):
    stand_in.away = True
    remote = connected(queue=path)
    with pytest.raises(ServiceAway):
        remote.tell("1.0.0.000000000000", 0.5)
    assert remote.queue.waiting == 0


def test_a_raw_loss_that_waits_does_not_go_to_a_study_that_has_local_privacy_by_now(connected, stand_in, path):
    """Another study of that name: the file remembers the first, and a loss was stored while nobody could be asked."""
    first = connected(queue=path)
    actions = first.ask(3)
    first.tell(actions.ids[0], 0.5)
    first.close()
    stand_in.away = True
    second = connected(queue=path)
    assert second.tell(actions.ids[1:], [0.25, 0.25]).queued == 2
    stand_in.channels["spring"] = sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0).to_dict()
    stand_in.away = False
    second.flush()
    assert list(stand_in.told) == [actions.ids[0]]
    assert not any(b"2.50000" in body for body in stand_in.bodies("tell"))
    assert [one.kind for one in second.queue.refusals()] == ["wrong-report"] * 2
    with pytest.raises(TypeError, match="a raw loss is refused"):
        second.tell(actions.ids[1], 0.25)


def test_reports_wait_as_they_are(connected, stand_in, path):
    """A report that was drawn anew at delivery would spend the budget of the loss a second time."""
    channel = sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0)
    stand_in.channels["spring"] = channel.to_dict()
    remote = connected(queue=path)
    actions = remote.ask(20)
    assert remote.channel == channel
    stand_in.away = True
    reports = sv.local.privatise(np.linspace(0, 1, 20), channel)
    assert remote.tell(actions.ids, report=reports).queued == 20
    stand_in.away = False
    remote.flush()
    assert list(stand_in.told.values()) == reports.tolist()


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize("kind", ["unknown-action", "round-closed", "invalid-loss", "malformed", "too-large"])
def test_what_is_refused_later_is_dropped_counted_and_named_and_the_rest_arrives(remote, stand_in, kind):
    actions = remote.ask(9)
    remote.tell(actions.ids[0], 0.5)
    stand_in.away = True
    remote.tell(actions.ids[1:8], np.arange(7) / 8)
    remote.tell(actions.ids[8], 0.5)
    stand_in.refused = {actions.ids[3]: kind, actions.ids[6]: kind}
    stand_in.away = False
    remote.flush()
    assert set(actions.ids.tolist()) - set(stand_in.told) == {actions.ids[3], actions.ids[6]}
    assert remote.queue.waiting == 0
    assert remote.queue.refusals() == [("spring", actions.ids[3], kind), ("spring", actions.ids[6], kind)]


@pytest.mark.parametrize("fault", [401, 403, 404, 500, 200])
def test_a_key_or_a_study_that_is_gone_costs_no_loss(connected, stand_in, path, fault):
    remote = connected(queue=path)
    action = remote.ask()
    remote._teller.channel()
    settle()
    remote._sender.wake = lambda: None  # nothing is delivered in the background
    stand_in.away = True
    remote.tell(action.id, 0.5)
    stand_in.away = False
    stand_in.faults.append(fault)
    with pytest.raises(ServiceError):
        remote.flush()
    assert remote.queue.waiting == 1
    remote.flush()
    assert stand_in.told == {action.id: 0.5}


def test_an_acknowledgement_of_fewer_losses_than_were_sent_erases_none(remote, stand_in, monkeypatch):
    actions = remote.ask(2)
    remote._teller.channel()
    settle()
    remote._sender.wake = lambda: None  # nothing is delivered in the background
    stand_in.away = True
    remote.tell(actions.ids, [0.5, 0.5])
    stand_in.away = False
    monkeypatch.setattr(
        stand_in, "on_tell", lambda *_: (200, {"recorded": 1, "already": 0, "dropped": 0}), raising=False
    )
    with pytest.raises(ServiceError, match="another number of losses"):
        remote.flush()
    assert remote.queue.waiting == 2


def test_the_newest_refusals_are_kept_once_each(path):
    queue = TellQueue(path)
    for turn in range(3):
        queue.add(TO, Tell("loss", ("a",), (0.5,)))
        number, _ = queue.first(TO)
        for _ in range(2):  # two who deliver the same
            queue.done(number, TO, [(f"{turn}.{i}", "round-closed") for i in range(500)])
    kept = queue.refusals()
    assert (len(kept), kept[0].id, kept[-1].id) == (1000, "1.0", "2.499")


# ---------------------------------------------------------------------- the file


def test_it_is_bounded_and_says_so(connected, stand_in, path):
    remote = connected(queue=TellQueue(path, most=5))
    actions = remote.ask(8)
    remote._teller.channel()
    stand_in.away = True
    remote.tell(actions.ids[:4], [0.5] * 4)
    with pytest.raises(QueueFull, match="holds 4 losses, and may hold 5: this call was not recorded"):
        remote.tell(actions.ids[4:6], [0.5] * 2)
    assert remote.tell(actions.ids[4], 0.5).queued == 1
    stand_in.away = False
    remote.flush()
    assert list(stand_in.told) == actions.ids[:5].tolist()


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_nobody_else_can_open_it(remote, stand_in, path):
    old = os.umask(0)
    try:
        queue = TellQueue(path.with_name("another.db"))
        queue.add(TO, Tell("loss", ("a",), (0.5,)))
        files = [file for file in path.parent.iterdir() if file.name.startswith("another")]
        assert len(files) == 4  # with its log, the index of that, and whose turn it is to write
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    finally:
        os.umask(old)
    Path(queue.path).chmod(0o640)
    with pytest.raises(StorageError, match="can be opened by others"):
        TellQueue(queue.path)


def test_a_file_that_is_replaced_is_noticed(path):
    queue = TellQueue(path)
    queue.add(TO, Tell("loss", ("a",), (0.5,)))
    path.unlink()
    with pytest.raises(StorageError, match="removed or replaced"):
        queue.add(TO, Tell("loss", ("b",), (0.5,)))
    with pytest.raises(StorageError, match="no file"):
        queue.add(TO, Tell("loss", ("b",), (0.5,)))
    other = TellQueue(path)  # SQLite would go on writing into the file that nobody can find
    queue.add(TO, Tell("loss", ("c",), (0.5,)))
    assert other.first(TO)[1].ids == ("c",)


def test_what_is_not_a_queue_is_left_alone(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at" * 40)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE other (x)")
    for file in ("text.db", "other.db"):
        (tmp_path / file).chmod(0o600)
    os.link(tmp_path / "other.db", tmp_path / "second.db")
    for name in ("link.db", "text.db", "second.db", "nowhere/tells.db", "."):
        with pytest.raises(StorageError):
            TellQueue(tmp_path / name)
    (tmp_path / "second.db").unlink()
    with pytest.raises(StorageError, match="a database of something else"):
        TellQueue(tmp_path / "other.db")
    assert not (tmp_path / "elsewhere.db").exists()


def test_what_is_delivered_leaves_no_trace(remote, stand_in, path):
    actions = remote.ask(40)
    remote._teller.channel()
    losses = 0.7155 + np.arange(40) / 7
    stand_in.away = True
    remote.tell(actions.ids[:20], losses[:20])
    for one, loss in zip(actions.ids[20:], losses[20:], strict=True):
        remote.tell(one, loss)

    def found():
        held = b"".join(file.read_bytes() for file in path.parent.iterdir())
        traces = {
            loss: (struct.pack("<d", loss), f"{loss:.6f}".encode(), f"{loss:.17e}"[:9].encode()) for loss in losses
        }
        return [loss for loss, some in traces.items() if any(one in held for one in some)]

    assert len(found()) == 40
    stand_in.away = False
    remote.flush()
    assert len(stand_in.told) == 40
    assert found() == []


ADD = """
import sys
from sottovoce.client import TellQueue
from sottovoce.client._wire import Tell
from sottovoce.client.tell_queue import Destination
queue = TellQueue(sys.argv[1])
for i in range(25):
    queue.add(Destination("http://127.0.0.1", "spring"), Tell("loss", (f"{sys.argv[2]}.{i}",), (0.5,)))
"""


def test_several_processes_share_it(path):
    processes = [subprocess.Popen([sys.executable, "-c", ADD, str(path), str(i)]) for i in range(2)]
    assert [process.wait(600) for process in processes] == [0, 0]
    queue, found = TellQueue(path), []
    while (waiting := queue.first(TO)) is not None:
        found.append(waiting[1].ids[0])
        queue.done(waiting[0], TO)
    assert len(found) == len(set(found)) == 50
    for process in "01":
        own = [int(one.split(".")[1]) for one in found if one[0] == process]
        assert own == sorted(own)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_at_any_moment_leaves_the_file_whole(path):
    """Threads add while the process forks; each child adds as well."""
    queue, stop = TellQueue(path), threading.Event()

    def work(name):
        for i in range(10**6):
            if stop.is_set():
                return
            queue.add(TO, Tell("loss", (f"{name}.{i}",), (0.5,)))
            added.append(f"{name}.{i}")

    added = []
    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    children = []
    for turn in range(8):
        children.append(os.fork())
        if not children[-1]:
            try:
                inherited = _fork.inherits(path, f"{path}-wal", f"{path}-shm")  # SQLite's locks do not survive a fork
                queue.add(TO, Tell("loss", (f"child.{turn}",), (0.5,)))
                os._exit(5 if inherited else 0)
            finally:
                os._exit(4)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    stop.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * 8
    found = []
    while (waiting := queue.first(TO)) is not None:
        found.append(waiting[1].ids[0])
        queue.done(waiting[0], TO)
    assert sorted(found) == sorted([*added, *(f"child.{turn}" for turn in range(8))])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_may_go_on(remote, stand_in):
    """With connections, locks and a thread of its own: the parent's stay the parent's."""
    actions = remote.ask(60)
    remote._teller.channel()
    stand_in.away = True
    remote.tell(actions.ids[:20], [0.5] * 20)
    child = os.fork()
    if not child:
        try:
            done = remote.tell(actions.ids[20:40], [0.5] * 20).queued == 20
            os._exit(0 if done else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert remote.tell(actions.ids[40:], [0.5] * 20).queued == 20
    stand_in.away = False
    remote.flush()
    assert set(stand_in.told) == set(actions.ids.tolist())
