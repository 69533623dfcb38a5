"""What a projection returns: the point, and the proof of how good it is."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import Vector
from sottovoce.errors import DomainError
from sottovoce.projection.corral import Corral

__all__ = ["Oracle", "Projection", "checked_gap"]

Oracle = Callable[[Vector], Vector]
"""A linear oracle: from a cost vector to a point of the set where the cost is least."""


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A point of the set with its certificate.

    Attributes
    ----------
    point : array of shape (n,), read-only
        A convex combination of vertices that the oracle returned.
    gap : float
        The Frank-Wolfe gap max <gradient, point - v> over the set, from an oracle call at `point` itself. It bounds the
        error in the objective (Jaggi, 2013).
    tolerance : float
        The gap that was asked for.
    calls : int
        Oracle calls that were spent.
    atoms, weights : arrays of shape (k, n) and (k,), or None
        Vertices and their positive weights with mean `point`, where the method keeps them.
    """

    point: Vector
    gap: float
    tolerance: float
    calls: int
    corral: Corral | None = field(default=None, repr=False)
    weights: Vector | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        """Whether the gap of the returned point is within the tolerance."""
        return self.gap <= self.tolerance

    @property
    def distance(self) -> float:
        """Certified upper bound on the Euclidean distance to the true minimiser.

        By strong convexity ||x - x*||^2 <= <gradient(x), x - x*> <= gap. This holds for projections, and for every
        objective that is 1-strongly convex on the set.
        """
        return math.sqrt(self.gap)

    @property
    def atoms(self) -> NDArray[np.float64] | None:
        """The vertices of which the point is a mean; None if the method does not keep them."""
        return None if self.corral is None else self.corral.atoms


def checked_gap(gap: float, scale: float) -> float:
    """Return the gap without its rounding error below zero; refuse what no oracle of a convex set can return.

    At a point of the set the gap is never negative. A clearly negative one says that the oracle's answer is worse than
    the mean of its own earlier answers, or that the start lies outside the set.
    """
    if gap < -1e-7 * scale:
        raise DomainError(
            f"the oracle does not minimise over a set that holds the start: a known point is cheaper by {-gap:.3g}; "
            "check its sign (it must return argmin <cost, x>), and that a warm start belongs to the same set"
        )
    return gap if gap > 0.0 else 0.0
