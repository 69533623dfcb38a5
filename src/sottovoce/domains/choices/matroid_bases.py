"""Bases of a matroid: maximal choices."""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._geometry.block_sums import less_block_means, product_ball, zero_sum_hull
from sottovoce.domains._geometry.hull import Hull
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._subsets import Order
from sottovoce.domains.base import Domain, Fixed, how_many
from sottovoce.domains.choices import hypersimplex
from sottovoce.domains.choices._matroid_balls import ball_in_bases
from sottovoce.domains.choices._matroid_sampling import along_a_line, group_by_group
from sottovoce.domains.matroids import AbstractMatroid, Graphic, Laminar, Linear, Partition, Transversal, Uniform

__all__ = ["MatroidBases", "as_matroid"]


def as_matroid(value: AbstractMatroid) -> AbstractMatroid:
    """Return the argument if it is a matroid, or say how to make one."""
    if not isinstance(value, AbstractMatroid):
        raise TypeError(
            f"matroid must come from sottovoce.domains.matroids, got {value!r}; an independence function of your own "
            "becomes one by matroids.Matroid(ground_size, function)"
        )
    return value


class MatroidBases(Fixed, Domain):
    """Bases of a matroid: the choices to which nothing can be added.

    Parameters
    ----------
    matroid : AbstractMatroid
        One of `sottovoce.domains.matroids`.

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

    def __init__(self, matroid: AbstractMatroid) -> None:
        self.matroid = as_matroid(matroid)
        self.dimension = matroid.ground_size

    def __repr__(self) -> str:
        return f"MatroidBases({self.matroid!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one for most kinds, with loops and coloops among the elements."""
        return (
            cls(Uniform(5, 2)),
            cls(Partition([0, 0, 0, 1, 1, 2, 2, 3], [1, 1, 2, 0])),
            cls(Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}, {6, 7}], [2, 3, 1])),
            cls(Graphic([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (5, 5)])),
            cls(Transversal([{0, 1}, {1, 2, 3}, {3, 4}])),
            cls(Linear([[1, 0, 0, 1, 1], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1]], field="GF(2)")),
        )

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest base: greedy in order of cost, the first of equals first."""
        order = vector("cost", cost, self.dimension).argsort(kind="stable")
        return self.matroid.greedy(order).astype(np.float64)

    @cached_property
    def _components(self) -> Order:
        return self.matroid.components()

    @cached_property
    def _hull(self) -> Hull:
        return zero_sum_hull(self.extreme_point, self._components)

    @cached_property
    def _inner_ball(self) -> InnerBall:
        return product_ball(self.extreme_point, self._components, partial(ball_in_bases, self.matroid))

    @cached_property
    def _outer_radius(self) -> float:
        # On 0/1 points the squared distance from c is linear: <1 - 2c, x> + ||c||^2.
        farthest = self.extreme_point(2 * self.center - 1)
        return math.dist(farthest, self.center)

    @cached_property
    def _diameter(self) -> float:
        # Two bases of r elements that cover m between them differ in 2 (m - r).
        return math.sqrt(2 * (self.matroid.largest_cover() - self.matroid.rank()))

    @property
    def affine_dimension(self) -> int:
        """Number of elements less the number of connected components: each has a fixed number of elements chosen."""
        return self.dimension - len(np.unique(self._components))

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Subtract the mean of each component."""
        return less_block_means(self._vectors(vectors), self._components)

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the polytope."""
        if not isinstance(self.matroid, Partition):
            return super().contains(x, tolerance)
        x = vector("x", x, self.dimension)
        return _distance(self.matroid, x) <= number("tolerance", tolerance, above=0.0)

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw bases with mean `x`: by systematic sampling in partition and laminar matroids, else the default."""
        x, matroid = vector("x", x, self.dimension), self.matroid
        if isinstance(matroid, Partition):
            if (apart := _distance(matroid, x)) > 1e-6:
                raise self._outside(apart)
            return self._drawn(group_by_group(matroid, x, rng, how_many(size), bases=True), size)
        if isinstance(matroid, Laminar) and abs(x.sum() - matroid.rank()) <= 1e-6 and matroid.allows(x, 1e-6):
            return self._drawn(along_a_line(matroid, x, rng, how_many(size), bases=True), size)
        return super().round(x, rng, size)  # which refuses a point outside


def _distance(matroid: Partition, x: Vector) -> float:
    groups = zip(matroid.groups(), matroid.capacities.tolist(), strict=True)
    return math.hypot(*(hypersimplex.distance(x[group], capacity) for group, capacity in groups))
