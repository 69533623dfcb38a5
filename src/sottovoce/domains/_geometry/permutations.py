"""Permutations of given numbers: the nearest mean of some, and coins that draw some with a given mean."""

import math

import numpy as np
import scipy

from sottovoce._arrays import Floats, Indices, Positions, Vector
from sottovoce._compiled import compiled

_UNIFORMS = 2_000_000  # random numbers drawn at a time for swaps
_ROUNDING = 1e-12  # by which sums may exceed what they are at most, relative to how far the steps lie apart


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


def draw(x: Vector, falling: Vector, rng: np.random.Generator, count: int) -> Floats:
    """Draw vertices with mean x, a point of the polytope up to rounding, by a coin for each of fewer than n transfers.

    Examples
    --------
    >>> draw(np.array([1.5, 3.0, 1.5]), np.array([3.0, 2.0, 1.0]), np.random.default_rng(0), 2)
    array([[2., 3., 1.],
           [1., 3., 2.]])
    """
    order = np.argsort(-x, kind="stable")
    givers, takers, chances = transfers(falling, x[order])
    block = max(1, _UNIFORMS // len(x))
    rows = [
        swapped(falling, order, givers, takers, chances, rng.random((min(block, count - done), len(chances))))
        for done in range(0, max(count, 1), block)
    ]
    return rows[0] if len(rows) == 1 else np.vstack(rows)


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
