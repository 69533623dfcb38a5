"""The l1 ball (cross-polytope)."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Positions, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._flatness import NormBall
from sottovoce.domains._labels import Count, count_or_names
from sottovoce.domains.base import read_only


class L1Ball(NormBall):
    """All points whose coordinates differ from a centre by a given total at most.

    Parameters
    ----------
    n : int, or list of names
        Number of coordinates, or their names.
    radius : float
        The total: sum of |x_i - center_i|.
    center : array of shape (n,), optional
        Default: the origin.
    labels : list of names, optional
        Names of the coordinates, if n is a number.

    Examples
    --------
    >>> ball = L1Ball(3, radius=2.0)
    >>> ball.extreme_point([0.3, -0.9, 0.1])
    array([0., 2., 0.])
    >>> ball.contains([1.0, -0.5, 0.5]), ball.contains([1.0, -1.0, 0.5])
    (True, False)
    """

    written = "l1-ball:10"

    def __init__(self, n: Count, radius: float = 1.0, center: ArrayLike | None = None, *, labels: Any = None) -> None:
        self.dimension, names = count_or_names("n", n, labels)
        self._take_names(names, n=self.dimension)
        self.radius = number("radius", radius, above=0.0)
        middle = np.zeros(self.dimension) if center is None else vector("center", center, self.dimension)
        self._center = read_only(middle)

    def __repr__(self) -> str:
        return f"L1Ball({self.dimension}, radius={self.radius:g}{', center=...' if self._center.any() else ''})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a square on its corner, an interval, and a large one far from the origin."""
        return cls(2), cls(1, 0.5), cls(4, 30.0, np.arange(4.0) * 100)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the end of the axis with the largest cost, against it."""
        cost = vector("cost", cost, self.dimension)
        largest = int(np.abs(cost).argmax())
        vertex = self._center.copy()
        vertex[largest] += -self.radius if cost[largest] > 0.0 else self.radius
        return vertex

    @property
    def inner_radius(self) -> float:
        """Distance from the centre to every facet."""
        return self.radius / math.sqrt(self.dimension)

    def _within(self, x: Vector, tolerance: float) -> bool:
        return l1_distance(np.abs(x - self._center), self.radius) <= tolerance

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw vertices with mean `x`: axis i with probability |x_i|/radius; what is left, on any axis, cancels."""
        offset = x - self._center
        self._refuse_outside(l1_distance(np.abs(offset), self.radius), 1e-6 * self.radius)
        axes, signs = signed_choices(np.abs(offset) / self.radius, rng, count)
        vertices = np.tile(self._center, (count, 1))
        vertices[np.arange(count), axes] += signs * np.where(offset < 0.0, -self.radius, self.radius)[axes]
        return vertices


def signed_choices(shares: Vector, rng: np.random.Generator, count: int) -> tuple[Positions, Vector]:
    """Draw indices i and signs whose mean is `shares` (non-negative, of sum at most 1): E[sign, i drawn] = shares_i.

    The rest of the probability is spread over all indices, with a fair sign.
    """
    rest = max(1.0 - float(shares.sum()), 0.0) / shares.size
    ends = np.cumsum(shares + rest)
    picks = np.minimum(np.searchsorted(ends, rng.random(count) * ends[-1], side="right"), shares.size - 1)
    odds = rest / 2 / np.maximum(shares + rest, np.finfo(float).tiny)  # of the wrong sign, given the index
    return picks, np.where(rng.random(count) < odds[picks], -1.0, 1.0)


def l1_distance(sizes: Vector, radius: float) -> float:
    """Return the distance of a non-negative vector from the l1 ball around 0.

    The nearest point takes the same amount off every coordinate, down to 0 at most (Duchi et al., 2008).
    """
    if float(sizes.sum()) <= radius:
        return 0.0
    largest = np.sort(sizes)[::-1]
    amounts = (np.cumsum(largest) - radius) / np.arange(1, sizes.size + 1)
    kept = int(np.count_nonzero(largest > amounts))
    return float(np.linalg.norm(np.minimum(sizes, amounts[kept - 1])))
