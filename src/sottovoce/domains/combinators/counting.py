"""Count what an oracle costs."""

import threading
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce.domains._geometry.orbits import Orbit
from sottovoce.domains._labels import Labels
from sottovoce.domains.balls.ball import Ball
from sottovoce.domains.base import Domain, Fixed
from sottovoce.domains.choices.hypersimplex import Hypersimplex


class Counting(Fixed, Domain):
    """A domain that counts the calls of its oracle, and their time; in everything else it is the original.

    Calls that the original makes of its own accord, say to compute its geometry, are not counted. Copies count from 0.

    Parameters
    ----------
    domain : Domain
        The original.

    Examples
    --------
    >>> from sottovoce.projection import project
    >>> counting = Counting(Hypersimplex(6, 2))
    >>> result = project(counting, np.arange(6.0))
    >>> counting.calls == result.calls, counting.seconds > 0.0
    (True, True)
    >>> counting.reset()
    >>> counting.calls
    0
    """

    def __init__(self, domain: Domain) -> None:
        if not isinstance(domain, Domain):
            raise TypeError(f"domain must be a Domain, got {domain!r}")
        self.domain = domain
        self.dimension = domain.dimension
        self._tally = _Tally()

    def __repr__(self) -> str:
        return f"Counting({self.domain!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return two that count."""
        return cls(Hypersimplex(5, 2)), cls(Ball(2))

    @property
    def calls(self) -> int:
        """Number of oracle calls."""
        return self._tally.calls

    @property
    def seconds(self) -> float:
        """Time spent in them."""
        return self._tally.seconds

    def reset(self) -> None:
        """Count from 0 again."""
        self._tally.set(0, 0.0)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Ask the original, and count."""
        begin = time.perf_counter()
        try:
            return self.domain.extreme_point(cost)  # type: ignore[arg-type]
        finally:
            self._tally.add(time.perf_counter() - begin)

    def _own_labels(self) -> Labels | None:
        return self.domain.labels

    def _said(self, places: Integers, entries: Vector) -> Any:
        return self.domain._said(places, entries)

    def in_order(self, places: Integers) -> Integers:
        """Ask the original."""
        return self.domain.in_order(places)

    @property
    def most_chosen(self) -> int:
        """That of the original."""
        return self.domain.most_chosen

    @property
    def oracle_costs(self) -> str:
        """Those of the original."""
        return self.domain.oracle_costs

    def believable(self, cost: ArrayLike) -> Vector:
        """Ask the original."""
        return self.domain.believable(cost)  # type: ignore[arg-type]

    @property
    def affine_dimension(self) -> int:
        """That of the original."""
        return self.domain.affine_dimension

    @property
    def center(self) -> Vector:
        """That of the original; read-only."""
        return self.domain.center

    def orbit(self) -> Orbit | None:
        """That of the original."""
        return self.domain.orbit()

    @cached_property
    def _quick_middle(self) -> Vector:
        return self.domain._quick_middle

    @cached_property
    def _quick_dimension(self) -> int:
        return self.domain._quick_dimension

    @property
    def inner_radius(self) -> float:
        """That of the original."""
        return self.domain.inner_radius

    @property
    def outer_radius(self) -> float:
        """That of the original."""
        return self.domain.outer_radius

    @property
    def diameter(self) -> float:
        """That of the original."""
        return self.domain.diameter

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Ask the original."""
        return self.domain.tangent(vectors)

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Ask the original."""
        return self.domain.contains(x, tolerance)

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Ask the original."""
        return self.domain.round(x, rng, size)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "domain" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.domain, name)


class _Tally:
    """Two sums that threads may add to; pickled as nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.set(0, 0.0)

    def __reduce__(self) -> tuple[type["_Tally"], tuple[()]]:
        return _Tally, ()

    def set(self, calls: int, seconds: float) -> None:
        with self._lock:
            self.calls, self.seconds = calls, seconds

    def add(self, seconds: float) -> None:
        with self._lock:
            self.calls += 1
            self.seconds += seconds
