"""Base polytopes of F(number of elements): the permutations of the steps F(s) - F(s - 1), whatever their order.

Both `Permutahedron` and `BasePolytope` are such sets, the latter for a concave function of cardinality.
"""

import math

import numpy as np
from scipy.optimize import isotonic_regression

from sottovoce._arrays import Vector

__all__ = ["diameter", "distance", "inner_radius", "nearest", "outer_radius"]


def inner_radius(falling: Vector) -> float:
    """Return the distance from the centre, the constant vector, to the nearest facet; `falling` are the sorted steps.

    The facets of sets of size s are (F(s) - s F(n)/n) / sqrt(s (1 - s/n)) away.
    """
    n = len(falling)
    sizes = np.arange(1, n)
    # Sums of deviations from the mean, not differences of large sums: the centre may be far from the origin.
    room = np.cumsum(falling - falling.mean())[:-1]
    return max(0.0, float((room / np.sqrt(sizes * (1 - sizes / n))).min()))


def outer_radius(falling: Vector) -> float:
    """Return the distance from the centre to every vertex."""
    return float(np.linalg.norm(falling - falling.mean()))


def diameter(falling: Vector) -> float:
    """Return the distance between an order and its reverse: no two are farther apart (rearrangement)."""
    return math.dist(falling, falling[::-1])


def nearest(y: Vector, falling: Vector) -> Vector:
    """Return the projection of y: in falling order of y, what exceeds `falling` is regressed to be falling too.

    (Negrinho and Martins, 2014; Lim and Wright, 2016.)

    Examples
    --------
    >>> nearest(np.array([0.0, 9.0, 0.0]), np.array([3.0, 2.0, 1.0]))
    array([1.5, 3. , 1.5])
    """
    order = np.argsort(-y, kind="stable")
    excess = isotonic_regression(y[order] - falling, increasing=False).x
    point = np.empty_like(y)
    point[order] = y[order] - excess
    return point


def distance(x: Vector, falling: Vector) -> float:
    """Return the distance of x from the polytope; 0 exactly where `falling` majorises x."""
    return math.dist(x, nearest(x, falling))
