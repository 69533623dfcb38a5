"""Wolfe's minimum-norm-point method: the projection, from a linear oracle, in few calls.

The point is kept as the mean of affinely independent atoms. A major step asks the oracle for one more atom; minor
steps go to the point of the atoms' affine hull nearest to the target, and drop an atom whenever its weight would turn
negative (Wolfe, 1976). On a polytope the method ends after finitely many steps.
"""

import math

import numpy as np

from sottovoce._checks import Vector, number, vector, whole
from sottovoce.projection.corral import Corral
from sottovoce.projection.result import Oracle, Projection, checked_gap

__all__ = ["minimum_norm_point"]

_EPSILON = float(np.finfo(np.float64).eps)


def minimum_norm_point(
    oracle: Oracle,
    target: Vector,
    *,
    warm: Projection | None = None,
    gap: float | None = None,
    max_calls: int | None = None,
) -> Projection:
    """Project `target` on a convex set that is known by its linear oracle.

    Parameters
    ----------
    oracle : callable
        From a cost vector to a point of the set that minimises <cost, x>.
    target : array of shape (n,)
        The point to be projected.
    warm : Projection, optional
        An earlier result of this method on the same set: its atoms and their factor are taken over.
    gap : float, optional
        Stop once the Frank-Wolfe gap is at most this. Default: 1e-10 times the squared scale of the set (the largest
        distance between a vertex and a point that was met), or 1e-12 times the scale times the distance to the target
        if that is more, and never within 50 times the gap's own rounding error. Whatever was asked for, the search
        ends where rounding hides the gap; `converged` then says whether that was enough.
    max_calls : int, optional
        Stop after this many oracle calls, whatever the gap. Default: 1000 + 20 n.

    Returns
    -------
    Projection
        Its gap belongs to the returned point: the last oracle call is made there.

    Examples
    --------
    >>> def oracle(cost):  # the probability simplex
    ...     vertex = np.zeros(cost.size)
    ...     vertex[cost.argmin()] = 1.0
    ...     return vertex
    >>> result = minimum_norm_point(oracle, [0.9, 0.5, -1.0])
    >>> result.converged, result.point.round(6)
    (True, array([0.7, 0.3, 0. ]))
    >>> minimum_norm_point(oracle, [0.9, 0.52, -1.0], warm=result).calls
    1
    """
    target = vector("target", target, np.size(target))
    if gap is not None:
        number("gap", gap, above=-math.ulp(0.0))
    budget = whole("max_calls", 1000 + 20 * target.size if max_calls is None else max_calls)
    corral, weights, point, calls = _start(oracle, target, warm)
    scale = 0.0
    while True:
        away = point - target
        vertex = oracle(away)
        calls += 1
        direction = vertex - point
        found = -float(away.dot(direction))
        length = math.sqrt(away.dot(away))
        scale = max(scale, math.sqrt(direction.dot(direction)))
        blur = _EPSILON * math.sqrt(point.dot(point))  # neither factor of the gap is known any better
        rounding = blur * (scale + length + blur)
        tolerance = max(1e-10 * scale * scale, 1e-12 * scale * length, 50 * rounding) if gap is None else gap
        if found <= max(tolerance, rounding) or calls >= budget:
            break
        longer = corral.append(vertex)
        if longer is None:  # a gap that rounding made: atoms of one affine hull all have the same <away, atom>
            break
        corral, weights, point = _descend(longer, np.append(weights, 0.0), point, target)
    point.setflags(write=False)
    return Projection(
        point, checked_gap(found, length * (scale + float(np.abs(point).max()))), tolerance, calls, corral, weights
    )


def _start(oracle: Oracle, target: Vector, warm: Projection | None) -> tuple[Corral, Vector, Vector, int]:
    """Return atoms, weights, their mean, and the oracle calls spent."""
    if warm is None or warm.corral is None or warm.weights is None:
        vertex = np.array(oracle(-target), dtype=np.float64)
        if vertex.shape != target.shape:
            raise ValueError(f"target must have the shape of the oracle's answers, {vertex.shape}, got {target.shape}")
        return Corral.single(vertex), np.ones(1), vertex, 1
    if warm.point.shape != target.shape:
        raise ValueError(
            f"warm must come from the same set: its point has shape {warm.point.shape}, target {target.shape}"
        )
    return *_descend(warm.corral, warm.weights, warm.point, target), 0


def _descend(corral: Corral, weights: Vector, point: Vector, target: Vector) -> tuple[Corral, Vector, Vector]:
    """Take minor steps until the point is the nearest to `target` in the affine hull of its own atoms."""
    while True:
        change = corral.toward(target - point)
        wanted = weights + change
        if wanted.min() >= 0.0:
            weights = wanted / wanted.sum()
            return corral, weights, weights @ corral.atoms
        shrinking = np.flatnonzero(wanted < 0.0)
        ratios = weights[shrinking] / -change[shrinking]
        first = int(ratios.argmin())
        weights = weights + ratios[first] * change
        gone = int(shrinking[first])
        corral, weights = corral.remove(gone), np.maximum(np.delete(weights, gone), 0.0)
        weights /= weights.sum()
        point = weights @ corral.atoms
