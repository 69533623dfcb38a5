"""Projection by linear oracle: the nearest point of a set that can only be asked for its extreme points."""

import math
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import choice, vector, whole
from sottovoce.errors import DomainError
from sottovoce.projection.frank_wolfe import conditional_gradient
from sottovoce.projection.min_norm_point import minimum_norm_point
from sottovoce.projection.objective import Entropy, Objective, Quadratic
from sottovoce.projection.result import Oracle, Projection, first_vertex

__all__ = [
    "Entropy",
    "Objective",
    "Oracle",
    "Projection",
    "Quadratic",
    "conditional_gradient",
    "minimum_norm_point",
    "project",
]

_METHODS = ("auto", "min-norm-point", "conditional-gradient", "open-loop")


class HasExtremePoint(Protocol):
    """Anything with a linear oracle by this name; every domain is one."""

    def extreme_point(self, cost: Vector) -> Vector:
        """Return argmin <cost, x> over the set."""


def project(
    domain: HasExtremePoint | Oracle,
    target: Vector,
    *,
    method: str = "auto",
    warm: Projection | None = None,
    gap: float | None = None,
    max_calls: int | None = None,
) -> Projection:
    """Return the point of `domain` nearest to `target`, with a certificate.

    Parameters
    ----------
    domain : Domain or callable
        Anything with a method `extreme_point`, or the bare linear oracle: a function from a cost vector to a point of
        the set where <cost, x> is least.
    target : array of shape (n,)
        The point to be projected.
    method : {"auto", "min-norm-point", "conditional-gradient", "open-loop"}
        "auto" is Wolfe's minimum-norm-point method. The other two are conditional gradient with exact line search, and
        with the paper's steps 2/(k + 2); they keep no atoms.
    warm : Projection, optional
        An earlier result on the same set to start from. The nearer the targets, the fewer the oracle calls.
    gap : float, optional
        Stop once the Frank-Wolfe gap is at most this; the distance to the true projection is then at most its square
        root. The default is relative to the scale of the set (a distance between vertices that the oracle returned):
        1e-10 scale^2 for the minimum-norm point (for targets farther than 100 scales, 1e-12 scale *
        distance, since rounding allows no less), and 1e-4 scale^2 for conditional gradient, which converges slowly.
    max_calls : int, optional
        Oracle budget. Default: 1000 + 20 n for the minimum-norm point, 10 000 for conditional gradient. A
        start from cold takes at least two calls, and conditional gradient two more to find the default gap.

    Returns
    -------
    Projection
        With `point`, `gap` (recomputed at that point), `distance`, `calls`, `converged`, and `atoms` and `weights`
        where the method keeps them.

    Examples
    --------
    >>> def square(cost):  # [-1, 1]^2
    ...     return np.where(cost > 0, -1.0, 1.0)
    >>> result = project(square, [3.0, 0.5])
    >>> result.point.round(6), result.converged, result.distance < 1e-4
    (array([1. , 0.5]), True, True)
    """
    oracle: Any = getattr(domain, "extreme_point", domain)
    if not callable(oracle):
        raise TypeError(f"domain must be a Domain or a linear oracle (a function from cost to vertex), got {domain!r}")
    target = vector("target", target, getattr(domain, "dimension", np.size(target)))
    if choice("method", method, _METHODS) in ("auto", "min-norm-point"):
        return minimum_norm_point(oracle, target, warm=warm, gap=gap, max_calls=max_calls)
    start, spent = (first_vertex(oracle, target), 1) if warm is None else (warm.point, 0)
    if gap is None:
        gap, spent = 1e-4 * _squared_scale(oracle, start - target), spent + 2
    budget = max(whole("max_calls", 10_000 if max_calls is None else max_calls) - spent, 1)
    rule = "open-loop" if method == "open-loop" else "line-search"
    result = conditional_gradient(oracle, Quadratic(target), start, gap=gap, max_calls=budget, rule=rule)
    return replace(result, calls=result.calls + spent)


def _squared_scale(oracle: Oracle, cost: Vector) -> float:
    """Return the squared distance of two opposite vertices."""
    across = oracle(cost) - oracle(-cost)
    square = float(across.dot(across))
    if not math.isfinite(square):
        raise DomainError(f"the oracle returned vectors whose squared distance is {square}")
    return square
