"""Asking and telling, for algorithms that promise no privacy.

Baselines that can be written as a `Plan` are `PrivateBandit` with that plan (planned.py); private ones all are: one
keeper of private losses is enough.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self, overload

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce._losses import as_float, as_floats
from sottovoce.domains import Ball, Domain, Hypersimplex, Simplex
from sottovoce.errors import HorizonReached, UnknownAction
from sottovoce.exploration import Sphere
from sottovoce.learning.bandit.open_rounds import as_ids
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.rounds import Action, Actions
from sottovoce.learning.baselines.pending import Pending, Round
from sottovoce.learning.baselines.plans import BaselinePlan
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
        self.domain = domain
        self.horizon = self._problem.horizon
        self.seed = None if seed is None else whole("seed", seed, least=0)
        self._coins = np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=(_STREAM,))))
        self._pending = Pending(*self._problem.loss_range)
        self._current: Round | None = None  # the newest, if some of it is not asked yet
        self._asked = self._opened = 0
        self.round = 0
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
        return Action(int(one.ids[0]), one.x[0])

    def ask_round(self, most: int | None = None) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it."""
        limit = self.horizon if most is None else whole("most", most)
        current = self._current
        if current is None:
            self._check_remaining(1)
            current = self._open()
        return self._take(min(limit, current.size - current.asked))

    def _take(self, size: int) -> Actions:
        self._check_remaining(size)
        ids = np.arange(self._asked, self._asked + size)
        pieces = []
        while size:
            current = self._current or self._open()
            count = min(size, current.size - current.asked)
            pieces.append(current.actions[current.asked : current.asked + count])
            current.asked += count
            self._asked += count
            size -= count
            if current.asked == current.size:
                self._current = None
        x = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        return Actions(ids, x, _WANTED if len(ids) == 1 else np.ones(len(ids), dtype=bool))

    def _open(self) -> Round:
        actions, memo = self._begin(self.horizon - self._opened)
        current = self._current = Round(self._opened, actions, memo)
        self._opened += current.size
        self._pending.append(current)
        return current

    def _check_remaining(self, size: int) -> None:
        if size > self.horizon - self._asked:
            raise HorizonReached(
                f"size={size} actions were asked for, and {self.remaining} of horizon={self.horizon} are left; "
                "make a new one with a longer horizon"
            )

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any) -> None:
        """Report the loss of an action, or of a block of them: any order, any split, each id once, all or nothing.

        Losses outside the range are clipped without a word. NaN and infinity are refused, without showing them.
        """
        if type(ids) is int:
            if not 0 <= ids < self._asked:  # before numpy sees it: an int may be larger than it can hold
                raise UnknownAction(f"id {ids} was never handed out; nothing was changed")
            self._fill(np.array([ids]), np.array([as_float(losses)]))
            return
        told, values = as_ids(ids), as_floats(losses)
        if values.shape != told.shape:
            raise ValueError(f"losses must have the shape of ids, {told.shape}, got {values.shape}")
        self._fill(told.ravel(), values.ravel())

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range.

        What is told or forgotten already is skipped. Returns how many were closed.
        """
        waiting = self._pending.waiting(as_ids(ids).ravel(), asked=self._asked)
        self._fill(waiting, np.full(len(waiting), self._problem.middle))
        return len(waiting)

    def _fill(self, ids: Integers, losses: Floats) -> None:
        self._pending.fill(ids, losses, asked=self._asked)
        while (complete := self._pending.pop_complete()) is not None:
            self._learn(complete.memo, complete.losses)
            self.round += 1

    # ------------------------------------------------------------------ looking

    @property
    def remaining(self) -> int:
        """Events that are left to ask."""
        return self.horizon - self._asked

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return the actions that were asked, and whose loss is neither told nor forgotten; the oldest `limit`."""
        limit = None if limit is None else whole("limit", limit, least=0)
        return self._pending.outstanding(asked=self._asked, closed=self.round, limit=limit)

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
