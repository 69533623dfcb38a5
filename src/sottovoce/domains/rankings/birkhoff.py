"""Doubly stochastic matrices: mixtures of assignments."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import vector
from sottovoce.domains._geometry.orbits import Orbit, even_orbit, helmert
from sottovoce.domains._kinds import Bracket, Centred, Faceted, bracket
from sottovoce.domains._labels import Count, TwoSided, count_or_names, two_sides
from sottovoce.domains._solvers.assignment import permutation_mixture
from sottovoce.domains.base import read_only


class Birkhoff(TwoSided, Centred, Faceted):
    """Doubly stochastic matrices, whose vertices assign n things to n places; points are flat, row after row.

    Coordinate i n + j says how much of thing i goes to place j; every row and every column adds up to 1.

    Parameters
    ----------
    n : int, or list of names
        Number of rows and of columns, at least 2; or the names of the rows.
    columns : list of names, optional
        Names of the columns, as many as there are rows.
    labels : pair of lists of names, optional
        Names of rows and of columns, if n is a number.

    Examples
    --------
    >>> shifts = Birkhoff(3)
    >>> shifts.extreme_point([4.0, 1.0, 3.0, 2.0, 0.0, 5.0, 3.0, 2.0, 2.0]).reshape(3, 3)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    >>> shifts.affine_dimension, shifts.inner_radius
    (4, 0.5)
    >>> Birkhoff(["ann", "bob"], ["early", "late"]).chosen([0.0, 1.0, 1.0, 0.0])
    {'ann': 'late', 'bob': 'early'}
    """

    written = "birkhoff:4"

    def __init__(self, n: Count, columns: Any = None, *, labels: Any = None) -> None:
        self.n, _ = count_or_names("n", n, None, least=2)
        self._counts, self._sides = two_sides(("n", "columns"), (n, self.n if columns is None else columns), labels)
        if self._counts[1] != self.n:
            raise ValueError(f"columns must be as many as there are rows, {self.n}, got {self._counts[1]}")
        self.dimension = self.n**2
        self._center = read_only(np.full(self.dimension, 1 / self.n))

    def __repr__(self) -> str:
        return f"Birkhoff({self.n})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a segment and a small assignment."""
        return cls(2), cls(4)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return a cheapest permutation matrix."""
        table = vector("cost", cost, self.dimension).reshape(self.n, self.n)
        vertex = np.zeros((self.n, self.n))
        vertex[scipy.optimize.linear_sum_assignment(table)] = 1.0
        return vertex.ravel()

    def _chosen(self, places: Integers, entries: Vector) -> Any:
        """Return a dict from rows to columns; of a mixture, the share of every pair."""
        if len(places) != self.n or not (entries == 1.0).all():
            return self._shares(places, entries)
        return self._matched(divmod(place, self.n) for place in places.tolist())

    @property
    def affine_dimension(self) -> int:
        """Entries of all but the last row and column can be chosen."""
        return (self.n - 1) ** 2

    @property
    def inner_radius(self) -> float:
        """Distance from the centre to every facet x_ij = 0."""
        return 1 / (self.n - 1)

    @property
    def outer_radius(self) -> float:
        """Distance from the centre to every permutation."""
        return math.sqrt(self.n - 1)

    @property
    def diameter(self) -> float:
        """Distance of two permutations that agree nowhere."""
        return math.sqrt(2 * self.n)

    def orbit(self) -> Orbit:
        """Spread alike along all directions whose rows and columns add up to nothing."""
        return even_orbit(np.kron(helmert(self.n), helmert(self.n)), self.outer_radius)

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Subtract the means of rows and of columns, and add back the mean of all."""
        flat = self._vectors(vectors)
        tables = flat.reshape(*flat.shape[:-1], self.n, self.n)
        tables -= tables.mean(axis=-1, keepdims=True)
        tables -= tables.mean(axis=-2, keepdims=True)
        return flat

    def _bracket(self, x: Vector) -> Bracket:
        flat = self._center + self.tangent(x - self._center)
        return bracket(x, flat, lambda point: point, (self.n - 1) / self.n, self._center)

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw permutations with mean `x`, from Birkhoff's and von Neumann's decomposition."""
        permutations, weights = permutation_mixture(self._settled(x).reshape(self.n, self.n))
        columns = permutations[rng.choice(len(weights), p=weights, size=count)]
        rows = np.zeros((count, self.n, self.n))
        np.put_along_axis(rows, columns[:, :, None], 1.0, axis=2)
        return rows.reshape(count, self.dimension)
