"""Asking and telling, for algorithms that promise no privacy: they play through the same book as all others.

Baselines that can be written as a `Plan` are `PrivateBandit` with that plan (planned.py); private ones all are. The
others keep losses as they are, clipped to their
range, and learn from each round once at most, even if learning is cut short.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self, cast, overload

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import choice, whole
from sottovoce._losses import as_array, as_float
from sottovoce.domains import Domain
from sottovoce.errors import InvalidLoss
from sottovoce.lab.baselines.compared import Compared
from sottovoce.lab.baselines.plans import BaselinePlan
from sottovoce.learning.bandit.actions import Action, Actions, as_ids, speaking
from sottovoce.learning.bandit.outstanding import Outstanding, outstanding_of
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import Sphere
from sottovoce.privacy import NoPrivacy, PrivacyStatement, state
from sottovoce.privacy.statement import NO_NOISE
from sottovoce.rounds.book import Book
from sottovoce.rounds.lease import Lease
from sottovoce.rounds.round import MISSING, UNUSED, Draft, Draw, Release, Round
from sottovoce.rounds.stores.memory import MemoryStore

EVENTS = 4096  # of a round where nothing is learned: rounds are only there to bound the memory
_STREAM = 0x636F696E73  # of public coins, as for `PrivateBandit`
_AHEAD = 512  # directions drawn at once
COMPARISON = "a comparison for simulations; no promise is made"  # of what reads no loss


class _Clipped(NamedTuple):
    """Losses as they are, clipped to their range: the integer of a loss is the bits of its float."""

    low: float
    high: float
    middle: float

    def quantise(self, losses: Any) -> Integers:
        """Return losses, clipped; refuse those that are not finite, without showing them."""
        if not np.isfinite(losses).all():
            raise InvalidLoss(
                "a loss is not a finite number; nothing of this block was recorded. Fix it, and tell again"
            )
        bits = (np.clip(losses, self.low, self.high) + 0.0).view(np.int64)
        return np.where(bits <= UNUSED, 0, bits)  # -1e-323 is as good as 0, and no mark

    def quantiser(self) -> Callable[[Any], int]:
        """Return the same for one loss."""
        return lambda loss: int(self.quantise(np.array([as_float(loss)]))[0])

    def losses(self, slots: Integers) -> Floats:
        """Return the losses of slots."""
        return np.where(slots == MISSING, self.middle, slots.view(np.float64))


class Baseline(Compared, Book, ABC):
    """Base of the algorithms without privacy. A subclass says how a round begins, and what is learned from it.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`.
    """

    plan: BaselinePlan
    horizon: int
    _why: ClassVar[str] = NO_NOISE  # nothing is promised

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        lipschitz: float | None = None,
        seed: int | None = None,
    ) -> None:
        self._problem = Problem(domain, whole("horizon", horizon), loss_range, NoPrivacy(), lipschitz=lipschitz)
        self.domain = domain
        self.seed = None if seed is None else whole("seed", seed, least=0)
        self._coins = np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=(_STREAM,))))
        self.round = 0  # rounds that were learned from
        self.oracle_calls = 0
        super().__init__(MemoryStore(forks=True), _BaselinePolicy(self), horizon=self._problem.horizon)
        self._store.stream("")
        self._refresh()
        self._set_up()

    def _set_up(self) -> None:
        """Make the plan, and what is known before any loss."""

    @abstractmethod
    def _begin_round(self, most: int) -> tuple[Floats, Any]:
        """Return the actions of the next round, `most` of them at most, and what learning from it will need."""

    @abstractmethod
    def _learn(self, memo: Any, losses: Floats) -> None:
        """Take in the losses of a complete round, in the order of its actions, clipped to their range."""

    @property
    @abstractmethod
    def point(self) -> Floats:
        """The point that actions are taken around at present."""

    @overload
    def ask(self, size: None = None) -> Action: ...

    @overload
    def ask(self, size: int) -> Actions: ...

    def ask(self, size: int | None = None) -> Action | Actions:
        """Return the next action, or a block of `size` of them.

        Never blocks: while losses are outstanding, later rounds play the newest point there is.
        """
        if size is None:
            with self._lock: return cast(Action, self._ask_one(0))  # noqa: E701  # fmt: skip
        count = whole("size", size)
        with self._lock: handed = self._ask_block(count, 0)  # noqa: E701  # fmt: skip
        x = np.concatenate(handed.actions)
        return Actions(handed.ids, x, handed.wanted, self.domain)

    def ask_round(self, most: int | None = None) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it."""
        limit = None if most is None else whole("most", most)
        self._store.check()
        self._check_remaining(1)
        return self.ask(self._rest_of_round(0, limit))

    def tell(self, ids: Any, losses: Any, *, late: str = "error") -> None:
        """Report the loss of an action, or of a block of them: any order, any split, each id once, all or nothing.

        Losses outside the range are clipped without a word. NaN and infinity are refused, without showing them. A loss
        that comes after its action was forgotten is refused (`RoundClosed`); `late="drop"` drops it.
        """
        choice("late", late, ("error", "drop"))
        if type(ids) is int:
            self._tell_one(ids, losses, late)
            return
        given, values = as_ids(ids), as_array(losses)
        if values.shape != given.shape:
            raise ValueError(f"losses must have the shape of ids, {given.shape}")
        self._tell_block(given.ravel(), values.ravel(), late)

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range.

        What is told or forgotten already is skipped. Returns how many were closed.
        """
        return super().forget(as_ids(ids).ravel())

    def _release(self, streams: set[int]) -> None:
        super()._release(streams)
        self._catch_up()

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return the actions that were asked, and whose loss is neither told nor forgotten; the oldest `limit`."""
        most = None if limit is None else whole("limit", limit, least=0)
        return outstanding_of(self._store, None, self.asked, most)

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: nothing is promised."""
        return state(NoPrivacy(), mechanism="none", why=self._why, noise=None, simulated=False)

    def _standing(self) -> str:
        return f"asked={self.asked}"

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # open rounds are not to be shared


class _BaselinePolicy:
    """What rounds of a baseline play, and how it learns: see `Policy`."""

    def __init__(self, baseline: Baseline) -> None:
        problem = baseline._problem
        self._baseline = baseline
        self.grid = _Clipped(*problem.loss_range, problem.middle)
        self._played: dict[int, tuple[Floats, Any]] = {}  # by the numbers of rounds that are not learned from

    def kind(self, round: Round) -> type[Action]:
        """What asking one by one hands out."""
        return speaking(self._baseline.domain)

    def join(self, stream: int, name: str) -> None:
        """There is one stream."""

    def start_over(self) -> None:
        """Go on: memory is never restored."""

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round; the one that was drawn, if that was cut short."""
        if number not in self._played:
            actions, memo = self._baseline._begin_round(self._baseline._problem.horizon - position)
            actions.setflags(write=False)
            self._played[number] = actions, memo
        return Draft(len(self._played[number][0]), {})

    def draw(self, one: Round, start: int, count: int) -> Draw:
        """Return the actions of slots."""
        return Draw(self._played[one.number][0][start : start + count])

    def compute(self, one: Round, slots: Integers) -> Floats:
        """Return the losses."""
        return self.grid.losses(slots)

    def learn(self, release: Release) -> None:
        """Let the baseline learn from a round, once at most."""
        number, baseline = release.round.number, self._baseline
        if number >= baseline.round:
            assert release.numbers is not None
            memo = self._played[number][1]
            baseline.round = number + 1  # from here on it is learned from
            baseline._learn(memo, release.numbers)
        self._played.pop(number, None)

    def to_record(self, stream: int) -> dict[str, Any]:
        """Return nothing: nobody else learns."""
        return {}

    def adopt(self, stream: int, record: dict[str, Any]) -> None:
        """Take over nothing."""

    def ready(self, lease: Lease) -> Sequence[Any]:
        """Return the actions of a lease."""
        return list(lease.draw.actions)


class OnePoint(Baseline):
    """Base of the algorithms that play one event at a time, on a sphere around a point of the shrunk set.

    The direction of an event is what learning from its loss needs: (d/radius) (f - middle) u estimates a gradient.
    """

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        lipschitz: float | None = None,
        seed: int | None = None,
        radius_factor: float = 1.0,
    ) -> None:
        self._radius_factor = radius_factor
        super().__init__(domain, horizon=horizon, loss_range=loss_range, lipschitz=lipschitz, seed=seed)

    @property
    def point(self) -> Floats:
        """The centre of the sphere that is played, before it is pulled inwards."""
        return self._point

    def _explore(self, radius: float) -> None:
        self._sphere = Sphere(self.domain, radius)
        self._middle = self._problem.middle
        self._directions: Floats = np.empty((0, self.domain.dimension))
        self._place = 0
        self._point = self._inside = self.domain.center

    def _begin_round(self, most: int) -> tuple[Floats, Any]:
        if self._place == len(self._directions):
            self._directions = self._sphere.directions(self._coins, _AHEAD)
            self._place = 0
        direction = self._directions[self._place]
        self._place += 1
        return (self._inside + self._sphere.radius * direction)[None, :], direction

    def _move(self, point: Floats) -> None:
        """Take actions around a point of the set from now on, pulled inwards so that the sphere fits."""
        center = self._sphere.domain.center
        self._point = point
        self._inside = center + self._sphere.shrink * (point - center)
