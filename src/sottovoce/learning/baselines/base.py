"""Asking and telling, for algorithms that promise no privacy.

Baselines that can be written as a `Plan` are `PrivateBandit` with that plan (planned.py); private ones all are: one
keeper of private losses is enough. (What sees gradients, agarwal_singh_full.py, has none to keep.)
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self, overload

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._checks import choice, whole
from sottovoce._losses import as_array, as_float
from sottovoce.domains import Ball, Domain, Hypersimplex, Simplex
from sottovoce.errors import HorizonReached
from sottovoce.exploration import Sphere
from sottovoce.learning.bandit.actions import Action, Actions, speaking
from sottovoce.learning.bandit.open_losses import FORGOTTEN, TOLD
from sottovoce.learning.bandit.open_rounds import Filling, OpenRounds, as_ids
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.baselines._rounds import BaselineRound, Clipping
from sottovoce.learning.baselines.plans import BaselinePlan
from sottovoce.learning.planning.checking import check_costs
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import NoPrivacy, PrivacyStatement, state
from sottovoce.privacy.statement import NO_NOISE

__all__ = ["COMPARISON", "EVENTS", "Baseline", "OnePoint"]

EVENTS = 4096  # of a round where nothing is learned: rounds are only there to bound the memory
_STREAM = 0x636F696E73  # of public coins, as for `PrivateBandit`
_AHEAD = 512  # directions drawn at once
COMPARISON = "a comparison for simulations; no promise is made"  # of what reads no loss
_WANTED = np.ones(1, dtype=bool)
_WANTED.setflags(write=False)


class Baseline(ABC):
    """Base of the algorithms without privacy. A subclass says how a round begins, and what is learned from it.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`.
    """

    name: ClassVar[str]
    private: ClassVar[bool] = False
    linear_only: ClassVar[bool] = False
    full_information: ClassVar[bool] = False
    plan: BaselinePlan
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
        check_costs(self._problem, f"the baseline {self.name}", [])
        self.domain = domain
        self.horizon = self._problem.horizon
        self.seed = None if seed is None else whole("seed", seed, least=0)
        self._coins = np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=(_STREAM,))))
        self._clipping = Clipping(*self._problem.loss_range, self._problem.middle)
        self._rounds: OpenRounds[BaselineRound, BaselineRound] = OpenRounds()  # begun, and not learned from
        self._newest: BaselineRound | None = None  # that was drawn
        self._asked = 0
        self.round = 0  # rounds that were learned from
        self._settled = True  # or else a call was cut short, and the next one finishes it
        self.oracle_calls = 0

    @abstractmethod
    def _begin(self, most: int) -> tuple[Floats, Any]:
        """Return the actions of the next round, `most` of them at most, and what learning from it will need."""

    @abstractmethod
    def _learn(self, memo: Any, losses: Floats) -> None:
        """Take in the losses of a complete round, in the order of its actions, clipped to their range."""

    @property
    @abstractmethod
    def point(self) -> Floats:
        """The point that actions are taken around at present."""

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few fresh instances with fixed seeds, on which the shared tests of all baselines run."""
        domains = (Ball(3), Simplex(4), Hypersimplex(6, 2))
        return [cls(domain, horizon=60, loss_range=(0.0, 1.0), seed=1) for domain in domains]

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, size: None = None) -> Action: ...

    @overload
    def ask(self, size: int) -> Actions: ...

    def ask(self, size: int | None = None) -> Action | Actions:
        """Return the next action, or a block of `size` of them.

        Never blocks: while losses are outstanding, later rounds play the newest point there is.
        """
        if size is not None:
            return self._take(whole("size", size))
        one = self._take(1)
        return speaking(self.domain)(int(one.ids[0]), one.x[0])

    def ask_round(self, most: int | None = None) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it."""
        limit = self.horizon if most is None else whole("most", most)
        self._check_remaining(1)
        (current,) = self._blocks_from(self._asked, self._asked + 1)
        return self._take(min(limit, current.end - self._asked))

    def _take(self, size: int) -> Actions:
        """Hand out the next actions: all of them, by one assignment after everything that can fail."""
        self._check_remaining(size)
        start, end = self._asked, self._asked + size
        pieces = [
            begun.actions[max(0, start - begun.first) : end - begun.first] for begun in self._blocks_from(start, end)
        ]
        x = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        actions = Actions(np.arange(start, end), x, _WANTED if size == 1 else np.ones(size, dtype=bool), self.domain)
        self._asked = end
        return actions

    def _blocks_from(self, start: int, end: int) -> list[BaselineRound]:
        """Return the rounds that hold the ids from `start` to before `end`, begun if need be."""
        if not self._settled:
            self._settle()
        while (opened := self._rounds.end) < end:
            drawn = self._newest
            if drawn is None or drawn.first < opened:  # else it was drawn by a call that was cut short
                number = 0 if drawn is None else drawn.number + 1
                drawn = BaselineRound(number, opened, *self._begin(self.horizon - opened), self._clipping)
                self._newest = drawn
            self._rounds.append(drawn)
        return self._rounds.blocks_from(start, end)

    def _check_remaining(self, size: int) -> None:
        if size > self.horizon - self._asked:
            raise HorizonReached(
                f"size={size} actions were asked for, and {self.remaining} of horizon={self.horizon} are left; "
                "make a new one with a longer horizon"
            )

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any, *, late: str = "error") -> None:
        """Report the loss of an action, or of a block of them: any order, any split, each id once, all or nothing.

        Losses outside the range are clipped without a word. NaN and infinity are refused, without showing them. A loss
        that comes after its action was forgotten is refused (`RoundClosed`); `late="drop"` drops it.
        """
        if late != "error":
            choice("late", late, ("error", "drop"))
        if not self._settled:
            self._settle()
        if type(ids) is int:
            located = self._rounds.locate_one(ids, asked=self._asked, late=late)
            if located is not None:
                begun, slot = located
                self._fill([(begun, np.array([slot]), self._clipping.quantise_one(as_float(losses)))], TOLD)
            return
        self._fill(self._rounds.losses(as_ids(ids), as_array(losses), asked=self._asked, late=late), TOLD)

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range.

        What is told or forgotten already is skipped. Returns how many were closed.
        """
        if not self._settled:
            self._settle()
        fillings = self._rounds.waiting(as_ids(ids).ravel(), asked=self._asked)
        self._fill(fillings, FORGOTTEN)
        return sum(len(slots) for _, slots, _ in fillings)

    def _fill(self, fillings: list[Filling[BaselineRound]], state: int) -> None:
        self._settled = False
        self._rounds.fill(fillings, state)
        self._learn_from_complete()

    def _learn_from_complete(self) -> None:
        """Learn from complete rounds, in order: from each once at most, even if learning is cut short."""
        self._rounds.drop_finished(self._asked)
        while (complete := self._rounds.complete(self._asked)) is not None:
            self.round, lesson = complete.number, (complete.memo, complete.losses)
            self._rounds.close(complete)
            self._learn(*lesson)
            self.round = complete.number + 1
        self._settled = True

    def _settle(self) -> None:
        """Finish what an exception has cut short."""
        self._rounds.settle(self._asked)
        self._learn_from_complete()

    # ------------------------------------------------------------------ looking

    @property
    def remaining(self) -> int:
        """Events that are left to ask."""
        return self.horizon - self._asked

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return the actions that were asked, and whose loss is neither told nor forgotten; the oldest `limit`."""
        if not self._settled:
            self._settle()
        return self._rounds.outstanding(self._asked, None, None if limit is None else whole("limit", limit, least=0))

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: nothing is promised."""
        return state(NoPrivacy(), mechanism="none", why=self._why, noise=None, simulated=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, horizon={self.horizon}, asked={self._asked})"

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # open rounds are not to be shared


class OnePoint(Baseline):
    """Base of the algorithms that play one event at a time, on a sphere around a point of the shrunk set.

    The direction of an event is what learning from its loss needs: (d/radius) (f - middle) u estimates a gradient.
    """

    def _explore(self, radius: float) -> None:
        self._sphere = Sphere(self.domain, radius)
        self._middle = self._problem.middle
        self._directions: Floats = np.empty((0, self.domain.dimension))
        self._next = 0
        self._inside: Floats = self.domain.center

    def _begin(self, most: int) -> tuple[Floats, Any]:
        if self._next == len(self._directions):
            self._directions = self._sphere.directions(self._coins, _AHEAD)
            self._next = 0
        direction = self._directions[self._next]
        self._next += 1
        return (self._inside + self._sphere.radius * direction)[None, :], direction

    def _move(self, point: Floats) -> None:
        """Take actions around a point of the set from now on, pulled inwards so that the sphere fits."""
        center = self._sphere.domain.center
        self._inside = center + self._sphere.shrink * (point - center)
