"""A stand-in for a service: what the clients rely on, written against the wire format, with failures to order."""

import contextlib
import json
import math
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pydantic import TypeAdapter

import sottovoce as sv
from in_thread import answering
from sottovoce.client import Retries
from sottovoce.service.app import create_app
from sottovoce.service.endpoints import study_routes
from sottovoce.service.settings import Settings

KEY = "sv_abcdefghijkl_" + "s" * 43
STATIC = Path(sv.__file__).parent / "service" / "static"
PAGES = {
    "/sottovoce.js": lambda: ((STATIC / "sottovoce.js").read_bytes(), "text/javascript"),
    "/page": lambda: (b"<!doctype html><title>A page</title>", "text/html"),
    "/favicon.ico": lambda: (b"", "image/png"),  # browsers look for one
    "/elsewhere": lambda: (b"<!doctype html><title>Elsewhere</title>", "text/html"),
}
DECLARED = {
    route.path.rpartition("/")[2]: (
        None if route.body_field is None else TypeAdapter(route.body_field.field_info.annotation),
        TypeAdapter(route.response_model),
    )
    for route in study_routes.routes
}
DRINKS = ["tea", "coffee", "cocoa", "milk"]


class StandIn:
    """Studies, each with its channel (None for raw losses), what was told, and every request as it came.

    `faults` are taken one by one, each by one request: a status, (status, headers), "before" (the connection breaks
    before anything is done) or "after" (it is done, and the answer is lost).
    """

    def __init__(self):
        self.channels, self.items = {"spring": None}, None  # names that every action has, with feedback by item
        self.faults, self.requests = deque(), []
        self.asked, self.told, self.forgotten = {}, {}, set()
        self.answers, self.lock = {}, threading.Lock()
        self.away, self.enough = False, (math.inf, threading.Event())

    def start(self):
        handler = type("Handler", (_Handler,), {"stand_in": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def all_told(self, size):
        """Return an event that is set once so many losses have arrived."""
        with self.lock:
            self.enough = (size, threading.Event())
            self.look()
        return self.enough[1]

    def look(self):
        if len(self.told) >= self.enough[0]:
            self.enough[1].set()

    def bodies(self, call):
        return [body for _, path, _, body in self.requests if path.endswith(f"/{call}")]

    def heads(self, call):
        return [headers for _, path, headers, _ in self.requests if path.endswith(f"/{call}")]

    # ------------------------------------------------------------------ what is answered

    def answer(self, method, path, headers, body):
        if headers.get("Authorization") != f"Bearer {KEY}":
            return problem("unauthorised", 401, "a key is needed")
        if path == "/studies":
            return 200, {"studies": [{"name": name} for name in self.channels]}
        _, _, name, call = path.split("/")
        if unquote(name) not in self.channels:
            return problem("study-not-found", 404, "there is no such study")
        sent, answered = DECLARED[call]
        if sent is not None and body:
            sent.validate_json(body)  # a client sends what the service declares, and so does the stand-in answer
        with self.lock:
            status, plain = getattr(self, f"on_{call}")(unquote(name), headers, json.loads(body) if body else {})
        if status == 200 and call != "channel" and f"on_{call}" not in vars(self):  # which tests make up
            answered.validate_python(plain)
        return status, plain

    def on_channel(self, name, headers, plain):
        channel = self.channels[name]
        if channel is None:
            return problem("no-channel", 409, "there is a channel under LocalDP only")
        return 200, channel

    def on_ask(self, name, headers, plain):
        size, again = plain.get("size"), headers.get("Idempotency-Key")
        if again in self.answers:
            return 200, self.answers[again]
        made = []
        for _ in range(1 if size is None else size):
            number = len(self.asked)
            action = f"1.0.{number:x}.{number:012x}"
            self.asked[action] = name
            x = [0.0] * len(DRINKS)
            x[number % len(DRINKS)] = 1.0
            if plain.get("x") == "sparse":
                x = {"dimension": len(DRINKS), "index": [number % len(DRINKS)], "value": [1.0]}
            made.append({"id": action, "chosen": [DRINKS[number % len(DRINKS)]], "x": x, "wants_loss": True})
            if self.items is not None:
                made[-1]["items"] = self.items
        self.answers[again] = made[0] if size is None else {"actions": made}
        return 200, self.answers[again]

    def on_tell(self, name, headers, plain):
        ids = [plain["id"]] if "id" in plain else plain["ids"]
        values = next(plain[name] for name in ("loss", "report", "losses", "reports") if name in plain)
        values = [values] if "id" in plain else values
        for one in ids:
            if self.asked.get(one) != name:
                return problem("unknown-action", 404, "id was not handed out by this study; nothing was recorded")
        fresh = {one: value for one, value in zip(ids, values, strict=True) if one not in self.told}
        self.told.update(fresh)
        self.look()
        return 200, {"recorded": len(fresh), "already": len(ids) - len(fresh), "dropped": 0}

    def on_change(self, name, headers, plain):
        if "labels" not in plain:
            return problem("invalid-request", 422, "the new set has no names")
        self.items = plain["labels"][:2]  # that every later action has
        return 200, {"domain": {"written": plain["domain"]}, **dict.fromkeys(("segments", "horizon")), **MEANT}

    def on_forget(self, name, headers, plain):
        closed = set(plain["ids"]) - self.forgotten - set(self.told)
        self.forgotten |= closed
        return 200, {"closed": len(closed)}


MEANT = {"loss_range": [0.0, 1.0], "direction": "minimize"}


def problem(kind, status, detail):
    return status, {"type": f"/problems/{kind}", "title": kind, "status": status, "detail": detail}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stand_in = None

    def serve(self):
        stand_in, address = self.stand_in, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if address.path in PAGES:
            return self.send(200, *PAGES[address.path]())
        stand_in.requests.append((self.command, address.path, dict(self.headers), body))
        fault = "before" if stand_in.away else None
        with contextlib.suppress(IndexError):
            fault = fault or stand_in.faults.popleft()
        if fault == "before":
            return self.hang_up()
        extra = {}
        if fault is None or fault == "after":
            status, plain = stand_in.answer(self.command, address.path, self.headers, body)
        else:
            status, extra = fault if isinstance(fault, tuple) else (fault, {})
            plain = problem("storage-error", 503, "away at present")[1] if status == 503 else None
        if fault == "after":
            return self.hang_up()
        text = b"<h1>somebody else's words</h1>" if plain is None else json.dumps(plain).encode()
        return self.send(status, text, "application/json", extra)

    def send(self, status, text, kind, extra=()):
        self.send_response(status)
        for name, value in {"Content-Length": len(text), "Content-Type": kind, **dict(extra)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text)

    def hang_up(self):
        self.close_connection = True

    do_GET = do_POST = serve  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def stand_in():
    running = StandIn().start()
    yield running
    running.stop()


@pytest.fixture
def quick():
    """Retries that wait for next to nothing."""
    return Retries(attempts=4, first=0.001, longest=0.01)


@pytest.fixture
def connected(stand_in, quick):
    """`connected(queue=...)`: a remote study at the stand-in, told raw losses unless others are wished for."""
    made = []

    def connect(**options):
        settings = {"study": "spring", "key": KEY, "retries": quick, "timeout": 60.0} | options
        if "privacy" not in options:
            settings = {"raw_losses": True} | settings
        made.append(sv.connect(stand_in.url, **settings))
        return made[-1]

    yield connect
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def key():
    return KEY


@pytest.fixture(scope="session")
def static():
    """The folder of what is served as it is, and packed for npm."""
    return STATIC


@pytest.fixture
def serving():
    """`with serving(storage, port=0, **settings) as url`: the real service, in a thread."""

    return lambda storage, port=0, **settings: answering(
        create_app(Settings(storage=storage, **settings)), port, timeout_graceful_shutdown=5
    )
