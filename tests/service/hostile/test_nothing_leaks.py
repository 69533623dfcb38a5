"""Losses are planted in every place of a request, on every way that is refused or fails: none is found anywhere else.

Searched, byte by byte: everything that the processes print at the most talkative level, all answers with their headers,
the metrics, and what the service itself stores.
"""

import json
import socket
import struct
from urllib.parse import quote

import pytest
from hostility import new_key, small_study
from study_tools import sums

import sottovoce as sv

LOSS = 0.7312846501923847
OTHER = 731284650192384700000.0  # out of range; its digits are the same
INTEGER = 73128465019238470000000000  # and no float at all
TEXT = f"{LOSS}"
TRACES = (b"731284650", struct.pack("<d", LOSS), struct.pack(">d", LOSS), LOSS.hex()[4:12].encode())

TALKATIVE = """
import logging
from sottovoce.service import request_log
from sottovoce.studies import Study

options = serving._options
def talkative(settings):
    return options(settings) | {"log_config": request_log.logging_config("DEBUG"), "log_level": "trace"}
serving._options = talkative

tell_each, ask = Study.tell_each, Study.ask
errors = {kind.__name__: kind for kind in (RuntimeError, ValueError, TypeError, KeyError, MemoryError, OSError)}
errors |= {kind.__name__: kind for kind in (AssertionError, RecursionError, ZeroDivisionError, UnicodeError)}
def failing(self, calls, *more):
    for call in calls:
        kind = errors.get(str(call.ids))
        if kind is not None:
            try:
                raise LookupError(f"within {calls}, 0.7312846501923847")
            except LookupError as inner:
                raise kind(f"{calls}, 0.7312846501923847") from inner
    return tell_each(self, calls, *more)
Study.tell_each = failing
"""
ERRORS = ("RuntimeError", "ValueError", "TypeError", "KeyError", "MemoryError", "OSError", "AssertionError")
ERRORS += ("RecursionError", "ZeroDivisionError")


@pytest.fixture
def service(serving, sqlite_url, monkeypatch):
    sv.Study.open(sqlite_url, name="spring", patience=1, **sums(privacy=sv.PureDP(1.0))).close()
    sv.Study.open(sqlite_url, name="local", **small_study(privacy=sv.LocalDP(1.0))).close()
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    served = serving(sqlite_url, TALKATIVE, largest_body=100_000, largest_block=50)
    served.key = new_key(sqlite_url, ["admin"])[1]
    return served


def bodies(ids, late):
    """Yield bodies of a tell that are wrong, each in its way; and such as are right, or were."""
    one, two = ids[:2]
    lots = (LOSS, OTHER, INTEGER, 10**400, -LOSS, TEXT, [LOSS], {"x": LOSS}, None, True)
    yield from ({"id": one, "loss": odd} for odd in lots)
    yield from ({"id": one, "report": odd} for odd in lots)
    yield from ({"id": odd, "loss": 0.5} for odd in lots)
    yield from ({"ids": [one, two], "losses": [0.5, odd]} for odd in lots)
    yield from ({"ids": odd, "losses": [LOSS]} for odd in (TEXT, [LOSS], [TEXT], [[TEXT]], {TEXT: LOSS}))
    yield {"id": one, "loss": LOSS, "late": TEXT}
    yield {"id": one, "loss": LOSS, TEXT: 1}
    yield {"id": one, "loss": LOSS, "losses": [LOSS]}
    yield {"ids": [one, two], "losses": [LOSS]}
    yield {"ids": [one] * 51, "losses": [LOSS] * 51}
    yield {"ids": [one] * 20_000, "losses": [LOSS] * 20_000}
    yield {"ids": [one, one], "losses": [LOSS, LOSS]}
    yield {"id": "no such id", "loss": LOSS}
    yield {"id": late, "loss": LOSS}
    yield {"ids": ids, "losses": [LOSS] * len(ids)}
    yield {"ids": ids, "losses": [LOSS] * len(ids)}
    yield from ({"id": kind, "loss": LOSS} for kind in ERRORS)
    yield [LOSS]
    yield LOSS
    yield TEXT


def texts(one):
    """Yield what is not quite JSON."""
    yield from (TEXT, f"loss={TEXT}", f'{{"id":"{one}","loss":{TEXT}', f'{{"id":"{one}","loss":0{TEXT}}}')
    yield from (f'{{"id":"{one}","loss":{TEXT}}}{TEXT}', f'{{"loss":{TEXT},"id":"\\ud800"}}', "[" * 50_000 + TEXT)
    yield from (f'{{"id":"{one}","loss":NaN,"x":{TEXT}}}', f'\ufeff{{"id":"{one}","loss":{TEXT}}}', f"'{TEXT}'\x00")
    yield '{"a":' * 30_000 + TEXT


