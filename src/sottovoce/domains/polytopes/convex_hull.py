"""The convex hull of given points."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Vector
from sottovoce._checks import numbers, vector
from sottovoce.domains._geometry.hull import CAUTION
from sottovoce.domains.base import Domain, Fixed


class ConvexHull(Fixed, Domain):
    """All means of given points.

    Parameters
    ----------
    points : array of shape (m, n)
        The points, as rows. Some may lie between others; none of those is ever an answer of the oracle.
    labels : list of names, optional
        Names of the coordinates.

    Examples
    --------
    >>> triangle = ConvexHull([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    >>> triangle.extreme_point([0.0, -1.0])
    array([0., 3.])
    >>> triangle.contains([1.0, 1.0]), triangle.contains([3.0, 3.0]), triangle.diameter
    (True, False, 5.000000005)
    """

    def __init__(self, points: ArrayLike, *, labels: Any = None) -> None:
        rows = np.array(numbers("points", points))
        if rows.ndim != 2 or rows.size == 0:
            raise ValueError(f"points must have shape (m, n), one point a row, got {rows.shape}")
        if not np.isfinite(rows).all():
            raise ValueError("points must be finite")
        self.points = np.unique(rows, axis=0)  # sorted: see extreme_point
        self.points.setflags(write=False)
        self.dimension = rows.shape[1]
        self._name(labels)
        self._largest = np.abs(rows).max(axis=0)

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.points)} points in {self.dimension} dimensions)"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a triangle in space, hulls of random points, full and flat, and a grid, most of it not extreme."""
        rng = np.random.default_rng(7)
        flat = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 4)) + 10.0
        grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0)), axis=-1).reshape(-1, 2)
        return cls(np.eye(3)), cls(rng.standard_normal((30, 3))), cls(flat), cls(grid)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the cheapest point; of equally cheap ones the first in lexicographic order, which is extreme."""
        cost = vector("cost", cost, self.dimension)
        largest = float(np.abs(cost).max())
        scaled = cost / largest if largest > 0.0 else cost
        values = self.points @ scaled
        blur = 1e-14 * float(self._largest @ np.abs(scaled))
        return np.array(self.points[np.argmax(values <= values.min() + blur)])

    @cached_property
    def outer_radius(self) -> float:
        """Distance from the centre to the farthest of the points."""
        return float(np.linalg.norm(self.points - self.center, axis=1).max()) * (1 + CAUTION)

    @cached_property
    def diameter(self) -> float:
        """Distance of the two points that are farthest apart."""
        squared = 0.0
        for i, point in enumerate(self.points):
            apart = self.points[i:] - point
            squared = max(squared, float(np.einsum("ij,ij->i", apart, apart).max()))
        return math.sqrt(squared) * (1 + CAUTION)
