"""A dashboard without the rest of the service: studies that are opened here, keys in a file, a server in a thread."""

import asyncio
import contextlib
from collections import Counter

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import sottovoce as sv
from in_thread import answering
from sottovoce.errors import StudyNotFound
from sottovoce.service.dashboard import dashboard_routes
from sottovoce.service.keys import KeyStore
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from sottovoce.studies import Study, list_studies

DRINKS = ("tea", "coffee", "cocoa", "milk", "juice", "water", "mate", "lassi")
COSTS = np.linspace(0.05, 0.4, 8)


class DirectContext:
    """What a service would hand to its dashboard."""

    def __init__(self, url, *, dev=False, audits=None, refresh=0.2):
        self.url, self.refresh, self.settings = url, refresh, Settings(url, dev=dev, audits=audits)
        self.studies, self.looks = {}, Counter()
        self.gate, self.ring = self, KeyStore(ServiceStore(url))
        self.calls = Counter()

    async def look(self, name, function):
        if name not in self.studies:
            raise StudyNotFound(f"name={name!r}: no such study", "look it up")
        self.looks[getattr(function, "__name__", "several")] += 1
        return await asyncio.to_thread(function, self.studies[name])

    async def entries(self):
        return await asyncio.to_thread(list_studies, self.url)

    def counted(self, request, key):
        self.calls[key.id] += 1

    def openapi(self):
        return DOCUMENT

    def add(self, name, **options):
        """Open a study, and keep it until the end."""
        made = {
            "domain": sv.domains.Hypersimplex(DRINKS, k=3),
            "horizon": 20_000,
            "loss_range": (0.0, 1.0),
            "privacy": sv.PureDP(1.0),
            "losses": "linear",
            "seed": 1,
        }
        self.studies[name] = Study.open(self.url, name=name, **made | options)
        return self.studies[name]

    def close(self):
        for study in self.studies.values():
            study.close()
        self.ring.close()


def play(study, rounds, costs=None, seed=1):
    """Play rounds to their end, with people whose losses are 0 or 1."""
    coins = np.random.default_rng(seed)
    for _ in range(rounds):
        actions = study.ask_round()
        means = actions.x @ (np.linspace(0.05, 0.4, actions.x.shape[1]) if costs is None else costs)
        study.tell(actions.ids, (coins.random(len(actions)) < np.clip(means, 0, 1)).astype(float))


DOCUMENT = {
    "info": {"title": "sottovoce", "description": "Private decisions <over> HTTP."},
    "components": {
        "schemas": {"Size": {"type": "object", "properties": {"size": {"type": "integer", "description": "How many."}}}}
    },
    "paths": {
        "/studies/{name}/ask": {
            "post": {
                "summary": "Ask for an action.",
                "security": [{"key": []}],
                "parameters": [{"name": "name", "in": "path", "description": "Of the study."}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Size"}}}},
                "responses": {
                    "200": {
                        "description": "Done.",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["id", "x"],
                                    "properties": {
                                        "id": {"type": "string"},
                                        "x": {
                                            "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]
                                        },
                                    },
                                }
                            }
                        },
                    },
                    "404": {"description": "study-not-found: There is no such study"},
                },
            }
        },
        "/health": {"get": {"summary": "Say that it is there.", "responses": {"200": {"description": "Done."}}}},
    },
}


@pytest.fixture(scope="module")
def make_context(tmp_path_factory):
    """`make_context()` is a context with an empty storage."""
    with contextlib.ExitStack() as stack:

        def make(url=None, **options):
            if url is None:
                url = f"sqlite:///{tmp_path_factory.mktemp('studies') / 'studies.db'}"
                Study.open(url, name="to make the file", domain=sv.domains.Simplex(2), horizon=10, loss_range=(0, 1),
                           privacy=sv.PureDP(1.0)).close()  # fmt: skip
            context = DirectContext(url, **options)
            stack.callback(context.close)
            return context

        yield make


@pytest.fixture
def context(make_context):
    return make_context()


@pytest.fixture(scope="module")
def player():
    return play


@pytest.fixture(scope="module")
def app_of():
    return lambda context: Starlette(routes=dashboard_routes(context))


@pytest.fixture
def client_of(app_of):
    """`client_of(context)` is a browser without a window, on this machine."""
    return lambda context, base="http://127.0.0.1:8000": TestClient(
        app_of(context), base_url=base, follow_redirects=False
    )


@pytest.fixture
def logged_in(client_of):
    """`logged_in(context, ["read"])` has a login."""

    def log_in(context, roles=("read",), study=None):
        client = client_of(context)
        _, text = context.ring.create(list(roles), study)
        answer = client.post("/login", data={"key": text, "next": "/"}, headers=OWN)
        assert answer.status_code == 303, answer.text
        return client

    return log_in


OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def own():
    """Headers of a form that our own page sends."""
    return dict(OWN)


@pytest.fixture(scope="module")
def serve(app_of):
    """`serve(context)` is the address of a server that runs in a thread, until the tests of a file are over."""
    with contextlib.ExitStack() as stack:
        yield lambda context: stack.enter_context(answering(app_of(context), lifespan="off"))
