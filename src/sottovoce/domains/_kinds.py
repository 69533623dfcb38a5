"""What kinds of sets have in common: a fixed sum, room all around, decisions of 0 and 1, known facets."""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._geometry.orbits import Orbit, even_orbit, helmert
from sottovoce.domains.base import Domain, Fixed
from sottovoce.projection import project


class Centred(Fixed, Domain):
    """A set whose centre is known, `_center`; a base for families."""

    _center: Vector

    @property
    def center(self) -> Vector:
        """The centre of the largest ball inside; read-only."""
        return self._center


class Full(Centred):
    """A set with room in every direction around its centre; a base for families."""

    @property
    def affine_dimension(self) -> int:
        """All of it: the set is full."""
        return self.dimension

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


class FixedSum(Centred):
    """A set of points whose coordinates add up to one number, symmetric in them; a base for families.

    All of its vertices are images of one, and as far from the centre, which is the same in every coordinate.
    """

    @property
    def affine_dimension(self) -> int:
        """One less than the number of coordinates: the sum is fixed."""
        return self.dimension - 1

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


# ----------------------------------------------------------------------
# Is a point in a polytope with known facets? Mostly answered by two cheap bounds on its distance.


class Bracket(NamedTuple):
    """A point of the set, and bounds on how far the set is from the point that was asked about."""

    inside: Vector
    at_least: float
    at_most: float

    def within(self, tolerance: float) -> bool | None:
        """Say whether the distance is at most `tolerance`; None if the bounds leave it open."""
        if self.at_most <= tolerance:
            return True
        return False if self.at_least > tolerance else None


def bracket(
    x: Vector, flat: Vector, slack: Callable[[Vector], Vector], norms: Vector | float, center: Vector
) -> Bracket:
    """Bound the distance from `x` to a polytope.

    Parameters
    ----------
    x : array of shape (n,)
        The point.
    flat : array of shape (n,)
        Its projection on the affine hull.
    slack : callable
        From a point of the hull to its slacks in all inequalities h_i - <g_i, .>.
    norms : array or float
        Upper bounds on the norms of the g_i, projected on the hull.
    center : array of shape (n,)
        A point with positive slack wherever a slack is not constant.

    The distance within the hull is at least the largest violation of one inequality, and at most the way toward the
    centre that mends all of them.
    """
    off, here = math.dist(x, flat), slack(flat)
    violated = here < 0.0
    if not violated.any():
        return Bracket(flat, off, off)
    worst = float((-here / norms)[violated].max())
    share = float(np.max(here[violated] / (here[violated] - slack(center)[violated])))
    inside = flat + min(share, 1.0) * (center - flat)
    return Bracket(inside, math.hypot(off, worst), math.dist(x, inside))


class Faceted(Fixed, Domain):
    """A polytope with known facets: a subclass brackets distances, and projects only where that leaves them open."""

    @abstractmethod
    def _bracket(self, x: Vector) -> Bracket:
        """Bound the distance of a point from the set."""

    def _within(self, x: Vector, tolerance: float) -> bool | None:
        return self._bracket(x).within(tolerance)

    def _settled(self, x: Vector) -> Vector:
        """Return a point of the set that is x up to rounding; raise if x is outside."""
        near = self._bracket(x)
        allowed = 1e-6 * max(1.0, self.outer_radius)
        if near.at_most <= allowed:
            return near.inside
        nearest = project(self.extreme_point, x).point
        self._refuse_outside(math.dist(x, nearest), allowed)
        return nearest
