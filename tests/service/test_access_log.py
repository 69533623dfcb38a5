"""What is logged: a line for each request and a place for each error, and nowhere what was sent."""

import asyncio
import io
import json
import logging
import logging.config
import re
import sys
import threading
from contextlib import suppress

import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from sottovoce.service.app import create_app
from sottovoce.service.metrics import Metrics
from sottovoce.service.redaction import redact_errors, redacted
from sottovoce.service.request_log import RequestLog, logging_config
from sottovoce.service.settings import Settings

LOSS = "0.73218840129"
LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|OTHER) (-|/[!-~]*)"
    r'( study="[ -~]*")? status=\d{3} ms=\d+\.\d key=(-|[a-z0-9]+) bytes=\d+'
)


@pytest.fixture
def logged():
    """Loggers as a worker has them, but for their streams; what they write is in the two of the fixture."""
    out, err = io.StringIO(), io.StringIO()
    kept = [
        (one, one.handlers[:], one.level, one.propagate) for one in map(logging.getLogger, ("", "sottovoce.access"))
    ]
    config = logging_config()
    config["handlers"]["errors"]["stream"], config["handlers"]["access"]["stream"] = err, out
    logging.config.dictConfig(config)
    logging.getLogger("uvicorn.access").propagate = True  # whatever a server in this process has made of it
    yield out, err
    for one, handlers, level, propagate in kept:
        one.handlers[:], one.propagate = handlers, propagate
        one.setLevel(level)


def application():
    app = FastAPI()

    @app.post("/studies/{name:path}/tell")
    async def tell(request: Request):
        float((await request.body()).decode() + " is no number")

    @app.get("/studies/{name:path}/status")
    async def status(request: Request, status: int = 200):
        request.scope["sottovoce.facts"].key = "abc"
        return Response("fine", status)

    @app.get("/half")
    async def half():
        async def pieces():
            yield b"piece"
            raise ValueError(LOSS)

        return StreamingResponse(pieces())

    @app.get("/gone")
    async def gone():
        raise ClientDisconnect

    app.add_middleware(RequestLog, metrics=Metrics(), delay=0)
    return app


def call(method, path, **arguments):
    async def once():
        async with AsyncClient(transport=ASGITransport(application()), base_url="http://x") as client:
            with suppress(AssertionError):  # of httpx2, if an answer does not end: servers close the connection
                return await client.request(method, path, **arguments)

    return asyncio.run(once())


def test_a_line_for_a_request_also_for_one_that_broke_off(logged):
    out, err = logged
    for path in ("/studies/spring/status", "/gone", "/half"):
        call("GET", path)
    assert all(map(LINE.fullmatch, out.getvalue().splitlines()))
    whole, gone, half = out.getvalue().splitlines()
    assert ' GET /studies/{name}/status study="spring" status=200 ' in whole
    assert whole.endswith(" key=abc bytes=4")
    assert " GET /gone status=499 " in gone
    assert " GET /half status=200 " in half
    assert half.endswith("bytes=5")
    assert re.search("incident .*ValueError", err.getvalue())


def test_lines_are_written_together_and_none_is_left_when_the_service_stops(logged):
    out, _ = logged

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200})

    async def send(message):
        pass

    async def life():
        observed = RequestLog(app, metrics=Metrics(), delay=1000.0)
        for _ in range(5):
            await observed({"type": "http", "method": "GET"}, None, send)
        assert out.getvalue() == ""
        await observed({"type": "lifespan"}, None, send)
        soon = RequestLog(app, metrics=Metrics(), delay=0.001)
        await soon({"type": "http", "method": "GET"}, None, send)
        while out.getvalue().count("\n") < 6:
            await asyncio.sleep(0.001)

    asyncio.run(life())
    assert all(LINE.fullmatch(line) for line in out.getvalue().splitlines())


def test_an_error_is_answered_and_logged_by_type_and_place(logged):
    out, err = logged
    answer = call("POST", f"/studies/spring/tell?loss={LOSS}", content=LOSS, headers={"X-Loss": LOSS})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["type"] == "/problems/internal"
    assert f"incident {document['incident']} in POST /studies/{{name}}/tell: ValueError at " in err.getvalue()
    assert re.search(r"service/test_access_log\.py:\d+ tell", err.getvalue())
    assert LINE.fullmatch(out.getvalue().rstrip("\n"))
    assert LOSS not in answer.text + out.getvalue() + err.getvalue()


