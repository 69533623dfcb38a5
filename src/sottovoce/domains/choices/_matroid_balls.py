"""Balls in the polytopes of a connected matroid: the largest where it is known, else one with proof."""

import math

import numpy as np

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._geometry.hull import CAUTION
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._geometry.largest_ball import largest_ball
from sottovoce.domains._subsets import Order, all_masks
from sottovoce.domains.matroids import AbstractMatroid, Partition
from sottovoce.projection import project

_EXHAUSTIVE = 10  # largest component for which the ranks of all subsets are looked up


def ball_in_bases(matroid: AbstractMatroid, block: Order) -> InnerBall | None:
    """Return the largest ball in the base polytope of one connected component, if it can be had exactly."""
    rank, n = matroid.rank(block), len(block)
    if n == 1:
        return InnerBall(np.array([float(rank)]), 0.0)
    if isinstance(matroid, Partition):  # a hypersimplex: its facets are x_i >= 0 and x_i <= 1
        share = rank / n
        return InnerBall(np.full(n, share), min(share, 1 - share) * math.sqrt(n / (n - 1)))
    system = _inequalities(matroid, block)
    return None if system is None else largest_ball(*system, total=float(rank))


def ball_in_independent_sets(matroid: AbstractMatroid, block: Order) -> InnerBall | None:
    """Return the largest ball in the independent-set polytope of one connected component, or one that is certified."""
    rank, n = matroid.rank(block), len(block)
    if rank == 0:
        return InnerBall(np.zeros(n), 0.0)
    if n == 1:
        return InnerBall(np.array([0.5]), 0.5)
    if isinstance(matroid, Partition):  # at t in every coordinate: t from 0, 1 - t from 1, and from the sum
        level = min(0.5, rank / (n + math.sqrt(n)))
        return InnerBall(np.full(n, level), level)
    system = _inequalities(matroid, block, whole=True)
    return _ball_by_density(matroid, block) if system is None else largest_ball(*system)


def _ball_by_density(matroid: AbstractMatroid, block: Order) -> InnerBall:
    """Return a ball around a constant vector, from a bound on the rank of all sets of a size.

    If a t in every coordinate is in the polytope, then rank(A) >= t |A|, rounded up. At the level c the facet of A is
    (rank(A) - c |A|) / sqrt(|A|) away and those of x >= 0 are c away: the best level makes the least of them equal.
    """
    sizes = np.arange(1, len(block) + 1)
    least = np.maximum(1.0, np.ceil(_density(matroid, block) * sizes))
    level = float((least / (sizes + np.sqrt(sizes))).min())
    return InnerBall(np.full(len(block), level), level * (1 - CAUTION))


def _density(matroid: AbstractMatroid, block: Order) -> float:
    """Return the least rank(A) / |A|, less a little: the largest constant vector inside, by Newton's method.

    While it is outside, the hyperplane at its projection separates it, and the ray from 0 crosses that one nearer.
    """

    def oracle(cost: Vector) -> Vector:
        gains = np.flatnonzero(cost < 0.0)
        return matroid.greedy(block[gains[cost[gains].argsort(kind="stable")]])[block].astype(np.float64)

    level, slack = matroid.rank(block) / len(block), 1e-6
    for _ in range(50):
        nearest = project(oracle, np.full(len(block), level), gap=(slack / 4) ** 2)
        normal = level - nearest.point
        if np.linalg.norm(normal) <= slack:
            return level - slack  # rank(A) >= level |A| - slack sqrt(|A|)
        level = min(float(normal @ oracle(-normal)) / float(normal.sum()), level * (1 - 1e-9))
    return 0.0  # then every rank is still known to be at least 1


def _inequalities(matroid: AbstractMatroid, block: Order, whole: bool = False) -> tuple[Floats, Vector] | None:
    """Return rows and bounds of x(A) <= rank(A) and x >= 0, within a block; None if no list is short."""
    sets = matroid.facet_sets()
    if sets is not None:
        sets = np.unique(sets[:, block], axis=0)
    elif len(block) <= _EXHAUSTIVE:
        sets = all_masks(len(block))
    else:
        return None
    sizes = sets.sum(axis=1)
    sets = sets[(sizes > 0) & (whole | (sizes < len(block)))]
    bounds = [matroid.rank(block[chosen]) for chosen in sets]
    rows = np.vstack((sets.astype(np.float64), -np.eye(len(block))))
    return rows, np.concatenate((bounds, np.zeros(len(block))))
