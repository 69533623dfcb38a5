"""The service's own store, whose calls are cut short at any line: nothing is held, it goes on, no key is half there."""

import itertools
import sys
from pathlib import Path

import pytest

from sampling import sampled

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))  # tests cannot import one another
from cutting import FileTrial
from onlooker import Onlooker

import sottovoce as sv
from sottovoce.service.keys import KeyStore
from sottovoce.service.store import ServiceStore
from sottovoce.service.study_workers.requests import Request, Requests

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # what is cut while it is collected
]
ROOT = Path(sv.__file__).parent
NEAR = [ROOT / "service", ROOT / "rounds" / "stores"]


class StorePlayer:
    """Makes and revokes keys, keeps answers, and remembers which."""

    def __init__(self, url):
        self.storage, self.numbers = url, itertools.count()
        self.living, self.others = set(), []
        self.revive()
        path = self.store._writer.path
        self.url, self.files = (url if path is None else f"sqlite:///{path}"), ()

    def revive(self):
        self.store = ServiceStore(self.storage)
        self.ring, self.requests = KeyStore(self.store), Requests(self.store)

    def close(self):
        self.ring.close()
        for one in self.others:
            one.close()

    def calls(self):
        """Return, by name, what prepares a call and returns it."""
        return {
            "create a key": lambda: self._create,
            "list keys": lambda: lambda: self.ring.list(),
            "revoke a key": self._revoking,
            "keep answers": self._keeping,
            "find an answer": self._finding,
            "open": lambda: lambda: self.others.append(ServiceStore(self.storage)),
        }

    def go_on(self):
        """Use all that there is: keys that were made live, and are refused once they are revoked."""
        self._revoking()()
        self._finding()()
        found = {key.id: key for key in self.ring.list()}
        assert all(found[one].revoked is None for one in self.living), "a key was lost"
        while self.others:
            self.others.pop().close()

    def _create(self):
        key, _ = self.ring.create(["ask"], note=str(next(self.numbers)))
        self.living.add(key.id)
        return key

    def _revoking(self):
        key = self._create()
        self.living.discard(key.id)

        def call():
            assert self.ring.revoke(key.id).revoked is not None

        return call

    def _request(self):
        return Request.of("spring", "someone", str(next(self.numbers)), "one")

    def _keeping(self):
        some = [(self._request(), b"answer") for _ in range(3)]
        return lambda: self.requests.keep_each(some)

    def _finding(self):
        one = self._request()
        assert self.requests.keep_each([(one, b"answer")]) == [None]

        def call():
            assert self.requests.find_each([one])[0].body == b"answer"

        return call


KINDS = list(StorePlayer.calls(object.__new__(StorePlayer)))


@pytest.fixture(scope="module")
def onlooker():
    with Onlooker() as one:
        yield one


@pytest.mark.parametrize("kind", sampled(KINDS, 3))
def test_an_interrupt_at_any_line_leaves_nothing_held(kind, url, onlooker, monkeypatch):
    monkeypatch.setattr("sottovoce.service.keys._FRESH", 0.0)  # hundreds are revoked, and no worker has read them
    player = StorePlayer(url)
    FileTrial(player, onlooker, NEAR).cut_everywhere(kind)
    player.close()