def test_what_was_refused_is_in_no_line(logged):
    """Neither the name of a study nor a method: whoever sends them may have put a loss there."""
    out, err = logged
    for status in (404, 422, 429, 503):
        call("GET", f"/studies/{LOSS}/status?status={status}")
    call(f"X{LOSS}", f"/studies/{LOSS}/tell", content=LOSS)
    lines = out.getvalue().splitlines()
    assert len(lines) == 5
    assert all(LINE.fullmatch(line) for line in lines)
    assert LOSS not in out.getvalue() + err.getvalue()


def test_nobody_writes_a_line_of_their_own(logged):
    out, _ = logged
    name = 'a"\r2026-11-16T00:00:00.000Z GET / status=200\r\x1b[2J\u2028\u202eä\x00'
    for one in (name, "\n" + name):
        call("GET", "/studies/" + "".join(f"%{byte:02x}" for byte in one.encode()) + "/status")
    line, other = out.getvalue().split("\n")[:-1]
    assert LINE.fullmatch(line)
    assert LINE.fullmatch(other)
    assert json.loads(re.search(r'study=("(?:[^"\\]|\\.)*")', line)[1]) == name


def test_errors_are_told_without_their_words():
    class Secretive(Exception):
        def __repr__(self):
            raise AssertionError("asked")

        __str__ = __repr__

    def inner():
        raise KeyError(LOSS)

    def outer():
        try:
            inner()
        except KeyError:
            raise Secretive(LOSS)  # noqa: B904

    with pytest.raises(Secretive) as caught:
        outer()
    said = redacted(caught.value)
    assert re.search(r"Secretive at .*:\d+ outer < .*; after KeyError at .*:\d+ inner < ", said)
    assert LOSS not in said
    assert redacted(ExceptionGroup(LOSS, [ValueError(LOSS)])) == "ExceptionGroup"
    first, second = ValueError(), TypeError()
    first.__context__, second.__context__ = second, first  # a chain that bites its tail ends
    assert redacted(first) == "ValueError; after TypeError"


def test_whatever_logs_is_discreet(logged):
    _, err = logged
    logging.getLogger("asyncio").error("Task exception was never retrieved: %s", ValueError(LOSS))
    logging.getLogger("some.library").warning(f"could not parse {LOSS}")
    try:
        float(LOSS + " is no number")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
        logging.getLogger("uvicorn.error").error("Traceback (most recent call last):\n  ...\nValueError: " + LOSS)
        logging.getLogger("some.library").exception("what %s", LOSS)
    logging.getLogger("uvicorn.access").critical(LOSS)
    logging.getLogger("uvicorn.error").error("Started\x1b[2J")
    text = err.getvalue()
    assert LOSS not in text
    assert len(text.splitlines()) == 7
    assert "Exception in ASGI application: ValueError at tests/service/test_access_log.py:" in text
    assert "asyncio: (withheld" in text
    assert "Started\\x1b[2J" in text


def test_tasks_threads_and_the_interpreter_are_discreet(logged, monkeypatch, capsys):
    _, err = logged
    hooks = ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook"), (logging, "raiseExceptions"))
    for place, name in hooks:
        monkeypatch.setattr(place, name, getattr(place, name))
    redact_errors()

    def fail():
        raise ValueError(LOSS)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()

    class Dying:
        def __del__(self):
            raise ValueError(LOSS)

    Dying()

    async def lost():
        async def fails():
            raise ValueError(LOSS)

        task = asyncio.create_task(fails())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        del task
        asyncio.get_running_loop().call_soon(float, LOSS + "!")
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(lost())
    sys.excepthook(ValueError, ValueError(LOSS), None)
    logging.getLogger("uvicorn.error").error("%d", LOSS)  # which cannot be formatted
    text = err.getvalue() + "".join(capsys.readouterr())
    assert LOSS not in text
    for words in (
        "a thread has ended: ValueError",
        "could not be raised: ValueError",
        "asyncio: (with",
        "process ends",
    ):
        assert words in text


def test_nothing_is_sent_to_whoever_traces_applications(tmp_path, monkeypatch):
    """FastAPI's own telemetry repeats addresses, values and the words of errors."""
    monkeypatch.setattr("fastapi.telemetry._asgi._unconfigured", lambda provider: False)
    app = create_app(Settings(f"sqlite:///{tmp_path}/a.db"))
    assert FastAPI()._native_telemetry.enabled()
    assert not app._native_telemetry.enabled()
    asyncio.run(app.state.context.close())
