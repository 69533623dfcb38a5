"""The sums of a round: what becomes of private integers before their noise.

A round's losses are summed into a few integers, each event with public integer weights: sum_t w_t q_t, where q_t is the
loss's integer.

**A second number beside a sum**, for the variance of losses, costs no privacy. What is released: beside the sum of the
integers q of some losses (0 <= q <= S, S = `steps`, even) the sum of their

    t(q) = floor((q - S/2)^2 / S),    0 <= t <= S/4,

squares around the middle of the range in units of S, each sum with noise of its own, and the same for both.

Neighbours and sensitivity: replacing one loss moves both sums. Together they move by S at most, in l1 norm, which is
what the first moves by alone; so the noise that the first needs does for both, and l2 <= l1. Who adds up u(U - u)/U
with U = S, which is S/4 - t but for rounding, adds S/4 - t(u).

Proof. Let u = q - S/2 and u' be two values, d = |u - u'| and s = |u + u'|. The larger of |u| and |u'| is (d + s)/2 and
at most S/2, so s <= S - d. Without the floor the two move by

    d + |u^2 - u'^2|/S = d (1 + s/S) <= d (2 - d/S) = S - (S - d)^2/S <= S.

The floor adds less than 1, so that the whole number d + |t(u) - t(u')| is below S + 1: at most S.
What moves the sum most, from one end of the range to the other, leaves the squares as they are; what moves the squares
most, from an end to the middle, moves the sum by half. A loss that is missing counts as the middle, u = 0, one of the
values that there are. K events of a person: K S in all.

Gaussian noise at the same scale likewise, since l2 <= l1 <= S; what its being discrete adds to delta is charged for two
numbers in place of one.

Tests: tests/evaluations/test_privacy.py (all pairs of a small grid, and the worst of the real one);
tests/auditing/test_evaluations.py, tests/auditing/test_breaks.py.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers

_LARGEST_WEIGHT = 2**40 + 1  # of a unit vector on the finest grid


def squares_of(integers: Integers, steps: int) -> Integers:
    """Return t(q) for each.

    Parameters
    ----------
    integers
        Of losses.
    steps
        The largest that there may be; even.

    Examples
    --------
    >>> squares_of(np.array([0, 2, 4, 8]), 8)
    array([2, 0, 0, 2])
    """
    around = integers - steps // 2
    return around * around // steps


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
        both = np.concatenate([sums, beside])
        squares[:] = sums[:] = beside[:] = 0
        return both

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
