"""The affine hull of a convex set, from its linear oracle alone.

Directions come from a fixed seed, so that one set always has one geometry.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Matrix, Vector

Oracle = Callable[[Vector], Vector]

SEED = 20_210_204
_FLAT = 1e-9  # width, relative to the set's extent, below which a direction counts as flat
CAUTION = 1e-9  # certificates give this fraction away to rounding
_LOOKS = 8  # directions, each taken both ways, whose vertices make a mean


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """Orthonormal rows that span the direction space of the affine hull, and the vertices met on the way."""

    basis: Matrix
    vertices: Matrix


def affine_hull(oracle: Oracle, dimension: int) -> Hull:
    """Find the affine hull by random directions that are orthogonal to what is known of it.

    If the set has no width along such a direction then, with probability one, all of the hull is known. Otherwise the
    two extreme points along it differ by a vector outside the span found so far.
    """
    rng = np.random.default_rng(SEED)
    basis = np.empty((0, dimension))
    vertices: list[Vector] = []
    extent = magnitude = 0.0
    flat = 0
    while len(basis) < dimension and flat < 2:  # a second look costs little
        normal = _orthogonal(rng.standard_normal(dimension), basis)
        pair = oracle(normal), oracle(-normal)
        vertices.extend(pair)
        across = pair[1] - pair[0]
        extent = max(extent, float(np.linalg.norm(across)))
        magnitude = max(magnitude, float(np.abs(pair).max()))
        if float(normal @ across) <= _FLAT * extent + 1e-13 * magnitude * math.sqrt(dimension):
            flat += 1
            continue
        flat = 0
        basis = np.vstack((basis, _orthogonal(across, basis)))
    return Hull(basis, np.unique(np.array(vertices), axis=0))


def _orthogonal(vector: Vector, basis: Matrix) -> Vector:
    """Return the unit vector of the part of `vector` outside the span (Gram-Schmidt, twice)."""
    for _ in range(2):
        vector = vector - (vector @ basis.T) @ basis
        vector = vector / np.linalg.norm(vector)
    return vector


def both_ways(oracle: Oracle, directions: Iterable[Vector]) -> list[Vector]:
    """Return the extreme points along each direction and against it."""
    return [oracle(sign * direction) for direction in directions for sign in (1.0, -1.0)]


def mean_of_vertices(oracle: Oracle, dimension: int) -> Vector:
    """Return the mean of a few vertices, in opposite directions: a point of the set, and nothing is proven of it.

    They are added up one by one, so that no more than a few vectors are in memory.
    """
    rng, total = np.random.default_rng(SEED), np.zeros(dimension)
    for _ in range(_LOOKS):
        for vertex in both_ways(oracle, [rng.standard_normal(dimension)]):
            total += vertex
    return total / (2 * _LOOKS)


def is_point(oracle: Oracle, dimension: int) -> bool:
    """Say whether the set has no width along a random direction: then, with probability one, it is a single point."""
    direction = np.random.default_rng(SEED).standard_normal(dimension)
    one, other = both_ways(oracle, [direction])
    magnitude = max(float(np.abs(one).max()), float(np.abs(other).max()))
    return float(direction @ (other - one)) <= 1e-13 * magnitude * math.sqrt(dimension)
