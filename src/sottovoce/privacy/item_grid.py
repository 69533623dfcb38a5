"""The integer grid of feedback by item: one person's losses of the k items of a decision.

Each loss becomes an integer of `LossGrid`, 0 to U = 2^bits. Where a person's items may count for `most` in all, the sum
of their distances from 0 is cut to C = floor(most/B * U), on the integers and by that person's own numbers alone:
u_i <- floor(u_i C / sum u). That keeps the ranking of items, and is the same for every order of them. 0 has to lie at
an end of the range, so that distances from it are what the grid counts.

Sensitivity, exact. Let x and y be two persons' vectors of k integers in [0, U], each with a sum of at most C. Where
both are positive, setting the smaller entry to 0 never brings them closer, so the farthest two have disjoint supports,
of sizes a and k - a, and |x - y|_1 = min(C, a U) + min(C, (k - a) U), which is concave in a and largest at the middle:

    l1 = min(C, floor(k/2) U) + min(C, ceil(k/2) U).

For l2, a vector of a entries has a square of at most s(a) = U^2 min(a, q) + r^2 [a > q], q = floor(C/U), r = C - qU
(all mass on as few entries as hold it: the square is convex), and l2^2 = s(floor(k/2)) + s(ceil(k/2)). Without `most`,
C = kU: l1 = kU and l2 = sqrt(k) U.

A slot has `slots` integers. Decisions of a later set may have more items than that: then several items share an
integer, as the digits of a number of base U + 1, the first as it is and the others as their distances from 0. So what
a decision of few items leaves there is what it always was, and digits that nobody has told are 0.

Tests: tests/privacy/test_item_grid.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.errors import InvalidLoss
from sottovoce.privacy.grid import LossGrid


@dataclass(frozen=True)
class ItemGrid:
    """Where the integers of a person's losses by item live: f = low + step * q, for each item.

    Parameters
    ----------
    losses
        The grid of one item's loss.
    width
        How many items a decision has at most (k).
    most
        What the losses of one person's items add up to at most, in distance from 0; None if each has its whole range.
    room
        How many items may share an integer.
    slots
        Integers of one person, where these are fewer than items; None if each item has its own.

    Examples
    --------
    >>> grid = ItemGrid(LossGrid(-1.0, 0.0, bits=4), width=3, most=1.0)  # a click is worth 1, and one of them counts
    >>> grid.quantise([[-1.0, 0.0, 0.0], [-1.0, -1.0, 0.0]])
    array([[ 0, 16, 16],
           [ 8,  8, 16]])
    >>> grid.l1, round(grid.l2, 3)
    (32, 22.627)
    """

    losses: LossGrid
    width: int
    most: float | None = None
    room: int = 1
    slots: int | None = None

    def __post_init__(self) -> None:
        if self.width > self.room * self.per_slot:
            raise ValueError(f"{self.width} items do not fit into {self.per_slot} integers")
        if self.most is None:
            return
        if 0.0 not in (self.losses.low, self.losses.high):
            raise ValueError(
                "most needs a loss_range with 0 at one end, as (-1.0, 0.0) for clicks or (0.0, 1.0) for costs, got "
                f"({self.losses.low!r}, {self.losses.high!r})"
            )
        if self.limit < 1:
            raise ValueError(
                f"most = {self.most!r} is too small for loss_range: it must be a visible part of its width"
            )

    @property
    def low(self) -> float:
        """What the integer 0 is worth."""
        return self.losses.low

    @property
    def step(self) -> float:
        """Length of one step of the grid."""
        return self.losses.step

    @property
    def steps(self) -> int:
        """U, how far the loss of one item can move its integer."""
        return self.losses.steps

    @property
    def per_slot(self) -> int:
        """Integers of one person."""
        return self.width if self.slots is None else self.slots

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest integer of a loss, or of as many as may share one."""
        return 0, (self.steps + 1) ** self.room - 1

    def widened(self, width: int) -> "ItemGrid":
        """Return the same for decisions of up to so many items, in slots as they are.

        Parameters
        ----------
        width
            How many items.
        """
        return self if width <= self.width else replace(self, width=width, slots=self.per_slot)

    @cached_property
    def zero(self) -> int:
        """The integer that distances are measured from: of a loss of 0, or of the low end where nothing is limited."""
        return self.steps if self.most is not None and self.losses.high == 0.0 else 0

    @cached_property
    def limit(self) -> int:
        """C, what the distances of one person's items add up to at most."""
        whole = self.width * self.steps
        if self.most is None or self.most / self.losses.width >= self.width:  # which may be infinite
            return whole
        return math.floor(self.most / self.losses.width * self.steps)

    @property
    def missing(self) -> int:
        """What each item of a report that never comes counts as: as if nothing had happened."""
        return self.zero

    @property
    def leaves_out_missing(self) -> bool:
        """Whether a report that never comes counts as nothing at all: where no loss of 0 stands for it."""
        return self.most is None

    @property
    def l1(self) -> int:
        """How far one person's losses can move the round's integers, in l1 norm."""
        half, rest = self.width // 2, self.width - self.width // 2
        return min(self.limit, half * self.steps) + min(self.limit, rest * self.steps)

    @property
    def l2(self) -> float:
        """The same in l2 norm."""
        half = self.width // 2
        return math.nextafter(math.sqrt(self._square(half) + self._square(self.width - half)), math.inf)

    def _square(self, entries: int) -> int:
        full, rest = divmod(self.limit, self.steps)
        return self.steps**2 * min(entries, full) + (rest**2 if entries > full else 0)

    @property
    def spread_is_free(self) -> bool:
        """Whether one more number, the sum of u(U - u)/U over all items, moves nothing farther than `l1`."""
        return self.limit >= (self.width - self.width // 2) * self.steps

    def valid(self, integers: Integers) -> bool:
        """Whether `integers`, in rows, can be those of losses."""
        rows = self.unfolded(integers)
        fits = self.losses.valid(rows) and bool((np.abs(rows - self.zero).sum(axis=1) <= self.limit).all())
        return fits and np.array_equal(self.folded(rows).ravel(), integers.ravel())

    def quantise(self, losses: Any) -> Integers:
        """Return the integers of losses, a row for each person, cut to what may count.

        Parameters
        ----------
        losses
            (people, k) numbers.
        """
        integers = self.losses.quantise(losses)
        if integers.ndim != 2 or integers.shape[1] != self.width:  # a row is a person: no other cut keeps the bound
            raise InvalidLoss(f"losses must be {self.width} numbers for each decision; nothing of this was recorded")
        if self.most is not None:
            integers = self._cut(integers)
        return self.folded(integers)

    def folded(self, integers: Integers) -> Integers:
        """Return the integers of items, in rows, as slots keep them.

        Parameters
        ----------
        integers
            (people, k) of items.

        Examples
        --------
        >>> grid = ItemGrid(LossGrid(-1.0, 0.0, bits=4), width=2, most=1.0, room=3).widened(5)
        >>> grid.folded(np.array([[16, 0, 16, 12, 16], [16, 0, 16, 16, 16]])).tolist()
        [[16, 68], [16, 0]]
        >>> grid.unfolded(np.array([[16, 68]])).tolist()
        [[16, 0, 16, 12, 16]]
        """
        slots = self.per_slot
        found = integers if self.width <= slots else integers[:, :slots].copy()
        for digit in range(1, -(-self.width // slots)):
            rest = np.abs(integers[:, digit * slots : (digit + 1) * slots] - self.zero)
            found[:, : rest.shape[1]] += rest * (self.steps + 1) ** digit
        return found[:, 0] if slots == 1 else found

    def unfolded(self, kept: Integers) -> Integers:
        """Return the integers of items, in rows, that `folded` has put into slots.

        Parameters
        ----------
        kept
            Slots.
        """
        slots, base = self.per_slot, self.steps + 1
        kept = kept.reshape(-1, slots)
        if self.width <= slots:
            return kept.copy()
        digits = [kept // base**digit % base for digit in range(-(-self.width // slots))]
        return np.hstack([digits[0], *(np.abs(self.zero - one) for one in digits[1:])])[:, : self.width]

    def _cut(self, integers: Integers) -> Integers:
        distances = np.abs(integers - self.zero)
        sums = distances.sum(axis=-1, keepdims=True)
        cut = distances * self.limit // np.maximum(sums, self.limit)
        return np.asarray(np.abs(self.zero - cut))

    def quantiser(self) -> Callable[[Any], int]:
        """There is no single number to tell here."""

        def refuse(loss: Any) -> int:
            raise InvalidLoss("here each item has its own loss: tell them by name, or in the order of `chosen`")

        return refuse

    def coarsened(self, integers: Integers, factor: int) -> Integers:
        """Return integers on a grid that is coarser by a factor: rounded towards 0, so that limits hold there, too.

        Parameters
        ----------
        integers
            In rows.
        factor
            A power of 2.
        """
        return np.asarray(np.abs(self.zero - np.abs(integers - self.zero * factor) // factor))
