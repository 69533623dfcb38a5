"""A service with studies that are played here, as a browser sees it."""

import contextlib
import warnings
from urllib.parse import quote

import numpy as np

import sottovoce as sv
from in_thread import answering
from sottovoce.service.app import create_app
from sottovoce.service.keys import KeyStore
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

DRINKS = ("tea", "coffee", "cocoa", "milk", "juice", "water", "mate", "lassi")


class Site:
    """A storage, its keys, its studies, and the service before it."""

    def __init__(self, folder, **settings):
        self.url, self.studies, self._open = f"sqlite:///{folder}/studies.db", {}, contextlib.ExitStack()
        self.app = create_app(Settings(self.url, **settings))
        self.ring = KeyStore(ServiceStore(self.url))
        self._open.callback(self.ring.close)
        self._portal = None

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
        self.studies[name] = self._open.enter_context(sv.Study.open(self.url, name=name, **made | options))
        return self.studies[name]

    def serve(self):
        """Serve it at a port of this machine; return the address."""
        return self._open.enter_context(answering(self.app))

    def client(self, base="http://127.0.0.1:8000"):
        """Return a browser without a window, on this machine; all of them call one application."""
        client = TestClient(self.app, base_url=base, follow_redirects=False)
        if self._portal is None:
            self._portal = self._open.enter_context(client).portal
        client.portal = self._portal
        return client

    def reader(self, *roles, study=None):
        """Return a client that has a key of its own, as the password of anybody."""
        client = self.client()
        client.auth = ("anybody", self.ring.create(roles or ["read"], study)[1])
        return client

    def close(self):
        self._open.close()


def play(study, rounds, costs=None, seed=1):
    """Play rounds to their end, with people whose losses are 0 or 1."""
    coins = np.random.default_rng(seed)
    for _ in range(rounds):
        actions = study.ask_round()
        means = actions.x @ (np.linspace(0.05, 0.4, actions.x.shape[1]) if costs is None else costs)
        study.tell(actions.ids, (coins.random(len(actions)) < np.clip(means, 0, 1)).astype(float))


def address(name):
    return "/dashboard/studies/" + quote(name, safe="")
