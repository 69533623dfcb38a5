"""What kinds of sets have in common: many fill space, others fix the sum of all coordinates, many choose items."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._geometry.orbits import Orbit, even_orbit, helmert
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


class Choices(Fixed, Domain):
    """A set whose vertices are of zeros and ones; a base for families."""

    @cached_property
    def outer_radius(self) -> float:
        """Distance from the centre to the farthest vertex: its square is <1 - 2c, x> + ||c||^2 there, and linear."""
        return math.dist(self.extreme_point(2 * self.center - 1), self.center)

    @cached_property
    def diameter(self) -> float:
        """Two choices differ in no more than what both have, or both leave out."""
        apart = min(self.most_chosen, self.dimension - self.least_chosen)
        return min(math.sqrt(2 * apart), 2 * self.outer_radius)
