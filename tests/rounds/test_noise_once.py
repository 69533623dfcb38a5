"""Of the noise that is drawn for a round, at most one draw is ever seen: what is not stored is thrown away unseen."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import StorageError
from sottovoce.rounds.round import PLACES
from sottovoce.rounds.stores import memory
from sottovoce.rounds.stores.sql.errors import Deadlock
from sottovoce.rounds.stores.sql.store import SqlStore

SIZE = 8


class Noted:
    """Simulated noise, every draw of which is noted."""

    simulated = True

    def __init__(self) -> None:
        self.draws: list[list[int]] = []
        self._source = sv.SimulatedNoise(1)

    def sampler(self, noise: Any) -> Any:
        self._sampler = self._source.sampler(noise)
        return self

    def draw(self, size: int) -> Any:
        drawn = self._sampler.draw(size)
        self.draws.append(drawn.tolist())
        return drawn


class Deciding:
    """One round of an optimizer, in memory or in a database; all lose nothing, so that what is released is noise."""

    def __init__(self, url: str | None, noise: Noted) -> None:
        made: dict[str, Any] = {
            "horizon": 3 * SIZE,
            "loss_range": (0.0, 1.0),
            "privacy": sv.PureDP(1.0),
            "noise": noise,
        }
        made |= {"noise": noise, "losses": "linear", "exploration": "posterior", "probes": 2, "least_events": SIZE // 2}
        domain = sv.domains.Simplex(3)
        self.made: Any = (
            sv.PrivateBandit(domain, **made) if url is None else sv.Study.open(url, name="once", domain=domain, **made)
        )

    def play(self) -> None:
        actions = self.made.ask_round()
        self.made.tell(actions.ids, np.zeros(len(actions)))

    def seen(self) -> list[list[int]]:
        self.made.recommend()
        rows = [one.numbers for one in self.made._store.releases(0, 0)]
        at_zero = self.made._policy.grid.steps // 4  # the square of each loss around the middle, on the grid
        return [[*sums.tolist(), *(squares - at_zero * weights).tolist()] for sums, weights, squares in rows]


class Evaluating:
    """One evaluation, likewise."""

    def __init__(self, url: str | None, noise: Noted) -> None:
        self.made = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), storage=url, name="once", noise=noise)

    def play(self) -> None:
        self.made.open(SIZE).tell(np.zeros(SIZE))

    def seen(self) -> list[list[int]]:
        return [[one.total] for one in self.made.results]


KINDS = pytest.mark.parametrize("kind", [Deciding, Evaluating])


def check(one: Any, noise: Noted) -> None:
    """One draw is seen, however often one looks."""
    seen = one.seen()
    assert len(seen) == 1
    assert seen[0] in noise.draws
    assert one.seen() == seen


@contextlib.contextmanager
def failing_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, problem: BaseException) -> Iterator[list[Any]]:
    """Let the first call of something raise, before anything is done."""
    right, failed = getattr(owner, name), list[Any]()

    def once(*given: Any, **named: Any) -> Any:
        if not failed:
            failed.append(given)
            raise problem
        return right(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, once)
        yield failed
    assert failed


@KINDS
@pytest.mark.parametrize("problem", [Deadlock("in a circle"), StorageError("full"), KeyboardInterrupt()], ids=repr)
def test_a_database_that_fails_between_the_draw_and_its_record(
    url: str, kind: Callable[..., Any], problem: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = Noted()
    one = kind(url, noise)
    with failing_once(monkeypatch, SqlStore, "_store", problem), contextlib.suppress(KeyboardInterrupt):
        one.play()
    assert noise.draws
    check(one, noise)
    one.made.close()


@KINDS
@pytest.mark.parametrize("place", [(memory, "Release"), (memory.MemoryStore, "_close")], ids=["drawn", "kept"])
def test_an_interrupt_between_the_draw_and_its_record_in_memory(
    kind: Callable[..., Any], place: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = Noted()
    one = kind(None, noise)
    with failing_once(monkeypatch, *place, KeyboardInterrupt()), contextlib.suppress(KeyboardInterrupt):
        one.play()
    assert noise.draws
    check(one, noise)


def test_what_was_drawn_for_a_round_is_not_released_for_another_that_a_restored_store_begins_in_its_place() -> None:
    """It is the same but for its incarnation: the same number, the same decisions, and the losses of others."""
    bandit = Deciding(None, Noted()).made
    bandit.ask_round()
    (opened,) = bandit._store.open_rounds()
    slots = np.zeros(opened.round.size, dtype=np.int64)
    first, again = (bandit._policy.compute(opened.round, slots) for _ in range(2))
    restored = opened.round._replace(first=opened.round.first | 1 << PLACES)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, bandit._policy.compute(restored, slots))
