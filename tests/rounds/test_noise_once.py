"""Of the noise that is drawn for a round, at most one draw is ever seen: what is not stored is thrown away unseen."""

import contextlib

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.errors import StorageError
from sottovoce.rounds.round import PLACES
from sottovoce.rounds.stores import memory
from sottovoce.rounds.stores.sql.errors import Deadlock
from sottovoce.rounds.stores.sql.store import SqlStore

SIZE = 8


class Noted:
    """Simulated noise, every draw of which is noted."""

    simulated = True

    def __init__(self):
        self.draws = []
        self._source = sv.SimulatedNoise(1)

    def sampler(self, noise):
        self._sampler = self._source.sampler(noise)
        return self

    def draw(self, size):
        drawn = self._sampler.draw(size)
        self.draws.append(drawn.tolist())
        return drawn


class Deciding:
    """One round of an optimizer, in memory or in a database; all lose nothing, so that what is released is noise."""

    def __init__(self, url, noise, name):
        made = {"horizon": 3 * SIZE, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "noise": noise}
        made |= {"losses": "linear", "exploration": "posterior", "probes": 2, "least_events": SIZE // 2}
        made |= {"domain": sv.domains.Simplex(3)}
        self.made = sv.PrivateBandit(**made) if url is None else sv.Study.open(url, name=name, **made)

    def play(self):
        actions = self.made.ask_round()
        self.made.tell(actions.ids, np.zeros(len(actions)))

    def seen(self):
        self.made.recommend()
        rows = [one.numbers for one in self.made._store.releases(0, 0)]
        at_zero = self.made._policy.grid.steps // 4  # the square of each loss around the middle, on the grid
        return [[*sums.tolist(), *(squares - at_zero * weights).tolist()] for sums, weights, squares in rows]


class Evaluating:
    """One evaluation, likewise."""

    def __init__(self, url, noise, name):
        self.made = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), storage=url, name=name, noise=noise)

    def play(self):
        self.made.open(SIZE).tell(np.zeros(SIZE))

    def seen(self):
        return [[one.total] for one in self.made.results]


def check_one_draw_is_seen(kind, url, owner, name, problem):
    """Let the first call of something raise, before anything is done: one draw is seen, however often one looks."""
    noise, right, failed = Noted(), getattr(owner, name), []
    one = kind(url, noise, f"{problem!r}")

    def once(*given, **named):
        if not failed:
            failed.append(given)
            raise problem
        return right(*given, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, once)
        with contextlib.suppress(KeyboardInterrupt):
            one.play()
    assert failed
    assert noise.draws
    seen = one.seen()
    assert len(seen) == 1
    assert seen[0] in noise.draws
    assert one.seen() == seen
    if url is not None:
        one.made.close()


@pytest.mark.parametrize("kind", [Deciding, Evaluating])
@every("problem", [Deadlock("in a circle"), StorageError("full"), KeyboardInterrupt()])
def test_a_database_that_fails_between_the_draw_and_its_record(url, kind, problem):
    check_one_draw_is_seen(kind, url, SqlStore, "_store", problem)


@every("kind", [Deciding, Evaluating])
@every(("owner", "name"), [(memory, "Release"), (memory.MemoryStore, "_close")])  # drawn, and kept
def test_an_interrupt_between_the_draw_and_its_record_in_memory(kind, owner, name):
    check_one_draw_is_seen(kind, None, owner, name, KeyboardInterrupt())


def test_what_was_drawn_for_a_round_is_not_released_for_another_that_a_restored_store_begins_in_its_place():
    """It is the same but for its incarnation: the same number, the same decisions, and the losses of others."""
    bandit = Deciding(None, Noted(), None).made
    bandit.ask_round()
    (opened,) = bandit._store.open_rounds()
    slots = np.zeros(opened.round.size, dtype=np.int64)
    first, again = (bandit._policy.compute(opened.round, slots) for _ in range(2))
    restored = opened.round._replace(first=opened.round.first | 1 << PLACES)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, bandit._policy.compute(restored, slots))
