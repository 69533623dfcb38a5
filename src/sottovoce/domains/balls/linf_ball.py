"""The l-infinity ball: a box with equal sides."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._checks import number, vector
from sottovoce.domains._labels import Count, count_or_names
from sottovoce.domains.balls.box import Box


class LInfBall(Box):
    """All points that differ from a centre by a given amount at most, in every coordinate.

    A `Box` with equal sides, and in everything else the same.

    Parameters
    ----------
    n : int, or list of names
        Number of coordinates, or their names.
    radius : float
        The amount: half the side.
    center : array of shape (n,), optional
        Default: the origin.
    labels : list of names, optional
        Names of the coordinates, if n is a number.

    Examples
    --------
    >>> ball = LInfBall(2, radius=3.0)
    >>> ball.extreme_point([0.1, -7.0])
    array([-3.,  3.])
    >>> ball.inner_radius
    3.0
    """

    written = "linf-ball:10"

    def __init__(self, n: Count, radius: float = 1.0, center: ArrayLike | None = None, *, labels: Any = None) -> None:
        self.radius = number("radius", radius, above=0.0)
        count, names = count_or_names("n", n, labels)
        middle = np.zeros(count) if center is None else vector("center", center, count)
        super().__init__(middle - self.radius, middle + self.radius, labels=names)
        self._remember_names(names, n=count)

    def __repr__(self) -> str:
        return f"LInfBall({self.dimension}, radius={self.radius:g}{', center=...' if self._center.any() else ''})"

    @classmethod
    def from_numbers(cls, *numbers: int) -> Self:
        """Return the ball of radius 1 around the origin."""
        return cls(*numbers)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a square, an interval, and a large cube far from the origin."""
        return cls(2), cls(1, 0.5), cls(4, 30.0, np.arange(4.0) * 100)
