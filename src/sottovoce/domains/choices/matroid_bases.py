"""Bases of a matroid: maximal choices."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Vector
from sottovoce._checks import vector
from sottovoce.domains._flatness import BlockSums
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._geometry.orbits import Orbit, helmert
from sottovoce.domains._subsets import Order
from sottovoce.domains.choices import hypersimplex
from sottovoce.domains.choices._matroid_balls import ball_in_bases
from sottovoce.domains.choices._matroid_polytope import MatroidPolytope
from sottovoce.domains.matroids import Graphic, Laminar, Partition, Uniform


class MatroidBases(MatroidPolytope, BlockSums):
    """Bases of a matroid: the choices to which nothing can be added.

    Parameters
    ----------
    matroid : AbstractMatroid
        One of `sottovoce.domains.matroids`.
    labels : list of names, optional
        Names of the elements; default: those that the matroid has for them, if any.

    Examples
    --------
    One of each kind:

    >>> from sottovoce.domains.matroids import Partition
    >>> menu = MatroidBases(Partition([[0, 1, 2], [3, 4]], 1))
    >>> menu.extreme_point([3.0, 1.0, 2.0, -1.0, -2.0])
    array([0., 1., 0., 0., 1.])
    >>> menu.affine_dimension, menu.diameter
    (3, 2.0)
    """

    bases = True

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one for most kinds, with loops and coloops among the elements."""
        return (
            cls(Uniform(5, 2)),
            cls(Partition([0, 0, 0, 1, 1, 2, 2, 3], [1, 1, 2, 0])),
            cls(Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}, {6, 7}], [2, 3, 1])),
            cls(Graphic([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (5, 5)])),
        )

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest base: greedy in order of cost, the first of equals first."""
        order = vector("cost", cost, self.dimension).argsort(kind="stable")
        return self.matroid.greedy(order).astype(np.float64)

    @cached_property
    def _components(self) -> Order:
        return self.matroid.components()

    def _ball(self, block: Order) -> InnerBall | None:
        return ball_in_bases(self.matroid, block)

    @cached_property
    def diameter(self) -> float:
        """Two bases of r elements that cover m between them differ in 2 (m - r)."""
        return math.sqrt(2 * (self.matroid.largest_cover() - self.matroid.rank()))

    def orbit(self) -> Orbit | None:
        """Return that of a product of hypersimplices, if the matroid is a partition."""
        if not isinstance(self.matroid, Partition):
            return None
        axes, deviations = np.zeros((self.affine_dimension, self.dimension)), np.zeros(self.affine_dimension)
        done = 0
        for group, capacity in zip(self.matroid.groups(), self.matroid.capacities.tolist(), strict=True):
            size = len(group)
            if 0 < capacity < size:
                rows = slice(done, done + size - 1)
                axes[rows, group] = helmert(size)
                deviations[rows] = math.sqrt(capacity * (size - capacity) / size / (size - 1))
                done += size - 1
        return Orbit(axes, deviations) if done else None

    def _distance(self, matroid: Partition, x: Vector) -> float:
        groups = zip(matroid.groups(), matroid.capacities.tolist(), strict=True)
        return math.hypot(*(hypersimplex.distance(x[group], capacity) for group, capacity in groups))
