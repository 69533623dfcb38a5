"""Is a point in a polytope with known facets? Mostly answered by two cheap bounds on its distance."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.domains.base import Domain, Fixed
from sottovoce.projection import project


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
