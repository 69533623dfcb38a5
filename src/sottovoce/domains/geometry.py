"""Geometry of a convex set from its linear oracle alone: affine hull and outer bounds.

Every radius is a certificate: it holds whatever vertices the search happened to meet. Directions come from a fixed
seed, so that one set always has one geometry.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import Vector

__all__ = ["Frame", "Hull", "affine_hull", "both_ways", "diameter", "frames", "outer_radius"]

Matrix = NDArray[np.float64]
Oracle = Callable[[Vector], Vector]

SEED = 20_210_204
_FLAT = 1e-9  # width, relative to the set's extent, below which a direction counts as flat
CAUTION = 1e-9  # certificates give this fraction away to rounding


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """Orthonormal rows that span the direction space of the affine hull, and the vertices met on the way."""

    basis: Matrix
    vertices: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Orthonormal rows that span at least the direction space, and the set's bounds along each."""

    axes: Matrix
    low: Vector
    high: Vector


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


def frames(oracle: Oracle, hull: Hull) -> tuple[Frame, ...]:
    """Return the set's bounds along the ambient axes, the principal axes of its vertices, and random ones."""
    dimension = hull.basis.shape[1]
    choices = [np.eye(dimension)]
    if len(hull.basis) > 0:
        local = (hull.vertices - hull.vertices.mean(axis=0)) @ hull.basis.T
        choices.append(np.linalg.eigh(local.T @ local)[1].T @ hull.basis)
        mixed = np.random.default_rng(SEED + 2).standard_normal((len(hull.basis), len(hull.basis)))
        choices.append(np.linalg.qr(mixed)[0] @ hull.basis)
    return tuple(_frame(oracle, axes) for axes in choices)


def _frame(oracle: Oracle, axes: Matrix) -> Frame:
    low = np.array([axis @ oracle(axis) for axis in axes])
    high = np.array([axis @ oracle(-axis) for axis in axes])
    return Frame(axes, low, np.maximum(high, low))


def outer_radius(oracle: Oracle, frames: Iterable[Frame], center: Vector) -> float:
    """Bound the distance from `center`, exactly for 0/1 polytopes.

    Between its bounds a square lies below its chord, t^2 <= (low + high) t - low high; the sum of the chords over the
    axes is linear in x, and the oracle maximises it.
    """
    return math.sqrt(min(_chords(oracle, frame, center) for frame in frames)) * (1 + CAUTION)


def _chords(oracle: Oracle, frame: Frame, center: Vector) -> float:
    middle = frame.axes @ center
    low, high = frame.low - middle, frame.high - middle
    slope = (low + high) @ frame.axes
    farthest = frame.axes @ oracle(-slope) - middle
    return max(0.0, float((low + high) @ farthest - low @ high))


def diameter(oracle: Oracle, frames: Iterable[Frame]) -> float:
    """Bound the distance of any two points, exactly for simplices and hypersimplices.

    Along one axis |s - t|^2 <= width ((s - low) + (t - low)), and likewise from above: twice the maximum of a linear
    function.
    """
    return math.sqrt(min(_spans(oracle, frame) for frame in frames)) * (1 + CAUTION)


def _spans(oracle: Oracle, frame: Frame) -> float:
    width = frame.high - frame.low
    slope = width @ frame.axes
    above = float(width @ (frame.axes @ oracle(-slope) - frame.low))
    below = float(width @ (frame.high - frame.axes @ oracle(slope)))
    return max(0.0, min(2 * above, 2 * below, float(width @ width)))
