"""What polytopes of a matroid's sets share, be they its bases or all independent ones."""

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._labels import Labels
from sottovoce.domains.base import Domain, Fixed, how_many
from sottovoce.domains.choices._matroid_sampling import along_a_line, group_by_group
from sottovoce.domains.matroids import AbstractMatroid, Laminar, Partition

__all__ = ["MatroidPolytope"]


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
    def _outer_radius(self) -> float:
        # On 0/1 points the squared distance from c is linear: <1 - 2c, x> + ||c||^2.
        return math.dist(self.extreme_point(2 * self.center - 1), self.center)

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the polytope."""
        if not isinstance(self.matroid, Partition):
            return super().contains(x, tolerance)
        x = vector("x", x, self.dimension)
        return self._distance(self.matroid, x) <= number("tolerance", tolerance, above=0.0)

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw sets with mean `x`: by systematic sampling in partition and laminar matroids, else the default."""
        x, matroid = vector("x", x, self.dimension), self.matroid
        if isinstance(matroid, Partition):
            if (apart := self._distance(matroid, x)) > 1e-6:
                raise self._outside(apart)
            return self._drawn(group_by_group(matroid, x, rng, how_many(size), bases=self.bases), size)
        if isinstance(matroid, Laminar) and matroid.allows(x, 1e-6) and self._complete(x):
            return self._drawn(along_a_line(matroid, x, rng, how_many(size), bases=self.bases), size)
        return super().round(x, rng, size)  # which refuses a point outside

    def _complete(self, x: Vector) -> bool:
        """Say whether a point has as much as every base has, if there are only bases."""
        return not self.bases or abs(float(x.sum()) - self.matroid.rank()) <= 1e-6
