"""What every way of exploring offers: actions for a round, then a gradient from the round's released sums.

A round's losses are summed into a few integers, each event with public integer weights: sum_t w_t q_t, where q_t is the
loss's integer. What follows from the released sums is linear in the losses, so the sum of the weights, which is public,
undoes any offset of the loss grid. An explorer knows nothing of privacy: it is handed sums, and does not ask whether
they carry noise.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record
from sottovoce._second_moment import squares_of
from sottovoce.models.belief import Belief
from sottovoce.models.pace import ModelSettings
from sottovoce.models.sufficient_statistics import Prior

__all__ = ["Draw", "Exploration", "Explorer", "Itemised", "Probed", "Record", "Weighted"]

_LARGEST_WEIGHT = 2**40 + 1  # of a unit vector on the finest grid


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Events whose weights are integer vectors: the rows of a matrix. How long they are, their grid has checked.

    Attributes
    ----------
    rows
        One for each event.
    """

    rows: Integers

    def __post_init__(self) -> None:
        if self.rows.dtype != np.int64 or self.rows.ndim != 2:
            raise ValueError(f"rows must be a matrix of int64, got {self.rows.dtype} {self.rows.shape}")
        if self.rows.size and not -_LARGEST_WEIGHT <= int(self.rows.min()) <= int(self.rows.max()) <= _LARGEST_WEIGHT:
            raise ValueError("rows must be directions on their grid, and hold numbers that no direction has")

    @property
    def size(self) -> int:
        """Events."""
        return len(self.rows)

    def only(self, which: NDArray[np.bool_]) -> "Weighted":
        """Return the same, of some events: the others count for nothing."""
        return Weighted(np.where(which[:, None], self.rows, 0))

    def sum(self, losses: Integers) -> Integers:
        """Sum of loss times row."""
        return np.asarray(losses @ self.rows)

    def total(self) -> Integers:
        """Sum of the rows."""
        return np.asarray(self.rows.sum(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class Probed:
    """Events that each belong to one number, with sign +1 or -1 (0: to none).

    Attributes
    ----------
    numbers
        How many numbers there are.
    index
        The number of each event.
    sign
        Its sign in that.
    squares
        The steps of the losses' grid, where there are as many numbers again: the sums of their squares. Else 0.
    """

    numbers: int
    index: Integers
    sign: Integers
    squares: int = 0

    def __post_init__(self) -> None:
        """Check what the sensitivity rests on: an event counts once, in one number."""
        index, sign = self.index, self.sign
        if index.dtype != np.int64 or sign.dtype != np.int64 or index.ndim != 1 or index.shape != sign.shape:
            raise ValueError(
                "index and sign must be int64, one of each for an event, got "
                f"{index.dtype} {index.shape} and {sign.dtype} {sign.shape}"
            )
        if not len(index):
            return
        if not 0 <= int(index.min()) <= int(index.max()) < self.numbers:
            raise ValueError(f"index must be from 0 to numbers - 1 = {self.numbers - 1}")
        if not -1 <= int(sign.min()) <= int(sign.max()) <= 1:
            raise ValueError("sign must be -1, 0 or 1: a loss may count once, and not more")

    @property
    def size(self) -> int:
        """Events."""
        return len(self.index)

    def only(self, which: NDArray[np.bool_]) -> "Probed":
        """Return the same, of some events: the others count for nothing."""
        return Probed(self.numbers, self.index, np.where(which, self.sign, 0), self.squares)

    def sum(self, losses: Integers) -> Integers:
        """Signed sum of the losses of each number; after all of these, of their squares, if they are wanted.

        Parameters
        ----------
        losses
            Integers on their grid, one for each event.
        """
        sums = self._added(losses)
        if not self.squares:
            return sums
        squares = squares_of(losses, self.squares)
        beside = self._added(self.sign * squares)
        squares[:] = 0
        return np.concatenate([sums, beside])

    def _added(self, values: Integers) -> Integers:
        sums = np.zeros(self.numbers, dtype=np.int64)
        np.add.at(sums, self.index, self.sign * values)
        return sums

    def total(self) -> Integers:
        """Sum of the signs of each number."""
        return self._added(np.ones_like(self.sign))


@dataclass(frozen=True, slots=True, eq=False)
class Itemised:
    """Events that each belong to a few numbers, one for each item of their decision.

    Attributes
    ----------
    columns
        (m, k), the numbers of each decision's items; -1 where it has fewer.
    index
        The decision of each event.
    multipliers
        Of each number.
    spread
        The multiplier of one more number, the sum of u(U - u)/U; 0 if there is none.
    steps
        U, the largest integer of a loss.
    """

    columns: Integers
    index: Integers
    multipliers: Integers
    spread: int
    steps: int

    @property
    def size(self) -> int:
        """Events."""
        return len(self.index)

    def only(self, which: NDArray[np.bool_]) -> "Itemised":
        """Return the same, of some events: the others count for nothing.

        Parameters
        ----------
        which
            Of the events.
        """
        return Itemised(self.columns, np.where(which, self.index, -1), self.multipliers, self.spread, self.steps)

    def sum(self, losses: Integers) -> Integers:
        """Sum of the losses of each item, multiplied; and of their spread.

        Parameters
        ----------
        losses
            (events, k) integers on their grid.
        """
        counted = self.index >= 0
        index, losses = self.index[counted], losses[counted]
        decisions, width = self.columns.shape
        by_decision = np.zeros((decisions, width), dtype=np.int64)
        np.add.at(by_decision.ravel(), (index[:, None] * width + np.arange(width)).ravel(), losses.ravel())
        sums = np.zeros(len(self.multipliers) + bool(self.spread), dtype=np.int64)
        there = self.columns >= 0
        np.add.at(sums, self.columns[there], by_decision[there])
        by_decision[:] = 0
        sums[: len(self.multipliers)] *= self.multipliers
        if self.spread:
            spreads = self.steps // 4 - squares_of(losses, self.steps)
            sums[-1] = self.spread * int(spreads[there[index]].sum())
            spreads[:] = 0
        losses[:] = 0  # a copy
        return sums

    def total(self) -> Integers:
        """Events that show each item, multiplied; nothing for the spread, whose numbers begin at 0."""
        shown = np.bincount(self.index[self.index >= 0], minlength=len(self.columns))
        sums = np.zeros(len(self.multipliers) + bool(self.spread), dtype=np.int64)
        there = self.columns >= 0
        np.add.at(sums, self.columns[there], np.broadcast_to(shown[:, None], self.columns.shape)[there])
        sums[: len(self.multipliers)] *= self.multipliers
        return sums


class Draw(NamedTuple):
    """Consecutive events of a round: where each acts, whether its loss is wanted, and what it is summed into."""

    actions: Any  # (size, n), or Decisions where these are many coordinates and the exploration is `compact`
    wants_loss: NDArray[np.bool_] | None  # None: all of them
    weights: "Weighted | Probed | Itemised"


class Exploration(ABC):
    """One round's exploration: public choices, made before any of its losses is seen."""

    numbers: int
    """How many integers the round's losses are summed into."""

    squares: int = 0
    """The steps of the losses' grid, where as many integers again are sums of their squares; else 0."""

    compact: bool = False
    """Whether `draw` returns actions as `Decisions`, which take next to no room."""

    stride: int = 1
    """Events that are dealt out together: draws begin at multiples of it."""

    @abstractmethod
    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events of the round: the same, whenever it is asked for the same ones with the same coins.

        Parameters
        ----------
        coins
            Public ones, for these events alone.
        start
            The place of the first in the round: a multiple of `stride`.
        size
            How many.
        """

    @abstractmethod
    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the gradient of the round's total loss from sum_t w_t f_t and sum_t w_t.

        Parameters
        ----------
        sums
            What was released: the sum of weight times loss.
        weights
            The sum of the weights.
        """

    def learn(self, belief: Any, sums: Floats, weights: Floats, squares: Floats | None = None) -> None:
        """Let what is believed know of the released sums, where decisions are drawn from that.

        Parameters
        ----------
        belief
            What is believed: of the explorer's set, or of a later one, which knows all names that this one has.
        sums
            What was released.
        weights
            The sum of the weights.
        squares
            The sums of (x - middle)^2/B over losses x, where they were released, too.
        """
        raise TypeError(f"{type(self).__name__} believes nothing: use `estimate`")

    @abstractmethod
    def record(self) -> Record:
        """Return what the round has chosen, for `Explorer.resume`."""

    # What is stored of a round is compared with what the round can have drawn; an exploration that does not say what
    # that is finds everything possible.

    def is_possible(self) -> bool:
        """Whether the round's own choices can be these."""
        return True

    def can_begin(self, passed: int, size: int) -> bool:
        """Whether a round of `size` events that begins after `passed` others can have the choices that it has."""
        return True

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers] | None:
        """How many losses each number can hold at most with a minus, and with a plus; None if it is no such sum.

        Parameters
        ----------
        weights
            The sum of the weights.
        size
            Events of the round.
        """
        return None


class Explorer(ABC):
    """How a run explores, in the coordinates of the set it works on."""

    belief: Belief | None = None
    """What is believed of losses, if decisions are drawn from that."""

    ask_others: Callable[[], tuple[Prior, ModelSettings]] | None = None
    """Of one segment of several: returns what others say of it, and what holds for it among them."""

    def fresh_copy(self) -> "Explorer":
        """Return the same for another segment, knowing nothing."""
        raise TypeError(f"{type(self).__name__} knows no segments")

    def gradient(self, sums: Floats, weights: Floats) -> Floats:
        """Return the gradient from sums over several rounds, where that is linear, and the same for all rounds.

        Parameters
        ----------
        sums
            Of weight times loss.
        weights
            Of the weights.
        """
        raise TypeError(f"{type(self).__name__} has rounds that cannot be added up")

    def prepare(self) -> None:
        """See to what has to be known before a round begins: let other segments say what they know."""
        if self.ask_others is not None and self.belief is not None:
            self.belief.use_prior(*self.ask_others())

    @abstractmethod
    def round_size(self, passed: int) -> int:
        """How many events the round has that begins after `passed` events."""

    @abstractmethod
    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> Exploration:
        """Begin a round of `size` events around a point, after `passed` events.

        Parameters
        ----------
        point
            Of the working set.
        passed
            Events before the round.
        size
            Events of the round.
        coins
            Public ones.
        """

    @abstractmethod
    def resume(self, point: Floats, record: Record) -> Exploration:
        """Return the round around a point that `record` was taken of.

        Parameters
        ----------
        point
            Of the working set.
        record
            What `Exploration.record` returned.
        """

    def follow(self, earlier: "Explorer", events: int) -> None:  # noqa: B027
        """Begin with what was learned in an epoch of `events` events before this one; nothing, unless overridden.

        Parameters
        ----------
        earlier
            The explorer of the epoch before.
        events
            Of that epoch.
        """

    @property
    def learns(self) -> Any:
        """What learns from released values, and can be asked for its `memory` and `knowledge`; None if nothing does."""
        return self.belief

    def memory(self) -> Record:
        """Return what was learned from released values."""
        return {} if self.learns is None else self.learns.memory()

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        if self.learns is not None:
            self.learns.remember(memory)

    def knowledge(self) -> Any:
        """Return what was learned, as one value that nothing changes later: `go_back` undoes what was learned since."""
        return None if self.learns is None else self.learns.knowledge()

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        if self.learns is not None:
            self.learns.go_back(knowledge)

    def is_as_good(self, point: Floats) -> bool:
        """Whether nothing but rounding makes the point that follows from what it knows another one than this.

        Parameters
        ----------
        point
            Of the working set.
        """
        return False
