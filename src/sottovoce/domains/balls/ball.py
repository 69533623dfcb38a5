"""The Euclidean ball."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._kinds import NormBall
from sottovoce.domains._labels import Count
from sottovoce.domains.base import read_only


class Ball(NormBall):
    """All points within a distance of a centre.

    Parameters
    ----------
    dimension : int, or list of names
        Number of coordinates, or their names.
    radius : float
        Radius of the ball.
    center : array of shape (dimension,), optional
        Default: the origin.
    labels : list of names, optional
        Names of the coordinates, if dimension is a number.

    Examples
    --------
    >>> ball = Ball(2, radius=5.0)
    >>> ball.extreme_point([3.0, 4.0])
    array([-3., -4.])
    >>> ball.inner_radius, ball.diameter
    (5.0, 10.0)
    """

    written = "ball:10"

    def __init__(
        self, dimension: Count, radius: float = 1.0, center: ArrayLike | None = None, *, labels: Any = None
    ) -> None:
        self._count("dimension", dimension, labels)
        self.radius = number("radius", radius, above=0.0)
        middle = np.zeros(self.dimension) if center is None else vector("center", center, self.dimension)
        self._center = read_only(middle)

    def __repr__(self) -> str:
        return f"Ball({self.dimension}, radius={self.radius:g}{', center=...' if self._center.any() else ''})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a disc, an interval, and a large ball far from the origin."""
        return cls(2), cls(1, 0.5), cls(5, 30.0, np.arange(5.0) * 100)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the boundary point against the cost; for zero cost, the one along the first axis."""
        cost = vector("cost", cost, self.dimension)
        length = math.sqrt(cost.dot(cost))
        if not 1e-140 < length < 1e140:  # the squares of tiny or huge costs leave the range of floats
            cost, length = _normalised(cost)
        return self._center - cost * (self.radius / length)

    @property
    def inner_radius(self) -> float:
        """The radius."""
        return self.radius

    def nearest(self, y: ArrayLike) -> Vector:
        """Pull `y` towards the centre, to the sphere if it is outside."""
        offset = vector("y", y, self.dimension) - self._center
        length = math.sqrt(offset.dot(offset))
        return self._center + offset * min(1.0, self.radius / length) if length > 0.0 else self._center.copy()

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw points of the sphere with mean `x`: an end of the chord that a random line through x cuts."""
        offset = x - self._center
        squared = float(offset @ offset)
        self._refuse_outside(math.sqrt(squared) - self.radius, 1e-6 * self.radius)
        lines = rng.standard_normal((count, self.dimension))
        lines /= np.linalg.norm(lines, axis=1, keepdims=True)
        along = lines @ offset
        half = np.sqrt(along**2 + max(self.radius**2 - squared, 0.0))  # half the chord, whose middle is at -along
        # The mean must be at 0: the far end (half - along) is drawn with probability (half + along) / (2 half).
        far = rng.random(count) * 2 * half < half + along
        points = offset + np.where(far, half - along, -half - along)[:, None] * lines
        points *= self.radius / np.linalg.norm(points, axis=1, keepdims=True)
        return self._center + points


def _normalised(cost: Vector) -> tuple[Vector, float]:
    largest = float(np.abs(cost).max())
    if largest == 0.0:
        cost = np.zeros(cost.size)
        cost[0] = -1.0
        return cost, 1.0
    cost = cost / largest
    return cost, math.sqrt(cost.dot(cost))
