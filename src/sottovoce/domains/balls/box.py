"""A box: an interval for every coordinate."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._geometry.orbits import Orbit
from sottovoce.domains._kinds import Centred
from sottovoce.domains._labels import Count
from sottovoce.domains.base import read_only
from sottovoce.errors import DomainError


class Box(Centred):
    """All points between two bounds, coordinate by coordinate.

    Parameters
    ----------
    low, high : float or array of shape (n,)
        The bounds. Where they are equal the box is flat.
    dimension : int, or list of names, optional
        Number of coordinates, needed only if both bounds are numbers; or their names.
    labels : list of names, optional
        Names of the coordinates, if dimension does not hold them.

    Examples
    --------
    >>> box = Box(0.0, [2.0, 4.0])
    >>> box.extreme_point([1.0, -1.0])
    array([0., 4.])
    >>> box.center, box.inner_radius
    (array([1., 2.]), 1.0)
    >>> Box(-2.0, 2.0, dimension=4).diameter
    8.0
    >>> Box(1.0, 5.0, ["tea", "coffee"]).chosen([2.5, 3.0])
    {'tea': 2.5, 'coffee': 3.0}
    """

    written = "box:5"

    chosen_as = "amounts"

    def __init__(self, low: ArrayLike, high: ArrayLike, dimension: Count | None = None, *, labels: Any = None) -> None:
        if dimension is None:
            if np.ndim(low) == np.ndim(high) == 0:
                raise ValueError("dimension must be given when low and high are both numbers")
            dimension = max(np.size(low), np.size(high))
        self._count("dimension", dimension, labels)
        self.low, self.high = self._bound("low", low), self._bound("high", high)
        empty = np.flatnonzero(self.low > self.high)
        if empty.size:
            i = int(empty[0])
            raise DomainError(f"the box is empty: low {self.low[i]:g} is above high {self.high[i]:g} at coordinate {i}")
        self._center = read_only(self.low + (self.high - self.low) / 2)

    def _bound(self, name: str, value: ArrayLike) -> Vector:
        if np.ndim(value) == 0:
            value = np.full(self.dimension, number(name, value))
        return read_only(vector(name, value, self.dimension))

    def __repr__(self) -> str:
        if self.dimension <= 4:
            return f"Box({self.low.tolist()}, {self.high.tolist()})"
        return f"Box(dimension={self.dimension}, low >= {self.low.min():g}, high <= {self.high.max():g})"

    @classmethod
    def from_numbers(cls, *numbers: int) -> Self:
        """Return a box of coordinates between 0 and 1."""
        return cls(0.0, 1.0, *numbers)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a cube, a lopsided box, a flat one, and an interval."""
        return cls(-1, 1, 4), cls([0, -5, 100], [1e-3, 5, 200]), cls([0, 2, -1], [1, 2, 3]), cls([0], [1])

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the corner against the cost."""
        return np.where(vector("cost", cost, self.dimension) > 0.0, self.low, self.high)

    @property
    def affine_dimension(self) -> int:
        """Number of coordinates that are not fixed."""
        return int(np.count_nonzero(self.low < self.high))

    @property
    def inner_radius(self) -> float:
        """Half the shortest side that is not flat; 0 for a point."""
        sides = self.high - self.low
        return float(sides[sides > 0.0].min() / 2) if sides.any() else 0.0

    @property
    def outer_radius(self) -> float:
        """Half the diagonal."""
        return self.diameter / 2

    @property
    def diameter(self) -> float:
        """The diagonal."""
        return math.dist(self.low, self.high)

    def orbit(self) -> Orbit | None:
        """Half a side along each axis."""
        sides = self.high - self.low
        return Orbit(np.eye(self.dimension)[sides > 0.0], sides[sides > 0.0] / 2) if sides.any() else None

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Set the fixed coordinates to zero."""
        return self._vectors(vectors) * (self.low < self.high)

    def nearest(self, y: ArrayLike) -> Vector:
        """Clip every coordinate to its bounds."""
        return np.clip(vector("y", y, self.dimension), self.low, self.high)

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw corners with mean `x`: an independent coin for every coordinate."""
        self._refuse_outside(math.dist(x, self.nearest(x)), 1e-6 * self.diameter)
        up = rng.random((count, self.dimension)) * (self.high - self.low) < x - self.low
        return np.where(up, self.high, self.low)
