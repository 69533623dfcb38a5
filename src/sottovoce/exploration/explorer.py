"""What every way of exploring offers: actions for a round, and a gradient from the round's released sums.

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

__all__ = ["Draw", "Exploration", "Explorer", "Probed", "Record", "Weighted"]

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
    """

    numbers: int
    index: Integers
    sign: Integers

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

    def sum(self, losses: Integers) -> Integers:
        """Signed sum of the losses of each number.

        Parameters
        ----------
        losses
            Integers on their grid, one for each event.
        """
        sums = np.zeros(self.numbers, dtype=np.int64)
        np.add.at(sums, self.index, self.sign * losses)
        return sums

    def total(self) -> Integers:
        """Sum of the signs of each number."""
        sums = np.zeros(self.numbers, dtype=np.int64)
        np.add.at(sums, self.index, self.sign)
        return sums


class Draw(NamedTuple):
    """Consecutive events of a round: where each acts, whether its loss is wanted, and what it is summed into."""

    actions: Any  # (size, n), or Decisions where these are many coordinates and the exploration is `compact`
    wants_loss: NDArray[np.bool_] | None  # None: all of them
    weights: Weighted | Probed


class Exploration(ABC):
    """One round's exploration: public choices, made before any of its losses is seen."""

    numbers: int
    """How many integers the round's losses are summed into."""

    compact: bool = False
    """Whether `draw` returns actions as `Decisions`, which take next to no room."""

    progress: Any = None
    """What was drawn so far, as far as it matters to what comes next. `draw` replaces it, last of all; whoever puts an
    earlier one back takes back the draws since."""

    @abstractmethod
    def draw(self, coins: np.random.Generator, size: int) -> Draw:
        """Return the next `size` events of the round.

        Parameters
        ----------
        coins
            Public ones.
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

    @abstractmethod
    def record(self) -> Record:
        """Return what the round has drawn so far, for `Explorer.resume`."""

    def actions_of(self, weights: "Weighted | Probed") -> Any:
        """Return where events act that are summed into these numbers, as `draw` does; None if that does not say it.

        Parameters
        ----------
        weights
            How events are summed into the round's numbers.
        """
        return None

    # What is stored of a round is compared with what the round can have drawn; an exploration that does not say what
    # that is finds everything possible.

    def is_possible(self) -> bool:
        """Whether the round's own choices can be these."""
        return True

    def can_begin(self, passed: int, size: int) -> bool:
        """Whether a round of `size` events that begins after `passed` others can have the choices that it has."""
        return True

    def can_go_on(self, opened: int) -> bool:
        """Whether what it has kept to go on with can be this, after `opened` events."""
        return True

    def can_draw(self, draw: Draw, first: int) -> bool:
        """Whether events from place `first` of the round on can be these.

        Parameters
        ----------
        draw
            What was drawn, as far as is claimed.
        first
            The place of its first event in the round.
        """
        return True

    def can_weigh(self, weights: Integers, size: int) -> bool:
        """Whether the weights of a round of `size` events can add up to these.

        Parameters
        ----------
        weights
            The sum of the weights, as far as is claimed.
        size
            Events of the round.
        """
        return True

    def can_want(self, slots: Integers, size: int) -> bool:
        """Whether the losses of these places, of `size`, can be those that are wanted.

        Parameters
        ----------
        slots
            Places in the round.
        size
            Events of the round.
        """
        return len(slots) == size

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

    def prepare(self) -> None:  # noqa: B027
        """See to what has to be known before a round begins; nothing, unless overridden."""

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

    def memory(self) -> Record:
        """Return what was learned from released values; nothing, unless an explorer says otherwise."""
        return {}

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        assert not memory, "an explorer that learns must override both"

    def knowledge(self) -> Any:
        """Return what was learned, as one value that nothing changes later: `go_back` undoes what was learned since."""
        return None

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        assert knowledge is None, "an explorer that learns must override both"

    def is_as_good(self, point: Floats) -> bool:
        """Whether nothing but rounding makes the point that follows from what it knows another one than this.

        Parameters
        ----------
        point
            Of the working set.
        """
        return False


Vertices = Callable[[Floats, np.random.Generator, int], Floats]
"""Draws a number of random vertices with a given mean: how integral actions are played."""