def test_no_loss_is_anywhere_but_in_the_study(service, shelf):
    with service.client(service.key, follow_redirects=False) as client:
        answers = list(attacks(service, client))
        answers += [client.get("/metrics"), client.get("/studies"), client.get("/studies/spring/status")]
        answers.append(client.get("/studies/spring/export"))
    statuses = {answer.status_code for answer in answers}
    assert statuses >= {200, 404, 405, 409, 413, 422, 500}
    for answer in answers:
        check(answer.content, f"the answer {answer.content[:300]!r} to {answer.request.method} {answer.request.url}")
        check(repr(answer.headers.raw).encode(), f"the headers {answer.headers.raw}")
    for answer in raw_attacks(service):
        check(answer, f"the answer {answer[:300]!r}")
    assert service.stop() in (0, -15)
    log = service.log.read_bytes()
    assert log.count(b"incident ") >= len(ERRORS)  # it was talkative, and errors were there to be talked about
    assert b" TRACE " in log
    for line in log.splitlines():
        check(line, f"the line {line[:1000]!r} of the log")
    own = [path for path in shelf.iterdir() if ".service." in path.name]
    assert own
    for path in own:
        check(path.read_bytes(), f"the file {path}")


def attacks(service, client):
    late = client.post("/studies/spring/ask", json={"size": 40}).json()["actions"][0]["id"]
    client.post("/studies/spring/ask")  # closes its round
    ids = [one["id"] for one in client.post("/studies/spring/ask", json={"size": 10}).json()["actions"]]
    for body in bodies(ids, late):
        for name in ("spring", "local", "none", TEXT):
            yield client.post(f"/studies/{name}/tell", content=json.dumps(body))
        for call in ("ask", "forget", TEXT):
            yield client.post(f"/studies/spring/{call}", content=json.dumps(body))
        yield client.post("/studies", content=json.dumps(body))
    for text in texts(ids[-1]):
        for headers in (None, {"Content-Type": "text/plain"}, {"Content-Type": TEXT}):
            yield client.post("/studies/spring/tell", content=text.encode("utf-8", "surrogatepass"), headers=headers)
    yield client.post("/studies/spring/tell", data={"id": ids[0], "loss": TEXT})
    yield client.post("/studies/spring/tell", files={"loss": TEXT})
    yield client.post("/studies/spring/tell", content=struct.pack("<d", LOSS))
    yield from in_the_wrong_place(client)


def in_the_wrong_place(client):
    wish = {"name": "x", "domain": "simplex:3", "horizon": 10, "privacy": {"epsilon": 1.0}}
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        for path in (f"/studies/spring/tell?loss={TEXT}", f"/studies/{TEXT}/ask", f"/{TEXT}", f"/studies/?x={TEXT}"):
            yield client.request(method, path)
    for member in wish.keys() - {"name"}:  # a study may have whatever name it likes, and says it
        yield client.post("/studies", json=wish | {member: TEXT})
        yield client.post("/studies", json=wish | {member: [LOSS]})
    for name in (
        "Idempotency-Key",
        "X-Loss",
        "Accept",
        "Cookie",
        "Referer",
        "User-Agent",
        "Origin",
        "Content-Encoding",
    ):
        yield client.post("/studies/spring/ask", headers={name: TEXT})
        yield client.get("/", headers={name: TEXT})
    yield client.get(f"/studies/spring/outstanding?limit={TEXT}")
    yield client.get(f"/studies/spring/outstanding?{TEXT}={TEXT}")
    yield client.get("/studies/spring/status", headers={"Authorization": f"Bearer {TEXT}"})
    yield client.get(f"/dashboard/studies/{TEXT}")
    yield client.get(f"/problems/{TEXT}")
    yield client.post("/login", data={"key": TEXT})
    yield client.get(f"/studies/{quote('a/' * 60 + TEXT)}/status")


def raw_attacks(service):
    """Yield answers to what is no HTTP, or breaks off."""
    good = f"Authorization: Bearer {service.key}\r\nHost: x\r\n"
    for text in (
        f"{TEXT} / HTTP/1.1\r\n\r\n",
        f"POST /studies/spring/tell HTTP/{TEXT}\r\n\r\n",
        f"POST /studies/spring/tell HTTP/1.1\r\n{good}Content-Length: {TEXT}\r\n\r\n",
        f"POST /studies/spring/tell HTTP/1.1\r\n{good}Content-Length: 40\r\n\r\n{{{TEXT}",
        f"POST /studies/spring/tell HTTP/1.1\r\n{good}Transfer-Encoding: chunked\r\n\r\n{TEXT}\r\n",
        f"POST /studies/spring/tell HTTP/1.1\r\n{good}Transfer-Encoding: chunked\r\n\r\n9\r\n{TEXT}\r\n0\r\n\r\n",
        f"POST /studies/spring/tell?{TEXT} HTTP/1.0\r\n{good}\r\n",
        f"POST http://{TEXT}/studies/spring/tell HTTP/1.1\r\n{good}\r\n",
        f"GET /ready HTTP/1.1\r\n{TEXT}\r\n\r\n",
        f"GET /ready HTTP/1.1\r\nUpgrade: {TEXT}\r\nConnection: Upgrade\r\nHost: {TEXT}\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", service.port), 10) as connection:
            connection.sendall(text.encode())
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        yield answer


def check(found, where):
    for trace in TRACES:
        assert trace not in found, where
