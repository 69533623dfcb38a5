"""Connections to a real server: heads and bodies that never end, or never begin, hold nothing for long."""

import contextlib

import pytest
from hostility import answer_of, connected

from in_thread import answering
from sampling import every
from sottovoce.service import serving as connections


async def app(scope, receive, send):
    if scope["type"] == "http":
        size = 0
        while (message := await receive())["type"] == "http.request":
            size += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"fine"})


@contextlib.contextmanager
def serving():
    with answering(app, http=connections.BoundedProtocol, lifespan="off", ws="none") as url:
        yield int(url.rpartition(":")[2])


@pytest.fixture(scope="module")
def port():
    with serving() as where:
        yield where


def until_fine(one):
    """Read one answer."""
    found = b""
    while not found.endswith(b"fine"):
        found += one.recv(65536)
    assert found.startswith(b"HTTP/1.1 200 ")


def is_refusal(found):
    return found.startswith(b"HTTP/1.1 400 ") and found.endswith(b"at most 65536 bytes.")


ENDLESS = {
    "address": (b"GET /", b"a" * 8000),
    "one header": (b"GET / HTTP/1.1\r\nX: ", b"a" * 8000),
    "a name": (b"GET / HTTP/1.1\r\n", b"a" * 8000),
    "many headers": (b"GET / HTTP/1.1\r\n", b"X: 12345678\r\n" * 600),
}


@every("what", ENDLESS)
def test_a_head_without_end_is_refused(port, what):
    first, more = ENDLESS[what]
    with connected(port) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        until_fine(one)
        with contextlib.suppress(ConnectionError):  # closed meanwhile
            one.sendall(first)
            for _ in range(200):
                one.sendall(more)
        found = answer_of(one)
    assert not found or is_refusal(found)  # a reset may take the words along, but never lets it through


def test_a_head_that_is_refused_is_told_so(port):
    with connected(port) as one:
        one.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(connections.LARGEST_HEAD // 1024 + 1):
            one.sendall(b"a" * 1024)
        assert is_refusal(answer_of(one))


def test_large_bodies_and_many_requests_are_not_heads(port):
    with connected(port) as one:
        for size in (0, 10, 1 << 20, 5):
            one.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size)
            until_fine(one)
        one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 60_000 + b"\r\nConnection: close\r\n\r\n")
        assert answer_of(one).endswith(b"fine")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX: "])
def test_who_never_ends_a_head_is_disconnected(monkeypatch, sent):
    monkeypatch.setattr(connections, "SECONDS", 1.0)  # what is sent at once is read by then
    with serving() as port, connected(port) as one:
        one.sendall(sent)
        found = answer_of(one)  # ends, since the server closes the connection
    assert found.count(b"HTTP/1.1 ") == sent.count(b"\r\n\r\n")


def test_a_body_has_to_come(monkeypatch):
    """Within two looks, or the connection is closed; whoever was answered before its body came holds nothing either."""
    monkeypatch.setattr(connections, "SECONDS", 0.3)
    with serving() as port, connected(port) as one:
        one.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\na")
        assert answer_of(one) == b""  # ends, since the server closes the connection


def test_more_connections_than_there_may_be_are_closed_and_the_others_served(monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    with serving() as port, connected(port) as one, connected(port) as other:
        for each in (one, other):  # both are taken
            each.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            until_fine(each)
        with connected(port) as third:
            assert answer_of(third) == b""
        one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        until_fine(one)
