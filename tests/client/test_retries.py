"""Calls are repeated while a service is away, and nothing happens twice."""

import socket
import threading

import pytest

import sottovoce as sv
from children import Child
from sampling import every
from sottovoce.client import Retries
from sottovoce.client.retries import told_to_wait
from sottovoce.errors import ServiceAway, ServiceError, StorageError


@pytest.mark.parametrize("fault", ["before", "after", 429, 502, 503, 504])
def test_an_ask_is_repeated_with_its_own_key_and_gets_one_action(connected, stand_in, fault):
    stand_in.faults.extend([fault, fault])
    remote = connected()
    actions = [remote.ask().id, remote.ask().id]
    keys = [headers["Idempotency-Key"] for headers in stand_in.heads("ask")]
    assert len(keys) == 4
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert list(stand_in.asked) == actions


@pytest.mark.parametrize("fault", ["before", "after", 429, 503])
def test_a_tell_is_repeated_to_the_last_byte_and_counts_once(connected, stand_in, fault):
    remote = connected()
    actions = remote.ask(2)
    remote.tell(actions.ids[1], 0.5)  # it is known by now that losses are wanted
    stand_in.faults.append(fault)
    told = remote.tell(actions.ids, [0.25, 0.5])
    assert sum(told) == 2
    assert len(stand_in.bodies("tell")) == 3
    assert len(set(stand_in.bodies("tell")[1:])) == 1
    assert stand_in.told == dict(zip(actions.ids.tolist(), [0.25, 0.5], strict=True))


@every("status", [400, 401, 403, 404, 409, 413, 422, 500, 301, 204])
def test_other_answers_are_not_repeated(connected, stand_in, status):
    stand_in.requests.clear()
    stand_in.faults.append((status, {"Location": "http://127.0.0.1:9/elsewhere"}))
    with pytest.raises(ServiceError, match="check the address"):
        connected().ask()
    assert len(stand_in.requests) == 1  # a redirect, too, is not followed


def test_after_so_many_attempts_it_is_said_that_nobody_answers_or_is_there(connected, stand_in, quick):
    stand_in.faults.extend([503] * 4)
    with pytest.raises(StorageError, match="away at present"):
        connected().ask()
    stand_in.away = True
    with pytest.raises(ServiceAway, match=r"could not be reached, or did not answer \(RemoteProtocolError\)"):
        connected().ask()
    assert len(stand_in.requests) == 8
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = sv.connect(f"http://127.0.0.1:{port}", study="spring", retries=quick)
    with nobody as remote, pytest.raises(ServiceAway, match="ConnectError"):
        remote.ask()


def test_a_service_is_left_alone_for_as_long_as_it_says(connected, stand_in):
    waits = []

    class Noted(Retries):
        def wait(self, attempt, told=None):
            waits.append(super().wait(attempt, told))
            return 0.0

    remote = connected(retries=Noted(attempts=2, first=0.001, longest=5.0))
    stand_in.faults.append((429, {"Retry-After": "4"}))
    remote.ask()
    (waited,) = waits
    assert 4.0 <= waited <= 4.001
    stand_in.faults.append((503, {"Retry-After": "3600"}))
    with pytest.raises(StorageError):  # more patience than the caller has: at once
        remote.ask()
    assert len(waits) == 1
    assert len(stand_in.heads("ask")) == 3


def test_waits_double_are_bounded_and_never_the_same():
    retries = Retries(first=0.5, longest=8.0)
    for attempt in range(12):
        waits = [retries.wait(attempt) for _ in range(50)]
        assert 0 <= min(waits) <= max(waits) <= min(8.0, 0.5 * 2**attempt)
        assert len(set(waits)) > 1
    assert retries.wait(10**6) <= 8.0
    assert 3.0 <= retries.wait(0, 3.0) <= 3.5


@every("header", ["", "soon", "-1", "1.5", "²", "Wed, 21 Oct 2015 07:28:00 GMT", "9" * 400])
def test_what_a_header_says_is_understood_or_passed_over(header):
    found = told_to_wait(header)
    assert found is None or found >= 0


def test_a_forked_child_has_connections_of_its_own(connected, stand_in):
    """Both write into what they have: on a shared connection answers would go to whoever reads first."""
    remote = connected()
    remote.ask()
    child = Child(lambda report: report("asked", len({remote.ask().id for _ in range(20)})))
    assert len({remote.ask().id for _ in range(20)}) == 20
    assert child.finish() == ([["asked", 20]], False)
    assert len(stand_in.asked) == 41


@every("wrong", [{"attempts": 0}, {"first": 0}, {"longest": -1}])
def test_retries_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Retries(**wrong)


def test_closing_in_the_midst_of_a_call_of_another_thread_leaves_no_socket(connected, stand_in, monkeypatch):
    """A thread is held where it is about to have a connection, while another closes; its call comes to its end."""
    made, held, go_on, connect = [], threading.Event(), threading.Event(), socket.create_connection

    def held_up(*args, **options):
        made.append(connect(*args, **options))
        if threading.current_thread() is not threading.main_thread():
            held.set()
            assert go_on.wait(600)
        return made[-1]

    monkeypatch.setattr(socket, "create_connection", held_up)
    remote, found = connected(), []
    asks = threading.Thread(target=lambda: found.append(remote.ask()))
    asks.start()
    assert held.wait(600)
    remote.close()
    go_on.set()
    asks.join(600)
    assert {one.fileno() for one in made} == {-1}
    assert list(stand_in.asked) == [one.id for one in found]  # it was on its way: what was asked is not lost
    with pytest.raises(ValueError, match="this connection is closed"):
        remote.ask()


def test_an_acknowledgement_of_fewer_losses_than_were_sent_is_none(connected, stand_in):
    remote = connected()
    actions = remote.ask(2)
    stand_in.on_tell = lambda *_: (200, {"recorded": 1, "already": 0, "dropped": 0})
    with pytest.raises(ServiceError, match="another number of losses"):
        remote.tell(actions.ids, [0.5, 0.5])
