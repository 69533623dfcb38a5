"""When a projection is good enough: the gap that was asked for, and what rounding lets anyone see of it."""

import math

import numpy as np
from scipy.linalg.blas import dnrm2

from sottovoce._arrays import Vector
from sottovoce._checks import number
from sottovoce.errors import DomainError

CLOSED_GAP = "a solver of integer programs closes its gap (scipy's milp: options={'mip_rel_gap': 0})"
"""What to see to, where answers may come from one: by default it stops within 1e-4 of the optimum."""
_SLACK = 1e-6  # of a set's extent, by which an answer may be dearer than the best: what is forgiven to solvers
_EPSILON = float(np.finfo(np.float64).eps)


class Stopping:
    """The tolerance of a search, which learns the scale of the set from the oracle's answers.

    Parameters
    ----------
    gap : float or None
        The Frank-Wolfe gap that is asked for. None: 1e-10 times the squared scale of the set (the largest distance
        between a vertex and a point that was met), or 1e-12 times the scale times the distance to the target if that
        is more, and never within 50 times the gap's own rounding error.
    scale : float
        A distance between two points of the set, if one is known.
    """

    __slots__ = ("_asked", "found", "length", "reach", "rounding", "scale", "tolerance")

    def __init__(self, gap: float | None, scale: float = 0.0) -> None:
        self._asked = gap if gap is None else number("gap", gap, above=-math.ulp(0.0))
        self.scale = scale
        self.found = math.inf

    def look(self, point: Vector, away: Vector) -> None:
        """Take the measure of a point, `away` from its target."""
        self.length: float = dnrm2(away)
        self.reach: float = dnrm2(point)
        blur = _EPSILON * self.reach  # neither factor of the gap is known any better
        self.rounding = blur * (self.scale + self.length + blur)
        if self._asked is None:
            self.tolerance = max(1e-10 * self.scale * self.scale, 1e-12 * self.scale * self.length, 50 * self.rounding)
        else:
            self.tolerance = self._asked

    def judge(self, point: Vector, away: Vector, vertex: Vector) -> bool:
        """Say whether the point is good enough, given the oracle's answer to `away`; set `found`, its gap."""
        if vertex.shape != point.shape:
            raise DomainError(f"the oracle must return vectors of shape {point.shape}, got {vertex.shape}")
        direction = vertex - point
        self.scale = max(self.scale, dnrm2(direction))
        self.look(point, away)
        self.found = -float(away.dot(direction))
        if not math.isfinite(self.found + self.tolerance):
            raise DomainError(
                f"the gap is {self.found}: the oracle returned NaN or infinity, or numbers so large that products "
                f"overflow (the set reaches over {self.scale:.3g}, its cost has length {self.length:.3g})"
            )
        return bool(self.found <= max(self.tolerance, self.rounding))

    def certificate(self) -> float:
        """Return the last gap found, without its rounding error below zero."""
        return checked_gap(self.found, self.length * (self.scale + self.reach))


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
