"""The probability simplex."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import vector
from sottovoce.domains._kinds import FixedSum
from sottovoce.domains._labels import Count
from sottovoce.domains.base import read_only


class Simplex(FixedSum):
    """Probability vectors: non-negative coordinates that add up to 1.

    Parameters
    ----------
    n : int, or list of names
        Number of coordinates, at least 2, or their names.
    labels : list of names, optional
        Names of the coordinates, if n is a number.

    Examples
    --------
    >>> simplex = Simplex(3)
    >>> simplex.extreme_point([0.3, 0.1, 0.2])
    array([0., 1., 0.])
    >>> simplex.affine_dimension, simplex.contains([0.5, 0.5, 0.0])
    (2, True)
    """

    written = "simplex:10"

    def __init__(self, n: Count, *, labels: Any = None) -> None:
        self._count("n", n, labels, least=2)
        self._center = read_only(np.full(self.dimension, 1 / self.dimension))

    def __repr__(self) -> str:
        return f"Simplex({self.dimension})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a segment, and two larger simplices."""
        return cls(2), cls(3), cls(8)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the cheapest coordinate's vertex."""
        vertex = np.zeros(self.dimension)
        vertex[vector("cost", cost, self.dimension).argmin()] = 1.0
        return vertex

    @property
    def inner_radius(self) -> float:
        """Distance from the centre to every facet."""
        return 1 / math.sqrt(self.dimension * (self.dimension - 1))

    @property
    def outer_radius(self) -> float:
        """Distance from the centre to every vertex."""
        return math.sqrt((self.dimension - 1) / self.dimension)

    @property
    def diameter(self) -> float:
        """Distance of any two vertices."""
        return math.sqrt(2)

    def nearest(self, y: ArrayLike) -> Vector:
        """Subtract what makes the positive part add up to 1 (Held, Wolfe, Crowder, 1974)."""
        y = vector("y", y, self.dimension)
        descending = np.sort(y)[::-1]
        surplus = np.cumsum(descending) - 1.0
        count = int(np.count_nonzero(descending * np.arange(1, self.dimension + 1) > surplus))
        return np.asarray(np.maximum(y - surplus[count - 1] / count, 0.0), dtype=np.float64)

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw vertices with mean `x`: coordinate i with probability x_i."""
        self._refuse_outside(math.dist(x, self.nearest(x)), 1e-6)
        ends = np.cumsum(np.clip(x, 0.0, 1.0))
        picks = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
        vertices = np.zeros((count, self.dimension))
        vertices[np.arange(count), np.minimum(picks, self.dimension - 1)] = 1.0
        return vertices
