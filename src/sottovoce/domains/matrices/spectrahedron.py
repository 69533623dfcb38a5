"""Positive semidefinite matrices of given trace."""

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce._arrays import Floats, Matrix, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._labels import Count, TwoSided, count_or_names
from sottovoce.domains._solvers.eigenvectors import leading_eigenvector
from sottovoce.domains.base import Domain, Fixed, how_many, read_only
from sottovoce.domains.choices.hypersimplex import distance

_SMALL = 40  # size up to which a full decomposition is as fast as iterations


class Spectrahedron(TwoSided, Fixed, Domain):
    """Symmetric positive semidefinite matrices of given trace, as flat vectors; density matrices if the trace is 1.

    Parameters
    ----------
    n : int, or list of names
        Size of the matrices, at least 2, or names of their rows and columns; a point is a matrix, row after row, in a
        vector of length n * n.
    trace : float
        Their trace.
    labels : list of names, optional
        Names of rows and columns, if n is a number.

    Examples
    --------
    >>> states = Spectrahedron(2)
    >>> states.extreme_point([1.0, 0.0, 0.0, -1.0]).round(6) + 0.0
    array([0., 0., 0., 1.])
    >>> states.affine_dimension, states.contains([0.5, 0.6, 0.6, 0.5])
    (2, False)
    """

    written = "spectrahedron:4"
    chosen_as = "amounts"

    def __init__(self, n: Count, trace: float = 1.0, *, labels: Any = None) -> None:
        self.n, names = count_or_names("n", n, labels, least=2)
        self._sides = None if names is None else (names, names)
        self._remember_names(names, n=self.n)
        self.trace = number("trace", trace, above=0.0)
        self.dimension = self.n**2
        self._center = read_only(np.eye(self.n).ravel() * (self.trace / self.n))

    def __repr__(self) -> str:
        return f"Spectrahedron({self.n}, trace={self.trace:g})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return the smallest there is, and a larger one of another trace."""
        return cls(2), cls(3, 7.0)

    @property
    def label_counts(self) -> tuple[int, ...]:
        """Rows, which are columns as well."""
        return (self.n,)

    def _cells(self) -> Iterable[tuple[int, int]]:
        return product(range(self.n), range(self.n))

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the projection on the least eigenvector of the cost's symmetric part, times the trace."""
        left, weight, right = self.extreme_factors(cost)
        return np.multiply.outer(weight * left, right).ravel()

    def extreme_factors(self, cost: ArrayLike) -> tuple[Vector, float, Vector]:
        """Return a unit vector v, the trace w, and v again: `extreme_point` is w v v', which need not be formed.

        Parameters
        ----------
        cost
            As for `extreme_point`: a matrix, written row by row.
        """
        matrix = vector("cost", cost, self.dimension).reshape(self.n, self.n)
        largest = float(np.abs(matrix).max()) or 1.0
        symmetric = matrix / largest
        symmetric = (symmetric + symmetric.T) / 2
        least = _least_eigenvector(symmetric)
        return least, self.trace, least

    @property
    def affine_dimension(self) -> int:
        """Symmetric matrices, less one for the trace."""
        return self.n * (self.n + 1) // 2 - 1

    @property
    def center(self) -> Vector:
        """The multiple of the identity; read-only."""
        return self._center

    @property
    def inner_radius(self) -> float:
        """Distance to the matrices of rank n - 1 whose other eigenvalues are equal."""
        return self.trace / math.sqrt(self.n * (self.n - 1))

    @property
    def outer_radius(self) -> float:
        """Distance to every matrix of rank one."""
        return self.trace * math.sqrt(1 - 1 / self.n)

    @property
    def diameter(self) -> float:
        """Distance of two orthogonal matrices of rank one."""
        return self.trace * math.sqrt(2)

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Take the symmetric part, and subtract its trace."""
        rows = self._vectors(vectors)
        matrices = rows.reshape(-1, self.n, self.n)
        matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
        traces = np.trace(matrices, axis1=1, axis2=2)
        matrices -= (traces / self.n)[:, None, None] * np.eye(self.n)
        return matrices.reshape(rows.shape)

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the (Frobenius) distance `tolerance`: its eigenvalues tell."""
        symmetric, skew = self._parts(vector("x", x, self.dimension))
        tolerance = number("tolerance", tolerance, above=0.0)
        return math.hypot(skew, self._distance(np.linalg.eigvalsh(symmetric))) <= tolerance

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw matrices of rank one with mean `x`: eigenvectors, by their eigenvalues."""
        symmetric, skew = self._parts(vector("x", x, self.dimension))
        count = how_many(size)
        values, vectors = np.linalg.eigh(symmetric)
        away = math.hypot(skew, self._distance(values))
        if away > 1e-6 * self.trace:
            raise self._outside(away)
        shares = np.maximum(values, 0.0)
        chosen = vectors.T[rng.choice(self.n, p=shares / shares.sum(), size=count)]
        pairs = self.trace * chosen[:, :, None] * chosen[:, None, :]
        return self._drawn(pairs.reshape(count, self.dimension), size)

    def _parts(self, x: Vector) -> tuple[Floats, float]:
        """Return the symmetric part, and the length of the other."""
        matrix = x.reshape(self.n, self.n)
        return (matrix + matrix.T) / 2, float(np.linalg.norm(matrix - matrix.T)) / 2

    def _distance(self, eigenvalues: NDArray[np.floating]) -> float:
        """Return the distance to the set: that of the eigenvalues to the simplex."""
        return self.trace * distance(np.asarray(eigenvalues / self.trace, dtype=np.float64), 1)


def _least_eigenvector(symmetric: Matrix) -> Vector:
    """Return a unit eigenvector of the least eigenvalue."""
    if len(symmetric) > _SMALL:
        # No eigenvalue is larger than this norm: what is asked for is the largest of norm - eigenvalue, all of them
        # positive, so that a residual relative to it is one relative to the matrix.
        norm = float(np.linalg.norm(symmetric))
        found = leading_eigenvector(lambda v: norm * v - symmetric @ v, len(symmetric))
        if found is not None:
            return found
    vector: Vector = np.linalg.eigh(symmetric)[1][:, 0]
    return vector
