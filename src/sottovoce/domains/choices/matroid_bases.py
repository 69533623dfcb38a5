"""Bases of a matroid: maximal choices.

Their polytope is the product of those of the matroid's connected components. In each the sum of the coordinates is
fixed, and nothing else is: so directions, a basis of them and a ball inside are had block by block.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import vector
from sottovoce.domains._geometry.hull import SEED, Hull, affine_hull, both_ways
from sottovoce.domains._geometry.inner_ball import InnerBall, inner_ball
from sottovoce.domains._geometry.orbits import Orbit, helmert
from sottovoce.domains._kinds import Choices
from sottovoce.domains._labels import Labels
from sottovoce.domains.base import read_only
from sottovoce.domains.choices.hypersimplex import Hypersimplex, distance
from sottovoce.domains.matroids import AbstractMatroid, Graphic, Laminar, Partition


class MatroidBases(Choices):
    """Bases of a matroid: the choices to which nothing can be added.

    Parameters
    ----------
    matroid : AbstractMatroid
        One of `sottovoce.domains.matroids`.
    labels : list of names, optional
        Names of the elements; default: those that the matroid has for them, if any.

    Examples
    --------
    One of each kind:

    >>> from sottovoce.domains.matroids import Partition
    >>> menu = MatroidBases(Partition([0, 0, 0, 1, 1], 1))
    >>> menu.extreme_point([3.0, 1.0, 2.0, -1.0, -2.0])
    array([0., 1., 0., 0., 1.])
    >>> menu.affine_dimension, menu.diameter
    (3, 2.0)
    """

    _sorting: Literal["stable", "quicksort"] = "stable"

    def __init__(self, matroid: AbstractMatroid, *, labels: Any = None) -> None:
        if not isinstance(matroid, AbstractMatroid):
            raise TypeError(f"matroid must come from sottovoce.domains.matroids, got {matroid!r}")
        self.matroid = matroid
        self.dimension = matroid.ground_size
        self._name(labels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.matroid!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one for each kind, with loops and coloops among the elements."""
        return (
            cls(Partition([0] * 5, 2)),
            cls(Partition([0, 0, 0, 1, 1, 2, 2, 3], [1, 1, 2, 0])),
            cls(Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}, {6, 7}], [2, 3, 1])),
            cls(Graphic([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (5, 5)])),
        )

    @property
    def _own_labels(self) -> Labels | None:
        return self.matroid.ground

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest base: greedy in order of cost, the first of equals first."""
        order = vector("cost", cost, self.dimension).argsort(kind=self._sorting)
        return self.matroid.greedy(order).astype(np.float64)

    @cached_property
    def _block_of(self) -> Integers:
        """The number of each coordinate's block."""
        return np.asarray(np.unique(self.matroid.components(), return_inverse=True)[1], dtype=np.int64)

    @cached_property
    def _blocks(self) -> list[Integers]:
        """The coordinates of each block."""
        ends = np.cumsum(np.bincount(self._block_of))[:-1]
        return np.split(np.argsort(self._block_of, kind="stable"), ends)

    @cached_property
    def _hull(self) -> Hull:
        basis, done = np.zeros((self.affine_dimension, self.dimension)), 0
        for block in self._blocks:
            basis[done : done + len(block) - 1, block] = helmert(len(block))
            done += len(block) - 1
        directions = np.random.default_rng(SEED).standard_normal((4, self.dimension))
        return Hull(basis, np.unique(both_ways(self.extreme_point, directions), axis=0))

    @cached_property
    def _inner_ball(self) -> InnerBall:
        """A ball fits inside if it fits into each block; one that is a single point sets no limit."""
        balls = [self._ball(block) for block in self._blocks]
        center = np.zeros(self.dimension)
        for block, ball in zip(self._blocks, balls, strict=True):
            center[block] = ball.center
        return InnerBall(read_only(center), min((ball.radius for ball in balls if ball.radius > 0.0), default=0.0))

    def _ball(self, block: Integers) -> InnerBall:
        """Return the largest ball of a hypersimplex, which is a block of a partition; else one that is certified."""
        rank, n = self.matroid.rank(block), len(block)
        if n == 1:
            return InnerBall(np.array([float(rank)]), 0.0)
        if isinstance(self.matroid, Partition):
            same = Hypersimplex(n, rank)
            return InnerBall(same.center, same.inner_radius)

        def oracle(cost: Vector) -> Vector:
            whole = np.zeros(self.dimension)
            whole[block] = cost
            return self.extreme_point(whole)[block]

        return inner_ball(oracle, affine_hull(oracle, n))

    @property
    def affine_dimension(self) -> int:
        """Number of coordinates less the number of blocks whose sum is fixed."""
        return self.dimension - len(self._blocks)

    @property
    def _has_center(self) -> bool:
        return isinstance(self.matroid, Partition)

    @property
    def _has_dimension(self) -> bool:
        return self._has_center  # components of other matroids take a while

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Subtract the mean of each block."""
        rows = self._vectors(vectors)
        sizes = np.bincount(self._block_of)
        starts = np.cumsum(sizes) - sizes
        means = np.add.reduceat(rows[..., np.concatenate(self._blocks)], starts, axis=-1) / sizes
        return np.asarray(rows - means[..., self._block_of])

    def orbit(self) -> Orbit | None:
        """Return that of a product of hypersimplices, if the matroid is a partition."""
        if not isinstance(self.matroid, Partition) or not self.affine_dimension:
            return None
        deviations = []
        for block in self._blocks:
            rank, size = self.matroid.rank(block), len(block)
            deviations += [math.sqrt(rank * (size - rank) / size / (size - 1))] * (size - 1) if size > 1 else []
        return Orbit(self._hull.basis, np.array(deviations))

    def _within(self, x: Vector, tolerance: float) -> bool | None:
        return _distance(self.matroid, x) <= tolerance if isinstance(self.matroid, Partition) else None

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw bases with mean `x`: by systematic sampling in partition and laminar matroids, else the default.

        Lay the chances end to end and choose what the grid u, u + 1, ... hits, u uniform in [0, 1) (Madow, 1949): any
        interval of elements with chances that add up to t is hit floor(t) or ceil(t) times. So quotas of intervals are
        kept, and those of laminar sets are quotas of intervals once the elements stand in a suitable line.
        """
        matroid, drawn = self.matroid, np.zeros((count, self.dimension))
        if isinstance(matroid, Partition):
            self._refuse_outside(_distance(matroid, x), 1e-6)
            for group, capacity in zip(matroid.groups(), matroid.capacities.tolist(), strict=True):
                drawn[:, group] = _systematic(x[group], rng, count, capacity)
            return drawn
        rank = matroid.rank()
        near = x.min() >= -1e-6 and x.max() <= 1 + 1e-6 and abs(float(x.sum()) - rank) <= 1e-6
        if not (near and isinstance(matroid, Laminar) and (matroid.family @ x <= matroid.capacities + 1e-6).all()):
            return super()._draw(x, rng, count)  # which refuses a point outside
        line, bad = matroid.line(), np.ones(count, dtype=np.bool_)
        while bad.any():  # where a quota is met with equality, rounding lets the grid miss an end, hardly ever
            drawn[np.ix_(bad, line)] = _systematic(x[line], rng, int(bad.sum()), rank)
            bad = np.any(drawn @ matroid.family.T > matroid.capacities, axis=1)
        return drawn


def _distance(matroid: Partition, x: Vector) -> float:
    groups = zip(matroid.groups(), matroid.capacities.tolist(), strict=True)
    return math.hypot(*(distance(x[group], capacity) for group, capacity in groups))


def _systematic(x: Vector, rng: np.random.Generator, count: int, total: int) -> Floats:
    """Draw 0/1 rows with mean x and exactly `total` ones."""
    if total in (0, len(x)):
        return np.full((count, len(x)), float(total > 0))
    return Hypersimplex(len(x), total).round(np.clip(x, 0.0, 1.0), rng, size=count) + 0.0  # no -0.0
