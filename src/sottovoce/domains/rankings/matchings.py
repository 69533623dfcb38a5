"""Matchings of two sides: assignments that may leave some out."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from sottovoce._arrays import Floats, Integers, Positions, Vector
from sottovoce._checks import vector
from sottovoce.domains._kinds import Bracket, Choices, Faceted, Full, bracket
from sottovoce.domains._labels import Count, TwoSided, two_sides
from sottovoce.domains._solvers.assignment import permutation_mixture
from sottovoce.domains.base import read_only
from sottovoce.errors import DomainError


class Matchings(TwoSided, Choices, Full, Faceted):
    """Matchings of a left and a right side: pairs of which no two share a member, or none at all.

    A coordinate for every pair that may be matched; the coordinates at one member add up to at most 1. A cheapest
    matching leaves out all pairs whose cost is not negative.

    Parameters
    ----------
    left, right : int, or list of names
        Number of members of each side, or their names.
    pairs : array of shape (m, 2), optional
        The pairs that may be matched, numbers on the left and on the right, in the order of the coordinates. Default:
        all, row after row (coordinate i right + j is the pair of i and j).
    labels : pair of lists of names, optional
        Names of the left and of the right side, if these are numbers.

    Examples
    --------
    >>> rides = Matchings(2, 3)
    >>> rides.extreme_point([-3.0, -2.0, 1.0, -2.0, 0.0, 4.0]).reshape(2, 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    >>> rides.contains([0.5, 0.5, 0.0, 0.5, 0.0, 0.0]), rides.contains([0.5, 0.6, 0.0, 0.0, 0.0, 0.0])
    (True, False)
    >>> Matchings(["ann", "bob"], ["car", "van", "bus"]).chosen([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    {'ann': 'bus'}
    """

    written = "matchings:4,5"

    def __init__(self, left: Count, right: Count, pairs: Any = None, *, labels: Any = None) -> None:
        self._counts, self._sides = two_sides(("left", "right"), (left, right), labels)
        self.left, self.right = self._counts
        self._pairs = _checked(pairs, self.left, self.right)
        self._pairs.setflags(write=False)
        self.dimension = len(self._pairs)
        self._center = read_only(np.full(self.dimension, self.inner_radius))

    def __repr__(self) -> str:
        some = "" if self.dimension == self.left * self.right else f", {self.dimension} pairs"
        return f"Matchings({self.left}, {self.right}{some})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return all pairs of unequal sides, and a path with a member that nobody fits."""
        return cls(2, 3), cls(3, 4, [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)])

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pair that each coordinate belongs to."""
        return tuple(map(tuple, self._pairs.tolist()))

    def _cells(self) -> Sequence[tuple[int, int]]:
        return self.pairs

    def _chosen(self, places: Integers, entries: Vector) -> Any:
        """Return a dict from the left to the right of every pair that is matched; of a mixture, the share of each."""
        if not (entries == 1.0).all():
            return self._shares(places, entries)
        return self._matched(map(tuple, self._pairs[places].tolist()))

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return a cheapest matching: a cheapest assignment, less the pairs that do not pay."""
        cost = vector("cost", cost, self.dimension)
        rows, columns = self._pairs.T
        table = np.zeros((self.left, self.right))
        table[rows, columns] = np.minimum(cost, 0.0)
        chosen = np.zeros((self.left, self.right))
        chosen[scipy.optimize.linear_sum_assignment(table)] = 1.0
        return np.where(cost < 0.0, chosen[rows, columns], 0.0)

    @cached_property
    def _members(self) -> Any:
        """Sparse 0/1 matrix from pairs to the members of both sides."""
        rows, columns = self._pairs.T
        ones, count = np.ones(2 * self.dimension), np.tile(np.arange(self.dimension), 2)
        return csr_array(
            (ones, (np.concatenate((rows, self.left + columns)), count)), shape=(self.left + self.right, self.dimension)
        )

    @cached_property
    def _degrees(self) -> Vector:
        rows, columns = self._pairs.T
        counts = np.bincount(rows, minlength=self.left), np.bincount(columns, minlength=self.right)
        return np.concatenate(counts).astype(np.float64)

    @property
    def inner_radius(self) -> float:
        """The largest there is, for any centre.

        At a member with D pairs a ball of radius r needs x >= r on each of them, and x(pairs) + sqrt(D) r <= 1.
        """
        most = float(self._degrees.max())
        return 1 / (most + math.sqrt(most))

    def _bracket(self, x: Vector) -> Bracket:
        norms = np.concatenate((np.ones(self.dimension), np.sqrt(np.maximum(self._degrees, 1.0))))
        return bracket(x, x, self._slacks, norms, self._center)

    def _slacks(self, x: Vector) -> Vector:
        return np.concatenate((x, 1.0 - self._members @ x))

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw matchings with mean `x`.

        Beside a copy of itself, turned over, and the chances of every member to stay alone, x becomes a doubly
        stochastic matrix; its permutations are matchings on the part that is x.
        """
        inside = np.maximum(self._settled(x), 0.0)
        alone = np.maximum(1.0 - self._members @ inside, 0.0)
        table = np.zeros((self.left, self.right))
        rows, columns = self._pairs.T
        table[rows, columns] = inside
        whole_table = np.block([[table, np.diag(alone[: self.left])], [np.diag(alone[self.left :]), table.T]])
        permutations, weights = permutation_mixture(whole_table)
        matchings: Floats = (permutations[:, rows] == columns).astype(np.float64)
        return matchings[rng.choice(len(weights), p=weights, size=count)]


def _checked(pairs: Any, left: int, right: int) -> Positions:
    """Return the pairs as an array of shape (m, 2), or say what is wrong."""
    if pairs is None:
        return np.stack(np.divmod(np.arange(left * right), right), axis=1)
    given = np.asarray(pairs)
    if given.ndim != 2 or given.shape[1] != 2 or len(given) == 0 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"pairs must be whole numbers of shape (m, 2), m >= 1, got {given.dtype} of shape {given.shape}"
        )
    outside = np.flatnonzero((given < 0).any(axis=1) | (given >= (left, right)).any(axis=1))
    if outside.size:
        bad = tuple(given[outside[0]].tolist())
        raise DomainError(f"pairs must be (0 to {left - 1}, 0 to {right - 1}), got {bad}")
    distinct, counts = np.unique(given, axis=0, return_counts=True)
    if len(distinct) < len(given):
        raise DomainError(f"pairs must be distinct, but {tuple(distinct[counts.argmax()].tolist())} is there twice")
    return given.astype(np.intp)
