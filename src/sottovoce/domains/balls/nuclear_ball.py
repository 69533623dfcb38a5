"""Matrices of bounded nuclear norm."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Positions, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._kinds import NormBall
from sottovoce.domains._labels import Count, TwoSided, two_sides
from sottovoce.domains.base import read_only


class NuclearBall(TwoSided, NormBall):
    """Matrices whose singular values add up to a radius at most, as flat vectors: means of rank-one matrices.

    Parameters
    ----------
    rows, columns : int, or list of names
        Shape of the matrices, or names of rows and columns; a point is a matrix, row after row, in a vector of length
        rows * columns.
    radius : float
        Largest nuclear norm.
    labels : pair of lists of names, optional
        Names of rows and of columns, if these are numbers.

    Examples
    --------
    >>> ball = NuclearBall(2, 3)
    >>> ball.extreme_point([0.0, 0.0, -2.0, 1.0, 0.0, 0.0]).reshape(2, 3).round(6) + 0.0
    array([[0., 0., 1.],
           [0., 0., 0.]])
    """

    written = "nuclear-ball:4,5"

    def __init__(self, rows: Count, columns: Count, radius: float = 1.0, *, labels: Any = None) -> None:
        self._counts, self._sides = two_sides(("rows", "columns"), (rows, columns), labels)
        self.rows, self.columns = self._counts
        self.radius = number("radius", radius, above=0.0)
        self.dimension = self.rows * self.columns
        self._center = read_only(np.zeros(self.dimension))

    def __repr__(self) -> str:
        return f"NuclearBall({self.rows}, {self.columns}, radius={self.radius:g})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a square, a wide and a tall one, and a single row."""
        return cls(2, 2), cls(2, 3, 5.0), cls(3, 2, 0.5), cls(1, 3)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return minus the leading singular pair of the cost, times the radius."""
        matrix = vector("cost", cost, self.dimension).reshape(self.rows, self.columns)
        largest = float(np.abs(matrix).max())
        if largest == 0.0:
            left, right = np.eye(self.rows)[0], np.eye(self.columns)[0]
        else:
            left, right = leading_pair(matrix / largest)
        vertex: Vector = np.multiply.outer(-self.radius * left, right).ravel()
        return vertex

    @property
    def inner_radius(self) -> float:
        """Frobenius norm of the matrix of nuclear norm `radius` whose singular values are all equal."""
        return self.radius / math.sqrt(min(self.rows, self.columns))

    def nearest(self, y: ArrayLike) -> Vector:
        """Return the projection: all singular values shrink by the same amount."""
        matrix = vector("y", y, self.dimension).reshape(self.rows, self.columns)
        return nearest_in_nuclear_ball(matrix, self.radius).ravel()

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw rank-one matrices with mean `x`: singular pairs, by their values; the rest, with fair signs, cancels."""
        self._refuse_outside(math.dist(x, self.nearest(x)), 1e-6 * self.radius)
        left, values, right = np.linalg.svd(x.reshape(self.rows, self.columns), full_matrices=False)
        picks, signs = signed_choices(values / self.radius, rng, count)
        pairs = (signs[:, None] * self.radius * left.T[picks])[:, :, None] * right[picks][:, None, :]
        return np.asarray(pairs.reshape(count, self.dimension))


def signed_choices(shares: Vector, rng: np.random.Generator, count: int) -> tuple[Positions, Vector]:
    """Draw indices i and signs whose mean is `shares` (non-negative, of sum at most 1): E[sign, i drawn] = shares_i.

    The rest of the probability is spread over all indices, with a fair sign.
    """
    rest = max(1.0 - float(shares.sum()), 0.0) / shares.size
    ends = np.cumsum(shares + rest)
    picks = np.minimum(np.searchsorted(ends, rng.random(count) * ends[-1], side="right"), shares.size - 1)
    odds = rest / 2 / np.maximum(shares + rest, np.finfo(float).tiny)  # of the wrong sign, given the index
    return picks, np.where(rng.random(count) < odds[picks], -1.0, 1.0)


def leading_pair(matrix: Floats) -> tuple[Vector, Vector]:
    """Return unit vectors u, v with u' matrix v the largest singular value."""
    wide = matrix.shape[0] < matrix.shape[1]
    lefts, _, rights = np.linalg.svd(matrix.T if wide else matrix, full_matrices=False)
    return (rights[0], lefts[:, 0]) if wide else (lefts[:, 0], rights[0])


def nearest_in_nuclear_ball(matrix: Floats, radius: float) -> Floats:
    """Return the nearest matrix of nuclear norm `radius` at most: shrink all singular values by the same amount.

    Examples
    --------
    >>> nearest_in_nuclear_ball(np.diag([3.0, 1.0]), 2.5).round(6)
    array([[2.25, 0.  ],
           [0.  , 0.25]])
    """
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    if values.sum() <= radius:
        return matrix
    excess = (np.cumsum(values) - radius) / np.arange(1, len(values) + 1)
    shrunk = np.maximum(values - excess[values > excess][-1], 0.0)
    result: Floats = (left * shrunk) @ right
    return result
