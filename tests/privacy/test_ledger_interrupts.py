"""A ledger whose calls are cut short at any line: no lock is held, the same ledger goes on, no charge is half there."""

import contextlib
import itertools
import sys
from pathlib import Path

import pytest

from sampling import sampled

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))  # tests cannot import one another
from cutting import FileTrial
from onlooker import Onlooker

import sottovoce as sv
from sottovoce.errors import LedgerExceeded

pytestmark = pytest.mark.timeout(3600)
BUDGET, SMALL = sv.PureDP(epsilon=1.0), sv.PureDP(epsilon=2.0**-20)
NEAR = [Path(sv.__file__).parent / "privacy"]


class LedgerPlayer:
    """Charges, and keeps books: what is on record, and what may be."""

    def __init__(self, path):
        self.path, self.names = path, map(str, itertools.count())
        self.url = f"sqlite:///{path or '/nowhere'}"
        self.files = ()
        self.others = []  # kept: Python drops what is raised while something is collected
        self.revive()

    def revive(self):
        self.ledger = sv.Ledger(BUDGET, self.path)

    def calls(self):
        """Return, by name, what prepares a call and returns it."""
        return {
            "charge": lambda: self._call("charge", next(self.names), SMALL, token="a"),
            "charge again": lambda: self._charged("charge", SMALL),
            "charge too much": lambda: self._refused(next(self.names)),
            "carry on": lambda: self._charged("carry_on", SMALL, "a", "b", token="a"),
            "carry on as another life": lambda: self._charged("carry_on", SMALL, "other", "b", token="a"),
            "is held by": lambda: self._charged("is_held_by", "a", token="a"),
            "spent": lambda: lambda: self.ledger.spent,
            "open": lambda: lambda: self.others.append(sv.Ledger(BUDGET, self.path)),
        }

    def go_on(self):
        """Charge, and compare: each charge is there once and in full."""
        name = next(self.names)
        before = self.ledger.entries
        assert self.ledger.charge(name, SMALL)
        assert self.ledger.spent == SMALL.epsilon * (len(before) + 1)
        assert len({one.name for one in before}) == len(before)

    def _call(self, method, *arguments, **options):
        return lambda: getattr(self.ledger, method)(*arguments, **options)

    def _charged(self, method, *arguments, token=None):
        name = next(self.names)
        self.ledger.charge(name, SMALL, token=token)
        return self._call(method, name, *arguments)

    def _refused(self, name):
        def call():
            with contextlib.suppress(LedgerExceeded):
                self.ledger.charge(name, sv.PureDP(epsilon=1.5))

        return call


@pytest.fixture(scope="module")
def onlooker():
    with Onlooker() as one:
        yield one


@pytest.mark.parametrize("place", ["file", "memory"])
@pytest.mark.parametrize("kind", sampled(LedgerPlayer(None).calls(), 4))
def test_an_interrupt_at_any_line_leaves_no_lock_held(kind, place, tmp_path, onlooker):
    FileTrial(LedgerPlayer(tmp_path / "ledger.db" if place == "file" else None), onlooker, NEAR).cut_everywhere(kind)
