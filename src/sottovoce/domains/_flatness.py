"""How sets lie in space: many fill it, others fix the sum of all coordinates or of blocks, and nothing else."""

from abc import abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._geometry.block_sums import less_block_means, product_ball, zero_sum_hull
from sottovoce.domains._geometry.hull import Hull
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._geometry.orbits import Orbit, even_orbit, helmert
from sottovoce.domains._subsets import Order
from sottovoce.domains.base import Domain, Fixed


class Full(Fixed, Domain):
    """A set with room in every direction around its centre, `_center`; a base for families."""

    _center: Vector

    @property
    def affine_dimension(self) -> int:
        """All of it: the set is full."""
        return self.dimension

    @property
    def center(self) -> Vector:
        """The centre of the largest ball inside; read-only."""
        return self._center

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Return a copy: the set is full."""
        return self._vectors(vectors)


class NormBall(Full):
    """A full set, symmetric about its centre, that reaches exactly `radius` far; a base for families of balls."""

    radius: float
    chosen_as = "amounts"

    @property
    def outer_radius(self) -> float:
        """The Euclidean distance from the centre to the farthest points."""
        return self.radius

    def orbit(self) -> Orbit:
        """Spread alike in all directions."""
        return even_orbit(np.eye(self.dimension), self.radius)

    @property
    def diameter(self) -> float:
        """Distance of opposite points."""
        return 2 * self.radius


class FixedSum(Fixed, Domain):
    """A set of points whose coordinates add up to one number, symmetric in them; a base for families.

    All of its vertices are images of one, and as far from the centre.
    """

    _center: Vector

    @property
    def affine_dimension(self) -> int:
        """One less than the number of coordinates: the sum is fixed."""
        return self.dimension - 1

    @property
    def center(self) -> Vector:
        """The same for every coordinate; read-only."""
        return self._center

    def orbit(self) -> Orbit:
        """Spread alike along all directions in which nothing is added up."""
        return even_orbit(helmert(self.dimension), self.outer_radius)

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Subtract the mean."""
        rows = self._vectors(vectors)
        rows -= rows.mean(axis=-1, keepdims=True)
        return rows


class BlockSums(Fixed, Domain):
    """A set whose coordinates have a fixed sum in each of several blocks, and no other equation; a base for families.

    Base polytopes are such sets. They are the product of their blocks, so that a ball fits inside if it fits into each.
    """

    @property
    @abstractmethod
    def _components(self) -> Order:
        """The label of each coordinate's block."""

    @abstractmethod
    def _ball(self, block: Order) -> InnerBall | None:
        """Return the largest ball of a block, by its elements, where it can be had exactly."""

    @cached_property
    def _hull(self) -> Hull:
        return zero_sum_hull(self.extreme_point, self._components)

    @cached_property
    def _inner_ball(self) -> InnerBall:
        return product_ball(self.extreme_point, self._components, self._ball)

    @property
    def affine_dimension(self) -> int:
        """Number of coordinates less the number of blocks whose sum is fixed."""
        return self.dimension - len(np.unique(self._components))

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Subtract the mean of each block."""
        return less_block_means(self._vectors(vectors), self._components)
