"""The convex hull of sparse vectors: the ball of the k-support norm."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce._checks import number, vector, whole
from sottovoce.domains._labels import Count, count_or_names
from sottovoce.domains.balls._norm_ball import NormBall
from sottovoce.domains.base import how_many, read_only


class KSparse(NormBall):
    """Means of k-sparse vectors: all that lies between points with k coordinates other than 0, of bounded length.

    The unit ball of the k-support norm (Argyriou, Foygel, Srebro, 2012). For k = 1 it is the l1 ball, for k = n the
    Euclidean ball.

    Parameters
    ----------
    n : int, or list of names
        Number of coordinates, or their names.
    k : int
        How many may differ from 0, 1 <= k <= n.
    radius : float
        Largest Euclidean length.
    labels : list of names, optional
        Names of the coordinates, if n is a number.

    Examples
    --------
    >>> portfolio = KSparse(4, 2, radius=5.0)
    >>> portfolio.extreme_point([1.0, 3.0, -4.0, 0.0])
    array([ 0., -3.,  4.,  0.])
    >>> portfolio.norm([3.0, 4.0, 0.0, 0.0]), round(portfolio.norm([2.0, 2.0, 2.0, 2.0]), 3)
    (5.0, 5.657)
    """

    written = "k-sparse:10,3"
    chosen_as = "amounts that are not 0"

    def __init__(self, n: Count, k: int, radius: float = 1.0, *, labels: Any = None) -> None:
        self.dimension, names = count_or_names("n", n, labels)
        self._take_names(names, n=self.dimension)
        self.k = whole("k", k, least=1, most=self.dimension)
        self.radius = number("radius", radius, above=0.0)
        self._center = read_only(np.zeros(self.dimension))

    def __repr__(self) -> str:
        return f"KSparse({self.dimension}, {self.k}, radius={self.radius:g})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one of the middle kind, and the two that are balls of other norms."""
        return cls(4, 2), cls(5, 3, 20.0), cls(3, 1), cls(3, 3, 0.5)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the point against the k largest costs; for zero cost, the one along the first axis."""
        cost = vector("cost", cost, self.dimension)
        largest = float(np.abs(cost).max())
        vertex = np.zeros(self.dimension)
        if largest == 0.0:
            vertex[0] = self.radius
            return vertex
        scaled = cost / largest  # so that squares stay within the range of floats
        heavy = np.abs(scaled).argpartition(self.dimension - self.k)[self.dimension - self.k :]
        vertex[heavy] = scaled[heavy] * (-self.radius / math.sqrt(scaled[heavy].dot(scaled[heavy])))
        return vertex

    @property
    def inner_radius(self) -> float:
        """Distance to the supporting hyperplane that is equally inclined to all axes."""
        return self.radius * math.sqrt(self.k / self.dimension)

    def norm(self, x: ArrayLike) -> float:
        """Return the k-support norm: the factor, times `radius`, by which the set must be scaled to reach `x`."""
        x = vector("x", x, self.dimension)
        head, level, _ = self._split(np.abs(x))
        return self._length(np.abs(x), head, level)

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the set.

        The norm tells inside from outside. Outside, scaling x down to the boundary bounds the distance from above, and
        a supporting hyperplane from below; where they disagree a projection decides.
        """
        x = vector("x", x, self.dimension)
        tolerance = number("tolerance", tolerance, above=0.0)
        sizes = np.abs(x)
        head, level, _ = self._split(sizes)
        excess = self._length(sizes, head, level) - self.radius
        if excess <= 0.0 or excess / (excess + self.radius) * float(np.linalg.norm(x)) <= tolerance:
            return True
        normal = np.where(head, sizes, np.where(sizes > 0.0, level, 0.0))  # of length norm(x) in the dual norm
        if excess * (excess + self.radius) / float(np.linalg.norm(normal)) > tolerance:
            return False
        return super().contains(x, tolerance)

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw k-sparse vectors of length `radius` with mean `x`.

        The largest coordinates, the head, stay. The others are all moved to one level, and drawn with the probability
        that keeps their mean, by systematic sampling: this makes k-sparse vectors of length norm(x). Signs that cancel
        bring them to full length.
        """
        x = vector("x", x, self.dimension)
        count = how_many(size)
        sizes = np.abs(x)
        head, level, slots = self._split(sizes)
        length = self._length(sizes, head, level)
        if length > self.radius * (1 + 1e-6):
            raise self._outside(length - self.radius)
        if length <= 1e-12 * self.radius:
            points = np.zeros((count, self.dimension))
            points[:, 0] = 1.0
        else:
            points = np.tile(np.where(head, x, 0.0), (count, 1))
            if level > 0.0:
                ends = np.concatenate(([0.0], np.cumsum(np.where(head, 0.0, sizes))))
                below = np.ceil(ends * (slots / ends[-1]) - rng.random(count)[:, None])
                below[:, 0], below[:, -1] = 0.0, slots
                points += np.minimum(np.diff(below, axis=1), 1.0) * np.copysign(level, x)
        points *= self.radius / np.linalg.norm(points, axis=1, keepdims=True)
        signs = np.where(rng.random(count) * 2 < 1 + min(length / self.radius, 1.0), 1.0, -1.0)
        return self._drawn(points * signs[:, None], size)

    def _split(self, sizes: Vector) -> tuple[Mask, float, int]:
        """Return which coordinates make the head, the level of all others, and how many of those are drawn at a time.

        The head is the least number of largest coordinates such that the rest, shared equally among the places that are
        left, exceeds none: the condition under which the norm has a closed form (Argyriou et al., proposition 2.1).
        """
        order = np.argsort(-sizes, kind="stable")
        ordered = sizes[order]
        totals = np.cumsum(ordered[::-1])[::-1][: self.k]  # of what is left after 0, 1, ... are in the head
        slots = np.arange(self.k, 0, -1)
        # In the last place a head of k - 1 is always right: what is left is at least its own largest.
        count = int(np.argmax(ordered[: self.k] * slots <= totals))
        head = np.zeros(sizes.size, dtype=bool)
        head[order[:count]] = True
        return head, float(totals[count] / slots[count]), int(slots[count])

    @staticmethod
    def _length(sizes: Vector, head: Mask, level: float) -> float:
        return math.sqrt(float(sizes[head] @ sizes[head]) + level * float(sizes[~head].sum()))
