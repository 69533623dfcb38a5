"""Any set that can be asked for its extreme points."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce._checks import Vector, vector, whole
from sottovoce.domains.base import Domain, Fixed
from sottovoce.errors import DomainError

__all__ = ["Custom"]

_PROBES = 4


class Custom(Fixed, Domain):
    """Your own set, by a function from a cost vector to the cheapest point.

    Parameters
    ----------
    oracle : callable
        From a cost vector of shape (n,) to a point of the set that minimises <cost, x>. It must always mean the same
        set.
    dimension : int
        Number of coordinates (n).

    Raises
    ------
    DomainError
        If a few calls show at once that the function is not such an oracle; or later, if an answer is not a finite
        vector.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> triangle = Custom(lambda cost: corners[(corners @ cost).argmin()], dimension=2)
    >>> triangle.extreme_point([0.0, -1.0])
    array([0., 3.])
    >>> triangle.contains([1.0, 1.0]), triangle.contains([3.0, 3.0])
    (True, False)
    """

    def __init__(self, oracle: Callable[[Vector], ArrayLike], dimension: int) -> None:
        if not callable(oracle):
            raise TypeError(f"oracle must be a function from a cost vector to a point of the set, got {oracle!r}")
        self.oracle = oracle
        self.dimension = whole("dimension", dimension)
        self._probe()

    def __repr__(self) -> str:
        return f"Custom({getattr(self.oracle, '__qualname__', repr(self.oracle))}, {self.dimension})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a triangle in space, and hulls of random points, full and flat."""
        rng = np.random.default_rng(7)
        flat = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 4)) + 10.0
        return tuple(cls(_Hull(points), points.shape[1]) for points in (np.eye(3), rng.standard_normal((30, 3)), flat))

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the oracle's answer, checked, in an array of its own."""
        answer = np.array(self.oracle(vector("cost", cost, self.dimension)), dtype=np.float64)
        if answer.shape != (self.dimension,):
            raise DomainError(f"the oracle must return an array of shape ({self.dimension},), got {answer.shape}")
        if not np.isfinite(answer).all():
            raise DomainError(f"the oracle must return finite coordinates, got {answer!r}")
        return answer

    def _probe(self) -> None:
        """Ask in a few directions and back: no answer may be worse than another answer."""
        half = np.random.default_rng(0).standard_normal((_PROBES, self.dimension))
        costs = np.vstack((half, -half))
        values = costs @ np.array([self.extreme_point(cost) for cost in costs]).T
        worst = float((np.diag(values) - values.min(axis=1)).max())
        if worst > 1e-6 * np.ptp(values):
            raise DomainError(
                f"the oracle does not minimise <cost, x>: another of its answers is cheaper by {worst:.3g}; "
                "if it maximises, give it the negative of the cost"
            )


class _Hull:
    """The oracle of the convex hull of the rows."""

    def __init__(self, points: NDArray[np.float64]) -> None:
        self.points = points

    def __call__(self, cost: Vector) -> Vector:
        best: Vector = self.points[(self.points @ cost).argmin()]
        return best

    def __repr__(self) -> str:
        return f"hull of {len(self.points)} points"
