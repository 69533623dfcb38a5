"""Rankings: all permutations of a weight vector."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import vector
from sottovoce.domains._flatness import FixedSum
from sottovoce.domains._geometry import permutations
from sottovoce.domains._labels import count_or_names
from sottovoce.domains.base import read_only
from sottovoce.errors import DomainError


class Permutahedron(FixedSum):
    """Rankings: the permutations of given weights.

    Coordinate i is the weight of the place in which item i stands. The set is all x that the weights majorise: the sum
    of any s coordinates is at most that of the s largest weights, and the sum of all is the same.

    Parameters
    ----------
    weights : array of shape (n,), int, or list of names
        The weights of the places, in any order, not all equal; a number n, or n names of items, stand for 1, 2, ..., n.
    labels : list of names, optional
        Names of the items, if weights are numbers.

    Examples
    --------
    >>> ranking = Permutahedron([1.0, 2.0, 3.0, 4.0])
    >>> ranking.extreme_point([0.3, -2.0, 0.1, 7.0])
    array([2., 4., 3., 1.])
    >>> ranking.contains([2.0, 2.0, 3.0, 3.0]), ranking.contains([0.0, 3.0, 3.0, 4.0])
    (True, False)
    >>> Permutahedron(["tea", "coffee", "cocoa"]).chosen([2.0, 3.0, 1.0])  # the largest weight first
    ['coffee', 'tea', 'cocoa']
    """

    written = "permutahedron:10"

    def __init__(self, weights: Any, *, labels: Any = None) -> None:
        if isinstance(weights, int | np.integer) or _are_names(weights):
            count, names = count_or_names("weights", weights, labels)
            weights, labels = np.arange(1.0, count + 1.0), names
        values = vector("weights", weights, np.size(weights))
        if len(values) < 2 or np.ptp(values) == 0.0:
            raise DomainError(f"weights must be at least two numbers that are not all equal, got {values!r}")
        self.weights = read_only(np.sort(values)[::-1])
        self.dimension = len(values)
        self._center = read_only(np.full(self.dimension, values.mean()))
        self._name(labels)

    def __repr__(self) -> str:
        if self.dimension <= 6:
            return f"Permutahedron({self.weights[::-1].tolist()})"
        return f"Permutahedron({self.dimension} weights from {self.weights[-1]:g} to {self.weights[0]:g})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return the classic one, one with ties, one with signs and scales, and a segment."""
        return cls(4), cls([0.0, 0.0, 1.0, 1.0, 2.0]), cls([-30.0, 0.5, 20.0, 1.0, 4.0]), cls([1.0, 5.0])

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the ranking in which the cheapest item has the largest weight; the first of equals first."""
        cost = vector("cost", cost, self.dimension)
        vertex = np.empty(self.dimension)
        vertex[cost.argsort(kind="stable")] = self.weights
        return vertex

    @property
    def inner_radius(self) -> float:
        """Distance from the centre to the nearest facet.

        Those of the sums of s coordinates are (W_s - s W_n/n) / sqrt(s (1 - s/n)) away, W_s the sum of the s largest
        weights.
        """
        n, sizes = self.dimension, np.arange(1, self.dimension)
        # Sums of deviations from the mean, not differences of large sums: the centre may be far from the origin.
        room = np.cumsum(self.weights - self.weights.mean())[:-1]
        return max(0.0, float((room / np.sqrt(sizes * (1 - sizes / n))).min()))

    @property
    def outer_radius(self) -> float:
        """Distance from the centre to every ranking."""
        return float(np.linalg.norm(self.weights - self.weights.mean()))

    @property
    def diameter(self) -> float:
        """Distance of a ranking and its reverse: no two are farther apart (rearrangement)."""
        return math.dist(self.weights, self.weights[::-1])

    def _chosen(self, places: Integers, entries: Vector) -> Any:
        """Return the items in the order of their places, the largest weight first; of a mixture, the weights."""
        x = self._written(places, entries)
        order = np.argsort(-x, kind="stable")
        if np.abs(x[order] - self.weights).max() > 1e-9 * float(np.abs(self.weights).max()):
            return self._shares(order, x[order])
        return [self.coordinate_names[i] for i in order.tolist()]

    def nearest(self, y: ArrayLike) -> Vector:
        """Return the projection of `y`, by isotonic regression."""
        return permutations.nearest(vector("y", y, self.dimension), self.weights)

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw rankings with mean `x`: fewer than n swaps, each by the toss of a coin."""
        return permutations.draw(self._settled(x), self.weights, rng, count)

    def _settled(self, x: ArrayLike) -> Vector:
        point, away = permutations.settled(vector("x", x, self.dimension), self.weights)
        self._refuse_outside(away, permutations.rounding_of(self.weights))
        return point


def _are_names(weights: Any) -> bool:
    """Say whether these are items in place of weights: texts, which no weight is."""
    given = weights.tolist() if hasattr(weights, "tolist") else weights
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(one, str) for one in given)
