"""Independent sets of a matroid: choices of any size."""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._geometry.block_sums import product_ball
from sottovoce.domains._geometry.hull import Hull
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains.base import Domain, Fixed, how_many
from sottovoce.domains.choices import hypersimplex
from sottovoce.domains.choices._matroid_balls import ball_in_independent_sets
from sottovoce.domains.choices._matroid_sampling import along_a_line, group_by_group
from sottovoce.domains.choices.matroid_bases import as_matroid
from sottovoce.domains.matroids import AbstractMatroid, Graphic, Laminar, Linear, Partition, Transversal, Uniform

__all__ = ["IndependentSets"]


class IndependentSets(Fixed, Domain):
    """Independent sets of a matroid, the empty one included: choices that keep its rule.

    Parameters
    ----------
    matroid : AbstractMatroid
        One of `sottovoce.domains.matroids`.

    Examples
    --------
    >>> from sottovoce.domains.matroids import Graphic
    >>> forests = IndependentSets(Graphic([(0, 1), (1, 2), (2, 0)]))
    >>> forests.extreme_point([-3.0, -1.0, -2.0]), forests.extreme_point([1.0, 0.0, -2.0])
    (array([1., 0., 1.]), array([0., 0., 1.]))
    >>> forests.affine_dimension, forests.contains([0.6, 0.6, 0.6]), forests.contains([0.8, 0.8, 0.8])
    (3, True, False)
    """

    def __init__(self, matroid: AbstractMatroid) -> None:
        self.matroid = as_matroid(matroid)
        self.dimension = matroid.ground_size

    def __repr__(self) -> str:
        return f"IndependentSets({self.matroid!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one for most kinds, with loops and coloops among the elements."""
        return (
            cls(Uniform(5, 2)),
            cls(Partition([0, 0, 0, 1, 1, 2, 2, 3], [1, 1, 2, 0])),
            cls(Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}], [2, 3], ground_size=6)),
            cls(Graphic([(0, 1), (1, 2), (2, 0), (2, 3), (3, 3)])),
            cls(Transversal([{0, 1}, {1, 2, 3}, {3, 4}])),
            cls(Linear([[1, 0, 0, 1, 1], [0, 1, 0, 1, 2], [0, 0, 1, 0, 3]])),
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
    def _outer_radius(self) -> float:
        # On 0/1 points the squared distance from c is linear: <1 - 2c, x> + ||c||^2.
        return math.dist(self.extreme_point(2 * self.center - 1), self.center)

    @cached_property
    def _diameter(self) -> float:
        # Two sets are farthest apart if they are disjoint, and cover as much as they can.
        return math.sqrt(self.matroid.largest_cover())

    @property
    def affine_dimension(self) -> int:
        """Number of elements that are not loops."""
        return int(self._possible.sum())

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Set the coordinates of loops to zero."""
        return self._vectors(vectors) * self._possible

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the polytope."""
        if not isinstance(self.matroid, Partition):
            return super().contains(x, tolerance)
        x = vector("x", x, self.dimension)
        return _distance(self.matroid, x) <= number("tolerance", tolerance, above=0.0)

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw sets with mean `x`: by systematic sampling in partition and laminar matroids, else the default."""
        x, matroid = vector("x", x, self.dimension), self.matroid
        if isinstance(matroid, Partition):
            if (apart := _distance(matroid, x)) > 1e-6:
                raise self._outside(apart)
            return self._drawn(group_by_group(matroid, x, rng, how_many(size), bases=False), size)
        if isinstance(matroid, Laminar) and matroid.allows(x, 1e-6):
            return self._drawn(along_a_line(matroid, x, rng, how_many(size), bases=False), size)
        return super().round(x, rng, size)  # which refuses a point outside


def _distance(matroid: Partition, x: Vector) -> float:
    """Return the distance to the polytope: each group is a cube, cut where the sum passes the capacity."""
    parts = []
    for group, capacity in zip(matroid.groups(), matroid.capacities.tolist(), strict=True):
        inside = np.clip(x[group], 0.0, 1.0)
        fits = inside.sum() <= capacity
        parts.append(math.dist(x[group], inside) if fits else hypersimplex.distance(x[group], capacity))
    return math.hypot(*parts)
