"""Independent sets of a matroid: choices of any size."""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce._checks import vector
from sottovoce.domains._geometry.block_sums import product_ball
from sottovoce.domains._geometry.hull import Hull
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains.choices import hypersimplex
from sottovoce.domains.choices._matroid_balls import ball_in_independent_sets
from sottovoce.domains.choices._matroid_polytope import MatroidPolytope
from sottovoce.domains.matroids import Graphic, Laminar, Partition, Uniform


class IndependentSets(MatroidPolytope):
    """Independent sets of a matroid, the empty one included: choices that keep its rule.

    Parameters
    ----------
    matroid : AbstractMatroid
        One of `sottovoce.domains.matroids`.
    labels : list of names, optional
        Names of the elements; default: those that the matroid has for them, if any.

    Examples
    --------
    >>> from sottovoce.domains.matroids import Graphic
    >>> forests = IndependentSets(Graphic([(0, 1), (1, 2), (2, 0)]))
    >>> forests.extreme_point([-3.0, -1.0, -2.0]), forests.extreme_point([1.0, 0.0, -2.0])
    (array([1., 0., 1.]), array([0., 0., 1.]))
    >>> forests.affine_dimension, forests.contains([0.6, 0.6, 0.6]), forests.contains([0.8, 0.8, 0.8])
    (3, True, False)
    """

    bases = False

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one for most kinds, with loops and coloops among the elements."""
        return (
            cls(Uniform(5, 2)),
            cls(Partition([0, 0, 0, 1, 1, 2, 2, 3], [1, 1, 2, 0])),
            cls(Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}], [2, 3], ground_size=6)),
            cls(Graphic([(0, 1), (1, 2), (2, 0), (2, 3), (3, 3)])),
        )

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest independent set: greedy in order of cost, as long as that is negative."""
        cost = vector("cost", cost, self.dimension)
        gains = np.flatnonzero(cost < 0.0)
        return self.matroid.greedy(gains[cost[gains].argsort(kind="stable")]).astype(np.float64)

    @cached_property
    def _possible(self) -> Mask:
        """The elements that are not loops."""
        return np.array([self.matroid.independent([element]) for element in range(self.dimension)])

    @cached_property
    def _hull(self) -> Hull:
        # The empty set and the single elements are independent: nothing is flat but the loops.
        base = self.extreme_point(-np.ones(self.dimension))
        return Hull(np.eye(self.dimension)[self._possible], np.vstack((np.zeros_like(base), base)))

    @cached_property
    def _inner_ball(self) -> InnerBall:
        labels = self.matroid.components()
        return product_ball(self.extreme_point, labels, partial(ball_in_independent_sets, self.matroid))

    @cached_property
    def diameter(self) -> float:
        """Two sets are farthest apart if they are disjoint, and cover as much as they can."""
        return math.sqrt(self.matroid.largest_cover())

    @property
    def _has_dimension(self) -> bool:
        return True

    @property
    def affine_dimension(self) -> int:
        """Number of elements that are not loops."""
        return int(self._possible.sum())

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Set the coordinates of loops to zero."""
        return self._vectors(vectors) * self._possible

    def _distance(self, matroid: Partition, x: Vector) -> float:
        # Each group is a cube, cut where the sum passes the capacity.
        parts = []
        for group, capacity in zip(matroid.groups(), matroid.capacities.tolist(), strict=True):
            inside = np.clip(x[group], 0.0, 1.0)
            fits = inside.sum() <= capacity
            parts.append(math.dist(x[group], inside) if fits else hypersimplex.distance(x[group], capacity))
        return math.hypot(*parts)
