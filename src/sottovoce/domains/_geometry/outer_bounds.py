"""Bounds on how far a convex set reaches, from its linear oracle alone.

Every radius is a certificate: it holds whatever vertices the search happened to meet.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Matrix, Vector
from sottovoce.domains._geometry.hull import CAUTION, SEED, Hull, Oracle


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Orthonormal rows that span at least the direction space, and the set's bounds along each."""

    axes: Matrix
    low: Vector
    high: Vector


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
