"""What the tests of the service share: a service that runs in this process, on a port of its own."""

import contextlib
import socket
import sys
import threading
from pathlib import Path

import httpx2
import pytest
import uvicorn

from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name

DRINKS = ["tea", "coffee", "cocoa", "milk", "water", "juice"]


class Served:
    """A service, in a thread of this process, and a client for it."""

    def __init__(self, **settings):
        self.app = create_app(Settings(**{"dev": True, **settings}))
        self.server = uvicorn.Server(uvicorn.Config(self.app, log_level="critical", access_log=False, lifespan="on"))
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.client = httpx2.Client(base_url=self.url, timeout=60)

    def start(self):
        started, startup = threading.Event(), self.server.startup

        async def announced(sockets=None):
            await startup(sockets)
            started.set()

        self.server.startup = announced
        self.thread.start()
        assert started.wait(600), "the service did not start"
        return self

    def stop(self):
        self.client.close()
        self.server.should_exit = True
        self.thread.join(600)
        self.socket.close()
        assert not self.thread.is_alive()

    def create(self, name="spring", **changes):
        """Create a study of six drinks, of which two are chosen; rounds of a dozen events or so."""
        wish = {
            "name": name,
            "domain": "hypersimplex:6,2",
            "labels": DRINKS,
            "horizon": 10_000,
            "losses": "linear",
            "integral": True,
            "privacy": {"epsilon": 1.0},
            "choices": {"probes": 4, "least_events": 5},
        }
        answer = self.client.post("/studies", json=wish | changes)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def ask(self, name="spring", headers=None, **body):
        answer = self.client.post(f"/studies/{name}/ask", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def tell(self, name="spring", **body):
        return self.client.post(f"/studies/{name}/tell", json=body)

    def look(self, what, name="spring"):
        answer = self.client.get(f"/studies/{name}/{what}")
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def serve():
    """`serve(storage=..., **settings)` is a service that runs; it is stopped after the test."""
    with contextlib.ExitStack() as running:

        def started(**settings):
            served = Served(**settings).start()
            running.callback(served.stop)
            return served

        yield started


@pytest.fixture
def free_port():
    """Return a port of this machine that nobody has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
