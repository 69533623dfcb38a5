"""Choosing k of n."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import vector, whole
from sottovoce.domains._kinds import FixedSum
from sottovoce.domains._labels import Count
from sottovoce.domains.base import FEW, read_only


class Hypersimplex(FixedSum):
    """Choices of k items of n: coordinates in [0, 1] that add up to k.

    Parameters
    ----------
    n : int, or list of names
        Number of items, or their names.
    k : int
        How many are chosen, 1 <= k <= n - 1.
    labels : list of names, optional
        Names of the items, if n is a number.

    Examples
    --------
    >>> slate = Hypersimplex(4, 2)
    >>> slate.extreme_point([0.3, 0.1, 0.2, 0.4])
    array([0., 1., 1., 0.])
    >>> slate.round([0.5, 0.5, 0.5, 0.5], np.random.default_rng(0), size=3).sum(axis=1)
    array([2., 2., 2.])
    >>> Hypersimplex(["tea", "coffee", "cocoa"], k=2).chosen([1.0, 0.0, 1.0])
    ['tea', 'cocoa']
    """

    written = "hypersimplex:20,5"

    def __init__(self, n: Count, k: int, *, labels: Any = None) -> None:
        self._count("n", n, labels, least=2)
        if k == self.dimension:
            raise ValueError(
                f"k must be at least 1 and at most {k - 1}, got {k}: to choose all {k} of {k} leaves nothing to decide"
            )
        self.k = whole("k", k, least=1, most=self.dimension - 1)
        self._center = read_only(np.full(self.dimension, self.k / self.dimension))

    def __repr__(self) -> str:
        return f"Hypersimplex({self.dimension}, {self.k})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return small choices on both sides of a half, and the smallest there is."""
        return cls(5, 2), cls(6, 5), cls(9, 3), cls(2, 1)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of the k cheapest items."""
        cost = vector("cost", cost, self.dimension)
        vertex = np.zeros(self.dimension)
        vertex[cost.argpartition(self.k - 1)[: self.k]] = 1.0
        return vertex

    @property
    def inner_radius(self) -> float:
        """Distance from the centre to the nearest facet, x_i = 0 or x_i = 1."""
        share = self.k / self.dimension
        return min(share, 1 - share) * math.sqrt(self.dimension / (self.dimension - 1))

    @property
    def outer_radius(self) -> float:
        """Distance from the centre to every vertex."""
        return math.sqrt(self.k * (1 - self.k / self.dimension))

    @property
    def diameter(self) -> float:
        """Distance of two choices that have as little in common as can be."""
        return math.sqrt(2 * min(self.k, self.dimension - self.k))

    def nearest(self, y: ArrayLike) -> Vector | None:
        """Return the projection of `y` if there are many items; None for few, where the oracle finds it as soon.

        What a formula and an oracle find differs in the last bits, and runs of few items that were recorded stay as
        they are.
        """
        y = vector("y", y, self.dimension)
        return None if self.dimension <= FEW else nearest(y, self.k)

    def _within(self, x: Vector, tolerance: float) -> bool:
        return within(x, self.k, tolerance)

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw choices with mean `x` by systematic sampling (Madow, 1949).

        Lay the coordinates end to end on [0, k], and choose the items hit by the grid u, u + 1, ..., with u uniform in
        [0, 1).
        """
        if not within(x, self.k, 1e-6):
            self._refuse_outside(distance(x, self.k), 1e-6)
        ends = np.concatenate(([0.0], np.cumsum(np.clip(x, 0.0, 1.0))))
        ends *= self.k / ends[-1]
        picks = _hits(ends, rng.random(count))
        while (bad := picks.max(axis=1, initial=0.0) > 1.0).any():  # x_i = 1 + rounding can be hit twice, hardly ever
            picks[bad] = _hits(ends, rng.random(int(bad.sum())))
        return picks


def _hits(ends: Vector, grid: Vector) -> Floats:
    """Return how many points of {u, u + 1, ...} each interval holds, one row for every u in `grid`."""
    below = np.ceil(ends - grid[:, None])  # grid points below an end; all exact integers
    below[:, 0], below[:, -1] = 0.0, round(float(ends[-1]))
    return np.diff(below, axis=1)


def within(x: Vector, total: int, tolerance: float) -> bool:
    """Say whether `x` is within `tolerance` of {0 <= x <= 1, sum = total}; the usual case, inside, is cheap."""
    inside = np.clip(x, 0.0, 1.0)
    # From a point of the cube, the right sum is at most |missing| away: shift coordinates until it is reached.
    if math.dist(x, inside) + abs(float(inside.sum()) - total) <= tolerance:
        return True
    return distance(x, total) <= tolerance


def distance(x: Vector, total: int) -> float:
    """Return the distance to {0 <= x <= 1, sum = total}: the nearest point is clip(x - shift)."""
    return math.dist(x, np.clip(x - _shift(x, total), 0.0, 1.0))


def nearest(x: Vector, total: int) -> Vector:
    """Return the nearest point of {0 <= x <= 1, sum = total}: clip(x - shift), the shift by bisection, then exactly."""
    shift = _shift(x, total)
    free = (x > shift) & (x < shift + 1.0)
    if free.any():
        shift = (float(x[free].sum()) + np.count_nonzero(x >= shift + 1.0) - total) / np.count_nonzero(free)
    return np.asarray(np.clip(x - shift, 0.0, 1.0), dtype=np.float64)


def _shift(x: Vector, total: int) -> float:
    """Return the shift at which clip(x - shift) adds up to the total, by bisection."""
    low, high = float(x.min()) - 1.0, float(x.max())
    for _ in range(200):
        shift = (low + high) / 2
        if np.clip(x - shift, 0.0, 1.0).sum() > total:
            low = shift
        else:
            high = shift
        if high - low <= 1e-15 * max(abs(low), abs(high)):
            break
    return high
