"""Base polytopes of F(number of elements): the permutations of the steps F(s) - F(s - 1), whatever their order.

Both `Permutahedron` and `BasePolytope` are such sets, the latter for a concave function of cardinality.
"""

import math

import numpy as np
import scipy

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._solvers.transfers import permutations_by_transfers, swapped, transfers

__all__ = [
    "diameter",
    "distance",
    "draw",
    "inner_radius",
    "mixture",
    "nearest",
    "outer_radius",
    "rounding_of",
    "settled",
]

_UNIFORMS = 2_000_000  # random numbers drawn at a time for swaps
_ROUNDING = 1e-12  # by which sums may exceed what they are at most, relative to how far the steps lie apart


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
    excess = scipy.optimize.isotonic_regression(y[order] - falling, increasing=False).x
    point = np.empty_like(y)
    point[order] = y[order] - excess
    return point


def distance(x: Vector, falling: Vector) -> float:
    """Return the distance of x from the polytope; 0 exactly where `falling` majorises x."""
    return math.dist(x, nearest(x, falling))


def draw(x: Vector, falling: Vector, rng: np.random.Generator, count: int) -> Floats:
    """Draw vertices with mean x, a point of the polytope up to rounding, by a coin for each of fewer than n transfers.

    Examples
    --------
    >>> draw(np.array([1.5, 3.0, 1.5]), np.array([3.0, 2.0, 1.0]), np.random.default_rng(0), 2)
    array([[2., 3., 1.],
           [1., 3., 2.]])
    """
    order = np.argsort(-x, kind="stable")
    givers, takers, _, chances = transfers(falling, x[order])
    block = max(1, _UNIFORMS // len(x))
    rows = [
        swapped(falling, order, givers, takers, chances, rng.random((min(block, count - done), len(chances))))
        for done in range(0, max(count, 1), block)
    ]
    return rows[0] if len(rows) == 1 else np.vstack(rows)


def mixture(x: Vector, falling: Vector) -> tuple[Floats, Vector]:
    """Return at most n vertices and their weights, with mean x, a point of the polytope up to rounding.

    Examples
    --------
    >>> vertices, weights = mixture(np.array([1.5, 3.0, 1.5]), np.array([3.0, 2.0, 1.0]))
    >>> vertices, weights
    (array([[2., 3., 1.],
           [1., 3., 2.]]), array([0.5, 0.5]))
    """
    order = np.argsort(-x, kind="stable")
    givers, takers, amounts, _ = transfers(falling, x[order])
    return permutations_by_transfers(falling, order, givers, takers, amounts)


def settled(x: Vector, falling: Vector) -> tuple[Vector, float]:
    """Return the point of the polytope nearest to x, and how far that is; x itself, quickly, if it is rounding."""
    room = np.cumsum(falling - np.sort(x)[::-1])
    rounding = _ROUNDING * float(falling[0] - falling[-1]) + 4e-16 * float(np.abs(falling).sum())
    rounding = min(rounding, rounding_of(falling))  # of steps that lie close together, far from 0
    if room.min() >= -rounding and abs(room[-1]) <= rounding:
        return x, 0.0
    point = nearest(x, falling)
    return point, math.dist(x, point)


def rounding_of(falling: Vector) -> float:
    """Return the distance from the polytope at which a point still counts as one of its points."""
    return 1e-6 * math.sqrt(len(falling)) * float(falling[0] - falling[-1])
