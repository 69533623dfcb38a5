"""Conditional gradient (Frank and Wolfe, 1956), as in the paper and with exact line search."""

import math

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import choice, number, vector, whole
from sottovoce.projection.objective import Objective, Quadratic
from sottovoce.projection.result import Oracle, Projection, checked_gap

_INFINITE_SLOPE = 1e100  # stands for an infinite partial derivative: finite for the oracle, above all others


def conditional_gradient(
    oracle: Oracle, objective: Objective, start: Vector, *, gap: float, max_calls: int, rule: str = "line-search"
) -> Projection:
    """Minimise a smooth convex function over a set that is known by its linear oracle.

    Parameters
    ----------
    oracle : callable
        From a cost vector to a point of the set that minimises <cost, x>.
    objective : Objective
        What to minimise.
    start : array of shape (n,)
        A point of the set.
    gap : float
        Stop once the Frank-Wolfe gap is at most this.
    max_calls : int
        Stop after this many oracle calls, whatever the gap.
    rule : {"line-search", "open-loop"}
        Step sizes: the best one along the segment, or the paper's 2/(k + 2).

    Returns
    -------
    Projection
        Its gap belongs to the returned point: the last oracle call is made there.

    Examples
    --------
    >>> def oracle(cost):  # the square [-1, 1]^2
    ...     return np.where(cost > 0, -1.0, 1.0)
    >>> result = conditional_gradient(oracle, Quadratic([3.0, 0.5]), [1.0, 1.0], gap=1e-9, max_calls=100)
    >>> result.converged, result.point.round(6)
    (True, array([1. , 0.5]))
    """
    point = np.array(vector("start", start, np.size(start)))  # a copy: steps are taken in place
    number("gap", gap, above=-math.ulp(0.0))
    budget = whole("max_calls", max_calls)
    open_loop = choice("rule", rule, ("line-search", "open-loop")) == "open-loop"
    if isinstance(objective, Quadratic):
        vector("objective.target", objective.target, point.size)
    calls = 0
    while True:
        gradient = objective.gradient(point)
        if not math.isfinite(gradient.dot(gradient)):
            gradient = np.nan_to_num(gradient, nan=np.nan, posinf=_INFINITE_SLOPE, neginf=-_INFINITE_SLOPE)
        direction = oracle(gradient) - point
        calls += 1
        found = -float(gradient.dot(direction))
        if not found > gap or calls >= budget:  # NaN stops here, and is refused
            break
        point += (2.0 / (calls + 1) if open_loop else objective.line_search(point, direction)) * direction
    point.setflags(write=False)
    lengths = math.sqrt(direction.dot(direction)) + math.sqrt(point.dot(point))  # what a gap's rounding is measured by
    return Projection(point, checked_gap(found, math.sqrt(gradient.dot(gradient)) * lengths), gap, calls)
