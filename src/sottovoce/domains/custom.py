"""Any set that can be asked for its extreme points."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from sottovoce._arrays import Vector
from sottovoce.domains._check import probe_oracle
from sottovoce.domains._labels import Count
from sottovoce.domains.base import Domain, Fixed
from sottovoce.domains.oracles import ask_at_one_scale
from sottovoce.domains.polytopes.convex_hull import ConvexHull


class Custom(Fixed, Domain):
    """Your own set, by a function from a cost vector to the cheapest point.

    Parameters
    ----------
    oracle : callable
        From a cost vector of shape (n,) to a point of the set that minimises <cost, x>. It must always mean the same
        set. Costs are handed to it with entries between -1 and 1, the largest at least 1/2, so that it may be a solver
        with absolute tolerances: `lambda cost: linprog(cost, ...).x`.
    dimension : int, or list of names
        Number of coordinates (n), or their names.
    labels : list of names, optional
        Names of the coordinates, if dimension is a number.

    Raises
    ------
    DomainError
        If a few calls show at once that the function is not such an oracle; or later, if an answer is not a finite
        vector.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> triangle = Custom(lambda cost: corners[(corners @ cost).argmin()], dimension=2)
    >>> triangle.extreme_point([0.0, -1.0])
    array([0., 3.])
    >>> triangle.contains([1.0, 1.0]), triangle.contains([3.0, 3.0])
    (True, False)
    """

    def __init__(self, oracle: Callable[[Vector], ArrayLike], dimension: Count, *, labels: Any = None) -> None:
        if not callable(oracle):
            raise TypeError(f"oracle must be a function from a cost vector to a point of the set, got {oracle!r}")
        self.oracle = oracle
        self._count("dimension", dimension, labels)
        probe_oracle(self.extreme_point, self.dimension)

    def __repr__(self) -> str:
        return f"Custom({getattr(self.oracle, '__qualname__', repr(self.oracle))}, {self.dimension})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a triangle in space, and hulls of random points, full and flat."""
        return tuple(cls(hull.extreme_point, hull.dimension) for hull in ConvexHull.examples()[:3])

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the oracle's answer to the cost at its scale, checked, in an array of its own."""
        return ask_at_one_scale(self.oracle, cost, self.dimension)
