"""What a projection returns: the point, and the proof of how good it is."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from sottovoce._arrays import Floats, Vector
from sottovoce.errors import DomainError
from sottovoce.projection._active_atoms import ActiveAtoms

Oracle = Callable[[Vector], Vector]
"""A linear oracle: from a cost vector to a point of the set where the cost is least."""

CLOSED_GAP = "a solver of integer programs closes its gap (scipy's milp: options={'mip_rel_gap': 0})"
"""What to see to, where answers may come from one: by default it stops within 1e-4 of the optimum."""
_SLACK = 1e-6  # of a set's extent, by which an answer may be dearer than the best: what is forgiven to solvers


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
        Vertices and their weights with mean `point`, where the method keeps them.
    active : ActiveAtoms
        The same atoms with their factor: what a warm start takes over.
    """

    point: Vector
    gap: float
    tolerance: float
    calls: int
    active: ActiveAtoms | None = field(default=None, repr=False)
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
    def scale(self) -> float:
        """A distance between two points of the set; 0 if none is known."""
        return 0.0 if self.active is None or len(self.active) == 1 else self.active.scale

    @property
    def atoms(self) -> Floats | None:
        """The vertices of which the point is a mean; None if the method does not keep them."""
        return None if self.active is None else self.active.atoms


def checked_gap(gap: float, scale: float) -> float:
    """Return the gap without its rounding error below zero; refuse what no oracle of a convex set can return.

    At a point of the set the gap is never negative. A clearly negative one says that the oracle's answer is worse than
    the mean of its own earlier answers, or that the start lies outside the set.
    """
    if not math.isfinite(gap):
        raise DomainError(f"the gap is {gap}: the oracle returned NaN or infinity, or products overflow")
    if gap < -_SLACK * scale:
        raise DomainError(
            f"the oracle does not minimise over a set that holds the start: a known point is cheaper by {-gap:.3g}, "
            f"and {_SLACK * scale:.3g} is allowed; check its sign (it must return argmin <cost, x>), that a warm start "
            f"belongs to the same set, and that {CLOSED_GAP}"
        )
    return max(gap, 0.0)
