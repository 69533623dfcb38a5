"""Several decisions at a time."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import vector
from sottovoce.domains._geometry.orbits import Orbit
from sottovoce.domains._labels import Labels, read_labels
from sottovoce.domains.balls.ball import Ball
from sottovoce.domains.balls.box import Box
from sottovoce.domains.base import Domain, Fixed, read_only
from sottovoce.domains.choices.simplex import Simplex


class Product(Fixed, Domain):
    """Independent decisions side by side: a point of each domain, their coordinates one after another.

    Parameters
    ----------
    domains : iterable of Domain, or mapping from names to Domain
        The parts, in order; with names, `chosen` is a dict of what each part says, and otherwise a list.

    Examples
    --------
    >>> both = Product([Simplex(3), Box(0.0, [5.0, 5.0])])
    >>> both.extreme_point([0.1, 0.0, 0.2, 1.0, -1.0])
    array([0., 1., 0., 0., 5.])
    >>> [part.tolist() for part in both.split([0.1, 0.2, 0.7, 3.0, 4.0])]
    [[0.1, 0.2, 0.7], [3.0, 4.0]]
    >>> offer = Product({"drink": Simplex(["tea", "coffee"]), "price": Box(1.0, [9.0])})
    >>> offer.chosen([0.0, 1.0, 2.5])
    {'drink': ['coffee'], 'price': {0: 2.5}}
    """

    def __init__(self, domains: Iterable[Domain] | Mapping[Any, Domain]) -> None:
        named = isinstance(domains, Mapping)
        self.part_names: Labels | None = read_labels("the names of domains", list(domains)) if named else None
        self.domains: tuple[Domain, ...] = tuple(domains.values() if isinstance(domains, Mapping) else domains)
        if not self.domains:
            raise ValueError("domains must hold at least one domain, got none")
        for i, part in enumerate(self.domains):
            if not isinstance(part, Domain):
                raise TypeError(f"domains[{i}] must be a Domain, got {part!r}")
        self._ends = tuple(int(end) for end in np.cumsum([part.dimension for part in self.domains]))
        self.dimension = self._ends[-1]

    def __repr__(self) -> str:
        return f"Product([{', '.join(map(repr, self.domains))}])"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return two, three with a single point among them, and a product of products."""
        two = cls([Simplex(3), Ball(2, 3.0)])
        return two, cls([Box(-1, 1, 2), Box([7.0], [7.0]), Simplex(3)]), cls([cls([Simplex(2), Ball(1)]), Simplex(2)])

    def split(self, x: ArrayLike) -> list[Floats]:
        """Cut a point, or rows of points, into the parts that belong to each domain.

        Parameters
        ----------
        x
            One point, of shape (n,), or rows of them.
        """
        return np.split(np.asarray(x, dtype=np.float64), self._ends[:-1], axis=-1)

    @property
    def _own_labels(self) -> Labels | None:
        if self.part_names is None and all(part.labels is None for part in self.domains):
            return None
        parts = range(len(self.domains)) if self.part_names is None else self.part_names
        return tuple(
            (name, own) for name, part in zip(parts, self.domains, strict=True) for own in part.coordinate_names
        )

    def _said(self, places: Integers, entries: Vector) -> Any:
        """Return what every part says, in a list, or in a dict if parts have names."""
        said = [part._said(places[own] - start, entries[own]) for part, start, own in self._cut(places)]
        return said if self.part_names is None else dict(zip(self.part_names, said, strict=True))

    def in_order(self, places: Integers) -> Integers:
        """Ask part by part."""
        return np.concatenate([start + part.in_order(places[own] - start) for part, start, own in self._cut(places)])

    def _cut(self, places: Integers) -> Iterator[tuple[Domain, int, slice]]:
        """Go through the parts: each with its first coordinate, and where its own are among the places."""
        cuts = [0, *np.searchsorted(places, self._ends).tolist()]
        for part, start, (first, last) in zip(self.domains, [0, *self._ends[:-1]], pairwise(cuts), strict=True):
            yield part, start, slice(first, last)

    def _each(self, method: Callable[..., Any], rows: ArrayLike) -> Floats:
        """Apply to every domain and its part of the rows; put the answers side by side."""
        parts = zip(self.domains, self.split(rows), strict=True)
        return np.concatenate([method(domain, part) for domain, part in parts], axis=-1)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the cheapest point of every part."""
        return self._each(lambda part, own: part.extreme_point(own), vector("cost", cost, self.dimension))

    @property
    def affine_dimension(self) -> int:
        """Sum over the parts."""
        return sum(part.affine_dimension for part in self.domains)

    @property
    def center(self) -> Vector:
        """The centres of the parts; read-only."""
        return read_only(np.concatenate([part.center for part in self.domains]))

    @cached_property
    def _quick_middle(self) -> Vector:
        return read_only(np.concatenate([part._quick_middle for part in self.domains]))

    @cached_property
    def _quick_dimension(self) -> int:
        return sum(part._quick_dimension for part in self.domains)

    @property
    def inner_radius(self) -> float:
        """The least of the parts, less those that are single points."""
        return min((part.inner_radius for part in self.domains if part.affine_dimension > 0), default=0.0)

    @property
    def outer_radius(self) -> float:
        """By Pythagoras, from those of the parts."""
        return math.hypot(*(part.outer_radius for part in self.domains))

    @property
    def diameter(self) -> float:
        """By Pythagoras, from those of the parts."""
        return math.hypot(*(part.diameter for part in self.domains))

    def orbit(self) -> Orbit | None:
        """Those of the parts, if all are known."""
        if any(part.affine_dimension < 1 for part in self.domains):
            return None
        orbits = [part.orbit() for part in self.domains]
        known = [one for one in orbits if one is not None]
        if len(known) < len(orbits):
            return None
        return Orbit(block_diag(*(one.axes for one in known)), np.concatenate([one.deviations for one in known]))

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Project part by part."""
        return self._each(lambda part, own: part.tangent(own), self._vectors(vectors))

    def _within(self, x: Vector, tolerance: float) -> bool | None:
        """Say what the parts agree on; near the boundary a projection is asked for."""
        parts = list(zip(self.domains, self.split(x), strict=True))
        if all(part.contains(own, tolerance / math.sqrt(len(parts))) for part, own in parts):
            return True
        return None if all(part.contains(own, tolerance) for part, own in parts) else False

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw vertices with mean `x`: part by part, independently."""

        def rounded(part: Domain, own: Vector) -> Floats:
            if part.affine_dimension > 0:
                return part.round(own, rng, count)
            away = math.dist(own, part.center)  # a point has no size to compare rounding errors with; the product has
            self._refuse_outside(away, 1e-6 * self.diameter)
            return np.tile(part.center, (count, 1))

        return self._each(rounded, x)
