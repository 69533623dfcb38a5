"""How often and how much: buckets let through what they promise, and bodies are refused before they are read."""

import asyncio
import json
from fractions import Fraction

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from sampling import every
from sottovoce.service.body_limit import BodyLimit
from sottovoce.service.gate import Gate
from sottovoce.service.problem_documents import Problem, problem_response


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


# -- rates --------------------------------------------------------------------------------------------------------

gaps = st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.125, 0.25, 0.5, 1.0, 4.0]), max_size=120)


@given(gaps, st.sampled_from([2.0, 4.0, 8.0, 64.0]))
def test_a_bucket_gives_what_its_tokens_allow(gaps, rate):
    """Against the textbook: tokens come back at the rate, and the bucket holds so many."""
    clock = Clock()
    gate, deep = Gate(None, rate, clock=clock), Fraction(max(2 * rate, 10))
    tokens = deep
    for gap in gaps:
        clock.now += gap
        tokens = min(deep, tokens + Fraction(gap) * Fraction(rate))
        allowed = tokens >= 1
        tokens -= allowed
        assert (gate.wait("key") == 0.0) == allowed


@given(st.floats(0.01, 50.0))
def test_whoever_waits_as_long_as_told_is_let_in(rate):
    clock = Clock()
    gate = Gate(None, rate, clock=clock)
    for _ in range(200):
        if wait := gate.wait("key"):
            break
    assert wait > 0
    clock.now += wait * (1 - 1e-3) - 2e-6
    assert gate.wait("key") > 0
    clock.now += wait * 1e-3 + 4e-6
    assert gate.wait("key") == 0


def test_full_buckets_are_forgotten():
    clock = Clock()
    gate = Gate(None, 100.0, clock=clock)
    for n in range(60_000):
        clock.now += 0.001
        assert gate.wait(f"key {n}") == 0
    assert len(gate._full) <= 10_000


# -- bodies -------------------------------------------------------------------------------------------------------

MOST = 100
app = FastAPI()


@app.exception_handler(Problem)
async def answered(request, problem):
    return problem_response(problem)


read = []


@app.post("/read")
async def reads(request: Request):
    read.append(len(await request.body()))
    return Response("read")


@app.post("/studies/spring/tell")
async def streams(request: Request):
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return Response(str(size))


@app.post("/ignores")
async def ignores(request: Request):
    return Response("ignored")


limited = BodyLimit(app, most=MOST)


def post(path, pieces, headers=(), application=limited):
    """Call an application as a server would; return the head and body of the answer, and how many pieces it took."""
    pieces = [bytes(piece) for piece in pieces] or [b""]
    taken, sent = [], []

    async def receive():
        if len(taken) == len(pieces):
            return {"type": "http.disconnect"}
        taken.append(1)
        return {"type": "http.request", "body": pieces[len(taken) - 1], "more_body": len(taken) < len(pieces)}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
        "client": ("192.0.2.1", 1),
        "server": ("x", 80),
    }
    asyncio.run(application(scope, receive, send))
    starts = [message for message in sent if message["type"] == "http.response.start"]
    assert len(starts) == 1
    assert not sent[-1].get("more_body")
    body = b"".join(message.get("body", b"") for message in sent)
    return starts[0], body, len(taken)


def is_refusal(start, body):
    assert dict(start["headers"])[b"content-type"] == b"application/problem+json"
    document = json.loads(body)
    assert document["type"] == "/problems/too-large"
    assert document["status"] == 413
    return start["status"] == 413


@every("path", ["/read", "/studies/spring/tell", "/ignores"])
def test_a_body_that_says_it_is_too_large_is_not_read(path):
    for length in ("101", "1" * 19, "9" * 5000):
        start, body, taken = post(path, [b"x" * 101], [("content-length", length)])
        assert is_refusal(start, body)
        assert taken == 0
    start, _, _ = post(path, [b"x" * 100], [("content-length", "100")])
    assert start["status"] == 200


@given(st.lists(st.integers(0, 60), max_size=8))
def test_a_body_that_does_not_say_is_read_up_to_the_limit(sizes):
    chunked = [("transfer-encoding", "chunked")]
    for path in ("/read", "/studies/spring/tell"):
        read.clear()
        start, body, taken = post(path, [b"x" * size for size in sizes], chunked)
        if sum(sizes) <= MOST:
            assert start["status"] == 200
        else:
            assert is_refusal(start, body)
            assert read == []
            assert sum(sizes[: taken - 1]) <= MOST  # nothing was taken after the piece that was too much


def test_a_length_beside_chunks_is_not_believed():
    headers = [("content-length", "1"), ("transfer-encoding", "chunked")]
    start, body, _ = post("/read", [b"x" * 60, b"x" * 60], headers)
    assert is_refusal(start, body)


@every("length", ["", "-1", "1e1", "٣", "+5", "0x10"])
def test_lengths_that_are_none_are_not_believed(length):
    headers = [("content-length", length)]
    start, body, _ = post("/read", [b"x" * 60, b"x" * 60], headers)
    assert is_refusal(start, body)


def test_streams_of_lines_are_exempt():
    for kind in ("application/x-ndjson", "Application/X-NDJSON; charset=utf-8"):
        for more in ([("content-length", "300")], [("transfer-encoding", "chunked")]):
            start, body, _ = post("/studies/spring/tell", [b"x" * 150, b"x" * 150], [("content-type", kind), *more])
            assert (start["status"], body) == (200, b"300")
    start, body, _ = post("/studies/spring/tell", [b"x" * 150], [("content-type", "application/x-ndjson-not")])
    assert is_refusal(start, body)


def test_an_error_of_the_application_is_its_own():
    async def fails(scope, receive, send):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        post("/read", [b"x"], (), BodyLimit(fails, most=MOST))


def test_what_is_not_a_request_is_passed_on():
    seen = []

    async def note(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(BodyLimit(note, most=MOST)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]
