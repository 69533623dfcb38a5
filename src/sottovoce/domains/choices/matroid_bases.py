"""Bases of a matroid: maximal choices.

Their polytope is the product of those of the matroid's connected components. In each the sum of the coordinates is
fixed, and nothing else is: so directions, a basis of them and a ball inside are had block by block.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import vector
from sottovoce.domains._geometry.hull import CAUTION, SEED, Hull, affine_hull, both_ways
from sottovoce.domains._geometry.inner_ball import InnerBall, inner_ball
from sottovoce.domains._geometry.orbits import Orbit, helmert
from sottovoce.domains._labels import Labels
from sottovoce.domains.base import Domain, Fixed, read_only
from sottovoce.domains.choices.hypersimplex import Hypersimplex, distance
from sottovoce.domains.matroids import AbstractMatroid, Graphic, Laminar, Partition

_EXHAUSTIVE = 10  # largest component for which the ranks of all subsets are looked up


class MatroidBases(Fixed, Domain):
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

    def _own_labels(self) -> Labels | None:
        return self.matroid.ground

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest base: greedy in order of cost, the first of equals first."""
        order = vector("cost", cost, self.dimension).argsort(kind="stable")
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
        """Return the largest ball of a block where it can be had exactly, else one that the oracle certifies."""
        rank, n = self.matroid.rank(block), len(block)
        if n == 1:
            return InnerBall(np.array([float(rank)]), 0.0)
        if isinstance(self.matroid, Partition):  # a hypersimplex
            same = Hypersimplex(n, rank)
            return InnerBall(same.center, same.inner_radius)
        sets = self._facet_sets(block)
        exact = None if sets is None else largest_ball(sets, [self.matroid.rank(block[one]) for one in sets], rank)
        if exact is not None:
            return exact

        def oracle(cost: Vector) -> Vector:
            whole = np.zeros(self.dimension)
            whole[block] = cost
            return self.extreme_point(whole)[block]

        return inner_ball(oracle, affine_hull(oracle, n))

    def _facet_sets(self, block: Integers) -> Any:
        """Return masks of the sets A for which x(A) <= rank(A), with x >= 0, describes a block; None if they are many.

        Of a laminar matroid the single elements and the family are all that there is: totally unimodular.
        """
        n = len(block)
        if isinstance(self.matroid, Laminar):
            sets = np.unique(np.vstack((np.eye(n, dtype=np.bool_), self.matroid.family[:, block])), axis=0)
        elif n <= _EXHAUSTIVE:
            sets = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
        else:
            return None
        sizes = sets.sum(axis=1)
        return sets[(sizes > 0) & (sizes < n)]

    @property
    def affine_dimension(self) -> int:
        """Number of coordinates less the number of blocks whose sum is fixed."""
        return self.dimension - len(self._blocks)

    @property
    def _has_center(self) -> bool:
        return isinstance(self.matroid, Partition)

    @property
    def _has_dimension(self) -> bool:
        return self.matroid.falls_apart_quickly

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Subtract the mean of each block."""
        rows = self._vectors(vectors)
        sizes = np.bincount(self._block_of)
        starts = np.cumsum(sizes) - sizes
        means = np.add.reduceat(rows[..., np.concatenate(self._blocks)], starts, axis=-1) / sizes
        return np.asarray(rows - means[..., self._block_of])

    @cached_property
    def outer_radius(self) -> float:
        """Distance from the centre to the farthest base: on 0/1 points its square is linear, <1 - 2c, x> + ||c||^2."""
        return math.dist(self.extreme_point(2 * self.center - 1), self.center)

    @cached_property
    def diameter(self) -> float:
        """Two bases of r elements that cover m between them differ in 2 (m - r)."""
        return math.sqrt(2 * (self.matroid.largest_cover() - self.matroid.rank()))

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
        return self._distance(self.matroid, x) <= tolerance if isinstance(self.matroid, Partition) else None

    def _distance(self, matroid: Partition, x: Vector) -> float:
        groups = zip(matroid.groups(), matroid.capacities.tolist(), strict=True)
        return math.hypot(*(distance(x[group], capacity) for group, capacity in groups))

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw bases with mean `x`: by systematic sampling in partition and laminar matroids, else the default.

        Lay the chances end to end and choose what the grid u, u + 1, ... hits, u uniform in [0, 1) (Madow, 1949): any
        interval of elements with chances that add up to t is hit floor(t) or ceil(t) times. So quotas of intervals are
        kept, and those of laminar sets are quotas of intervals once the elements stand in a suitable line.
        """
        matroid, drawn = self.matroid, np.zeros((count, self.dimension))
        if isinstance(matroid, Partition):
            self._refuse_outside(self._distance(matroid, x), 1e-6)
            for group, capacity in zip(matroid.groups(), matroid.capacities.tolist(), strict=True):
                drawn[:, group] = _systematic(x[group], rng, count, capacity)
            return drawn
        rank = matroid.rank()
        if not isinstance(matroid, Laminar) or not matroid.allows(x, 1e-6) or abs(float(x.sum()) - rank) > 1e-6:
            return super()._draw(x, rng, count)  # which refuses a point outside
        line, bad = matroid.line(), np.ones(count, dtype=np.bool_)
        while bad.any():  # where a quota is met with equality, rounding lets the grid miss an end, hardly ever
            drawn[np.ix_(bad, line)] = _systematic(x[line], rng, int(bad.sum()), rank)
            bad = np.any(drawn @ matroid.family.T > matroid.capacities, axis=1)
        return drawn


def _systematic(x: Vector, rng: np.random.Generator, count: int, total: int) -> Floats:
    """Draw 0/1 rows with mean x and exactly `total` ones."""
    if total in (0, len(x)):
        return np.full((count, len(x)), float(total > 0))
    return Hypersimplex(len(x), total).round(np.clip(x, 0.0, 1.0), rng, size=count) + 0.0  # no -0.0


def largest_ball(sets: Any, ranks: Sequence[int], total: int) -> InnerBall | None:
    """Return the largest ball in {x >= 0, x(A) <= rank(A), sum of x = total}; None if the solver fails.

    The facet of a row is (bound - <row, c>) / length from c, the length that of the row less its mean.

    Examples
    --------
    >>> largest_ball(np.eye(2, dtype=bool), [1, 1], 1).center.round(6)
    array([0.5, 0.5])
    """
    n = sets.shape[1]
    rows, bounds = np.vstack((sets.astype(np.float64), -np.eye(n))), np.append(np.asarray(ranks, float), np.zeros(n))
    lengths = np.linalg.norm(rows - rows.mean(axis=1, keepdims=True), axis=1)
    scale = float(bounds.max()) or 1.0  # the solver sees bounds near 1
    above: Any = hstack((csr_array(rows), csr_array(lengths[:, None])))
    found = scipy.optimize.linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=above,
        b_ub=bounds / scale,
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[total / scale],
        bounds=(None, None),
        method="highs",
    )
    if found.x is None:
        return None
    center = scale * np.asarray(found.x[:n])
    center += (total - center.sum()) / n
    # The radius is computed anew at the centre: no tolerance of the solver is in it.
    radius = float(((bounds - rows @ center) / lengths).min())
    return InnerBall(center, radius * (1 - CAUTION)) if radius > 0.0 else None
