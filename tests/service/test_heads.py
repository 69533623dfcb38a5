"""Heads of requests, against a real server: those that never end, or never begin, hold nothing for long."""

import contextlib
import json
import socket
import threading

import pytest
import uvicorn

from sottovoce.service.limits import heads


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
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # from now on whoever connects waits for the server
        config = uvicorn.Config(
            app, http=heads.BoundedProtocol, log_config=None, lifespan="off", ws="none", access_log=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def address():
    with serving() as where:
        yield where


@contextlib.contextmanager
def connected(address):
    with socket.create_connection(address, timeout=600) as one:
        yield one


def answer(one):
    """Return what comes until the connection is closed."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while piece := one.recv(65536):
            found += piece
    return found


def until_fine(one):
    """Read one answer."""
    found = b""
    while not found.endswith(b"fine"):
        found += one.recv(65536)
    assert found.startswith(b"HTTP/1.1 200 ")


def is_refusal(found):
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert json.loads(body)["type"] == "/problems/too-large"
    return True


ENDLESS = {
    "address": (b"GET /", b"a" * 8000),
    "one header": (b"GET / HTTP/1.1\r\nX: ", b"a" * 8000),
    "a name": (b"GET / HTTP/1.1\r\n", b"a" * 8000),
    "many headers": (b"GET / HTTP/1.1\r\n", b"X: 12345678\r\n" * 600),
}


@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize("what", ENDLESS)
def test_a_head_without_end_is_refused(address, what, earlier):
    first, more = ENDLESS[what]
    with connected(address) as one:
        for _ in range(earlier):
            one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            until_fine(one)
        with contextlib.suppress(ConnectionError):  # closed meanwhile
            one.sendall(first)
            for _ in range(200):
                one.sendall(more)
        found = answer(one)
    assert not found or is_refusal(found)  # a reset may take the words along, but never lets it through


def test_a_head_that_is_refused_is_told_so(address):
    with connected(address) as one:
        one.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(heads.LARGEST_HEAD // 1024 + 1):
            one.sendall(b"a" * 1024)
        assert is_refusal(answer(one))


def test_large_bodies_and_many_requests_are_not_heads(address):
    with connected(address) as one:
        for size in (0, 10, 1 << 20, 5):
            one.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size)
            until_fine(one)
        one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 60_000 + b"\r\nConnection: close\r\n\r\n")
        assert answer(one).endswith(b"fine")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX: "])
def test_who_never_ends_a_head_is_disconnected(monkeypatch, sent):
    monkeypatch.setattr(heads, "HEAD_SECONDS", 1.0)  # what is sent at once is read by then
    with serving() as address, connected(address) as one:
        one.sendall(sent)
        found = answer(one)  # ends, since the server closes the connection
    assert found.count(b"HTTP/1.1 ") == sent.count(b"\r\n\r\n")


def test_a_slow_body_is_not_a_slow_head(monkeypatch):
    monkeypatch.setattr(heads, "HEAD_SECONDS", 1.0)  # what is sent at once is read by then
    with serving() as address, connected(address) as one, connected(address) as other:
        one.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\na")
        answer(other)  # by now the time for heads is over
        one.sendall(b"b")
        assert answer(one).endswith(b"fine")
