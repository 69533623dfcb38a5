"""What polytopes of a matroid's sets share, be they its bases or all independent ones."""

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce.domains._labels import Labels
from sottovoce.domains.base import Domain, Fixed
from sottovoce.domains.choices.hypersimplex import Hypersimplex
from sottovoce.domains.matroids import AbstractMatroid, Laminar, Partition


class MatroidPolytope(Fixed, Domain):
    """Mixtures of some of a matroid's sets; a subclass says of which, and how far a point is in partition matroids."""

    bases: ClassVar[bool]

    def __init__(self, matroid: AbstractMatroid, *, labels: Any = None) -> None:
        if not isinstance(matroid, AbstractMatroid):
            raise TypeError(
                f"matroid must come from sottovoce.domains.matroids, got {matroid!r}; an independence function of your "
                "own becomes one by matroids.Matroid(ground_size, function)"
            )
        self.matroid = matroid
        self.dimension = matroid.ground_size
        self._name(labels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.matroid!r})"

    def _own_labels(self) -> Labels | None:
        return self.matroid.ground

    @abstractmethod
    def _distance(self, matroid: Partition, x: Vector) -> float:
        """Return how far a point is from the polytope of a partition matroid."""

    @property
    def _has_center(self) -> bool:
        return isinstance(self.matroid, Partition)

    @property
    def _has_dimension(self) -> bool:
        return self.matroid.falls_apart_quickly

    @cached_property
    def outer_radius(self) -> float:
        """Distance from the centre to the farthest set: on 0/1 points its square is linear, <1 - 2c, x> + ||c||^2."""
        return math.dist(self.extreme_point(2 * self.center - 1), self.center)

    def _within(self, x: Vector, tolerance: float) -> bool | None:
        return self._distance(self.matroid, x) <= tolerance if isinstance(self.matroid, Partition) else None

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw sets with mean `x`: by systematic sampling in partition and laminar matroids, else the default."""
        matroid = self.matroid
        if isinstance(matroid, Partition):
            self._refuse_outside(self._distance(matroid, x), 1e-6)
            return group_by_group(matroid, x, rng, count, bases=self.bases)
        if isinstance(matroid, Laminar) and matroid.allows(x, 1e-6) and self._complete(x):
            return along_a_line(matroid, x, rng, count, bases=self.bases)
        return super()._draw(x, rng, count)  # which refuses a point outside

    def _complete(self, x: Vector) -> bool:
        """Say whether a point has as much as every base has, if there are only bases."""
        return not self.bases or abs(float(x.sum()) - self.matroid.rank()) <= 1e-6


# ----------------------------------------------------------------------
# Random independent sets with given chances for the elements, by systematic sampling (Madow, 1949).
#
# Lay the chances end to end and choose what the grid u, u + 1, ... hits, u uniform in [0, 1): any interval of elements
# with chances that add up to t is hit floor(t) or ceil(t) times. So quotas of intervals are kept, and those of laminar
# sets are quotas of intervals once the elements stand in a suitable line.


_SURE = 1e-6  # points this near to the set count as in it


def group_by_group(matroid: Partition, x: Vector, rng: np.random.Generator, count: int, *, bases: bool) -> Floats:
    """Draw independent sets with mean x, or bases, each group on its own."""
    drawn = np.zeros((count, matroid.ground_size))
    for group, capacity in zip(matroid.groups(), matroid.capacities.tolist(), strict=True):
        drawn[:, group] = _systematic(x[group], rng, count, capacity, exactly=bases)
    return drawn


def along_a_line(matroid: Laminar, x: Vector, rng: np.random.Generator, count: int, *, bases: bool) -> Floats:
    """Draw independent sets with mean x, or bases; x is in the polytope up to rounding."""
    line, rank = matroid.line(), matroid.rank()
    drawn = np.zeros((count, matroid.ground_size))
    bad: Mask = np.ones(count, dtype=np.bool_)
    while bad.any():  # where a quota is met with equality, rounding lets the grid miss an end, hardly ever
        drawn[np.ix_(bad, line)] = _systematic(x[line], rng, int(bad.sum()), rank, exactly=bases)
        bad = np.any(drawn @ matroid.family.T > matroid.capacities, axis=1)
    return drawn


def _systematic(x: Vector, rng: np.random.Generator, count: int, most: int, *, exactly: bool) -> Floats:
    """Draw 0/1 rows with mean x and at most, or exactly, `most` ones; what is missing goes to one more, silent item."""
    x = np.clip(x, 0.0, 1.0)
    total = most if exactly else min(most, math.ceil(float(x.sum()) - _SURE))
    if total == 0 or (exactly and total == len(x)):
        return np.full((count, len(x)), float(total > 0))
    padded = x if exactly else np.append(x, max(0.0, total - float(x.sum())))
    return Hypersimplex(len(padded), total).round(padded, rng, size=count)[:, : len(x)] + 0.0  # no -0.0
