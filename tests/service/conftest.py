"""What the tests of the service share: a service that runs in this process, on a port of its own."""

import contextlib
import sys
from pathlib import Path

import httpx2
import pytest

from in_thread import answering
from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name

DRINKS = ["tea", "coffee", "cocoa", "milk", "water", "juice"]


class Served:
    """A service, in a thread of this process, and a client for it."""

    def __init__(self, **settings):
        self.app = create_app(Settings(**{"dev": True, **settings}))
        self._running = contextlib.ExitStack()

    def start(self):
        self.url = self._running.enter_context(answering(self.app))
        self.client = self._running.enter_context(httpx2.Client(base_url=self.url, timeout=600))
        return self

    def stop(self):
        self._running.close()

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
def served(serve, sqlite_url):
    """Return a service with an empty storage."""
    return serve(storage=sqlite_url)
