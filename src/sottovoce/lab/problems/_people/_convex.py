"""The best point against a smooth convex loss: pairwise Frank-Wolfe, which needs the oracle and a gradient only."""

from collections.abc import Callable

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.domains import Domain

__all__ = ["smooth_minimum"]

_HALVINGS = 50


def smooth_minimum(domain: Domain, gradient: Callable[[Vector], Vector], *, gap: float, steps: int = 2000) -> Vector:
    """Return a feasible point whose Frank-Wolfe gap is at most `gap`, or the best found within `steps`.

    Each step moves weight from the worst vertex in use to the best vertex there is (Lacoste-Julien and Jaggi, 2015), as
    far as the slope along the way is negative. On polytopes the gap shrinks by a constant factor with every good step.

    Parameters
    ----------
    domain : Domain
    gradient : callable
        Of a smooth convex function.
    gap : float
        <gradient(x), x - v> for the best vertex v: no feasible point is better than x by more.
    steps : int
        Oracle calls, at most.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.lab.problems._people._convex import smooth_minimum
    >>> smooth_minimum(sv.domains.Simplex(3), lambda x: x - [0.5, 0.4, -0.3], gap=1e-9).round(6) + 0.0
    array([0.55, 0.45, 0.  ])
    """
    vertices = [domain.extreme_point(gradient(domain.center))]
    weights = [1.0]
    x = vertices[0].copy()
    for _ in range(steps):
        slope = gradient(x)
        best = domain.extreme_point(slope)
        if slope @ (x - best) <= gap:
            break
        worst = int(np.argmax([slope @ vertex for vertex in vertices]))
        way = best - vertices[worst]
        step = _along(gradient, x, way, weights[worst])
        _move(vertices, weights, worst, best, step)
        x = np.asarray(weights) @ np.asarray(vertices)
    return x


def _along(gradient: Callable[[Vector], Vector], x: Vector, way: Vector, most: float) -> float:
    """Return where, between 0 and `most`, the slope along the way turns positive."""
    if gradient(x + most * way) @ way <= 0.0:
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if gradient(x + middle * way) @ way <= 0.0:
            low = middle
        else:
            high = middle
    return low


def _move(vertices: list[Vector], weights: list[float], worst: int, best: Vector, step: float) -> None:
    """Move `step` of weight from one vertex to another, which may be new; drop what has no weight left."""
    for i, vertex in enumerate(vertices):
        if np.array_equal(vertex, best):
            weights[i] += step
            break
    else:
        vertices.append(best)
        weights.append(step)
    weights[worst] -= step
    if weights[worst] <= 0.0:
        del vertices[worst], weights[worst]
