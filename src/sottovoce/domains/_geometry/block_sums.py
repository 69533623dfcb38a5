"""Sets whose coordinates have a fixed sum in each of several blocks, and no other equation: tangents, hulls, balls.

Base polytopes are such sets. They are the product of their blocks, so that a ball fits inside if it fits into each.
"""

import math
from collections.abc import Callable

import numpy as np

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._geometry.hull import SEED, Hull, Oracle, affine_hull, both_ways
from sottovoce.domains._geometry.inner_ball import InnerBall, inner_ball
from sottovoce.domains._subsets import Order


def less_block_means(rows: Floats, labels: Order) -> Floats:
    """Return the rows, of shape (n,) or (m, n), with the mean of each block subtracted from its coordinates.

    Examples
    --------
    >>> less_block_means(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]))
    array([-1.,  1.,  0.])
    """
    _, where, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(where, kind="stable")
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    means: Floats = np.add.reduceat(rows[..., order], starts, axis=-1) / sizes
    return rows - means[..., where]


def zero_sum_hull(oracle: Oracle, labels: Order) -> Hull:
    """Return an orthonormal basis of the vectors that add up to 0 in each block (Helmert's), and a few vertices."""
    n = len(labels)
    rows: list[Vector] = []
    for label in np.unique(labels):
        block = np.flatnonzero(labels == label)
        for count in range(1, len(block)):
            row = np.zeros(n)
            row[block[:count]], row[block[count]] = 1.0, -count
            rows.append(row / math.sqrt(count * (count + 1)))
    directions = np.random.default_rng(SEED).standard_normal((4, n))
    return Hull(np.array(rows).reshape(-1, n), np.unique(both_ways(oracle, directions), axis=0))


def product_ball(oracle: Oracle, labels: Order, exact_ball: Callable[[Order], InnerBall | None]) -> InnerBall:
    """Return a ball in a product of blocks, by one ball in each.

    `exact_ball` is asked for the largest ball of a block, by its elements; where it has none, the oracle certifies one.
    """
    center, radius = np.zeros(len(labels)), math.inf
    for label in np.unique(labels):
        block = np.flatnonzero(labels == label)
        ball = exact_ball(block) or _certified(oracle, block, len(labels))
        center[block] = ball.center
        if ball.radius > 0.0:  # a block that is a single point sets no limit
            radius = min(radius, ball.radius)
    center.setflags(write=False)
    return InnerBall(center, radius if radius < math.inf else 0.0)


def _certified(oracle: Oracle, block: Order, dimension: int) -> InnerBall:
    """Return the ball that the oracle certifies in one block."""

    def within(cost: Vector) -> Vector:
        whole = np.zeros(dimension)
        whole[block] = cost
        return oracle(whole)[block]

    return inner_ball(within, affine_hull(within, len(block)))
