"""Rankings: all permutations of a weight vector."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Indices, Integers, Positions, Vector
from sottovoce._checks import vector
from sottovoce._compiled import compiled
from sottovoce.domains._kinds import FixedSum
from sottovoce.domains._labels import count_or_names
from sottovoce.domains.base import read_only
from sottovoce.errors import DomainError

_UNIFORMS = 2_000_000  # random numbers drawn at a time for swaps
_ROUNDING = 1e-12  # by which sums may exceed what they are at most, relative to how far the steps lie apart


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
        """Return the projection of `y`: in its falling order, what exceeds the weights is regressed to be falling too.

        (Negrinho and Martins, 2014; Lim and Wright, 2016.)
        """
        y = vector("y", y, self.dimension)
        order = np.argsort(-y, kind="stable")
        excess = scipy.optimize.isotonic_regression(y[order] - self.weights, increasing=False).x
        point = np.empty_like(y)
        point[order] = y[order] - excess
        return point

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw rankings with mean `x`: fewer than n swaps, each by the toss of a coin."""
        mean = self._settled(x)
        order = np.argsort(-mean, kind="stable")
        givers, takers, chances = transfers(self.weights, mean[order])
        block = max(1, _UNIFORMS // self.dimension)
        rows = [
            swapped(self.weights, order, givers, takers, chances, rng.random((min(block, count - done), len(chances))))
            for done in range(0, max(count, 1), block)
        ]
        return rows[0] if len(rows) == 1 else np.vstack(rows)

    def _settled(self, x: Vector) -> Vector:
        """Return the point of the set nearest to x, or x itself, quickly, if it is rounding; raise if x is outside."""
        falling, steps = self.weights, float(self.weights[0] - self.weights[-1])
        allowed = 1e-6 * math.sqrt(self.dimension) * steps
        room = np.cumsum(falling - np.sort(x)[::-1])
        rounding = _ROUNDING * steps + 4e-16 * float(np.abs(falling).sum())
        rounding = min(rounding, allowed)  # of steps that lie close together, far from 0
        if room.min() >= -rounding and abs(room[-1]) <= rounding:
            return x
        point = self.nearest(x)
        self._refuse_outside(math.dist(x, point), allowed)
        return point


def _are_names(weights: Any) -> bool:
    """Say whether these are items in place of weights: texts, which no weight is."""
    given = weights.tolist() if hasattr(weights, "tolist") else weights
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(one, str) for one in given)


# ----------------------------------------------------------------------
# A mean of permutations as transfers: what Hardy, Littlewood and Polya (1934) did to prove their theorem.
#
# If `falling` majorises a falling `mean`, then the one becomes the other in fewer than n transfers, each of some
# amount from a place that has too much to a later one that has too little. A transfer of amount a between places with
# means m_i > m_k is a swap of the two with chance p = a/(m_i - m_k): the mean of i becomes (1 - p) m_i + p m_k = m_i -
# a. So permutations with the right mean are drawn by tossing a coin for every transfer, in order, a pass over n
# numbers each.
#
# Compiled on first use, and kept on disk.


@compiled
def transfers(falling: Vector, mean: Vector) -> tuple[Indices, Indices, Vector]:
    """Return the transfers that turn `falling` into `mean`, both falling: from, to, and chance of a swap.

    Places that have too much wait on a stack; one that has too little takes from the latest of them. Between the two
    nothing is wrong any more, and what both have stays in order, so that chances are at most 1. The sums of the first
    places of `falling` are at least those of `mean`, but for rounding: what is missing then is left missing.
    """
    n = len(falling)
    now = falling.copy()
    givers, takers = np.empty(n, np.int32), np.empty(n, np.int32)
    chances = np.empty(n)
    waiting = np.empty(n, np.int32)
    top = count = 0
    for place in range(n):
        if now[place] > mean[place]:
            waiting[top] = place
            top += 1
        while now[place] < mean[place] and top > 0:
            giver = waiting[top - 1]
            surplus, wanted = now[giver] - mean[giver], mean[place] - now[place]
            givers[count], takers[count] = giver, place
            chances[count] = min(surplus, wanted) / (now[giver] - now[place])
            if surplus <= wanted:
                now[giver] = mean[giver]
                top -= 1
            else:
                now[giver] -= wanted
            now[place] = mean[place] if wanted <= surplus else now[place] + surplus
            count += 1
    return givers[:count], takers[:count], chances[:count]


@compiled
def swapped(
    falling: Vector, order: Positions, givers: Indices, takers: Indices, chances: Vector, uniforms: Floats
) -> Floats:
    """Return a permutation of `falling` for each row of `uniforms`, which has a number for each transfer.

    Place k of the transfers is coordinate `order[k]` of a permutation.
    """
    rows = np.empty((len(uniforms), len(falling)))
    for row in range(len(uniforms)):
        now = falling.copy()
        for transfer in range(len(chances)):
            if uniforms[row, transfer] < chances[transfer]:
                giver, taker = givers[transfer], takers[transfer]
                now[giver], now[taker] = now[taker], now[giver]
        for place in range(len(falling)):
            rows[row, order[place]] = now[place]
    return rows
