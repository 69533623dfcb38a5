"""Affine images of a domain, with the same oracle underneath."""

import math
from abc import abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Matrix, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._geometry import outer_bounds
from sottovoce.domains._geometry.hull import Hull
from sottovoce.domains._geometry.inner_ball import InnerBall, inner_ball
from sottovoce.domains.base import Domain, Fixed, read_only

_EQUAL = 1 - 1e-12


def original(domain: Domain) -> Domain:
    """Return a domain that images can be made of, or say why not."""
    if not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain, got {domain!r}")
    return domain


class Image(Fixed, Domain):
    """The image of a domain under an affine map that is one-to-one on it; a subclass says which map.

    Geometry is that of the original, stretched: exact where the map stretches all directions alike, otherwise the
    better of that and what the oracle certifies.
    """

    domain: Domain
    """The set whose image this is."""

    @abstractmethod
    def from_original(self, x: ArrayLike) -> Matrix:
        """Map points of the original, of shape (n,) or (m, n), to their images."""

    @abstractmethod
    def to_original(self, z: ArrayLike) -> Matrix:
        """Map points of the image back to those they come from; points beside the image, to the nearest in it."""

    @abstractmethod
    def _pull(self, cost: Vector) -> Vector:
        """Return the cost in the original's coordinates: the transposed linear map."""

    @property
    @abstractmethod
    def _gains(self) -> tuple[float, float]:
        """Least and largest factor by which the map changes a length."""

    @property
    @abstractmethod
    def _tangent_gains(self) -> tuple[float, float]:
        """The same, for directions of the original's affine hull."""

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the image of the original's cheapest point."""
        return self.from_original(self.domain.extreme_point(self._pull(vector("cost", cost, self.dimension))))

    @property
    def affine_dimension(self) -> int:
        """That of the original."""
        return self.domain.affine_dimension

    @cached_property
    def _quick_middle(self) -> Vector:
        return read_only(self.from_original(self.domain._quick_middle))

    @cached_property
    def _quick_dimension(self) -> int:
        return self.domain._quick_dimension

    @cached_property
    def _hull(self) -> Hull:
        hull = self.domain._hull
        images = self.from_original(hull.basis + hull.vertices[0]) - self.from_original(hull.vertices[0])
        basis = np.linalg.qr(images.T)[0].T if len(images) else np.empty((0, self.dimension))
        return Hull(basis, self.from_original(hull.vertices))

    @property
    def _alike(self) -> bool:
        low, high = self._tangent_gains
        return low >= high * _EQUAL

    @cached_property
    def _inner_ball(self) -> InnerBall:
        stretched = InnerBall(
            read_only(self.from_original(self.domain.center)), self.domain.inner_radius * self._tangent_gains[0]
        )
        if self._alike:
            return stretched
        found = inner_ball(self.extreme_point, self._hull)
        return found if found.radius > stretched.radius else stretched

    @cached_property
    def _outer_radius(self) -> float:
        moved = math.dist(self.center, self.from_original(self.domain.center))
        stretched = self.domain.outer_radius * self._tangent_gains[1] + moved
        if self._alike and moved == 0.0:
            return stretched
        return min(stretched, outer_bounds.outer_radius(self.extreme_point, self._frames, self.center))

    @cached_property
    def _diameter(self) -> float:
        stretched = self.domain.diameter * self._tangent_gains[1]
        if self._alike:
            return stretched
        return min(stretched, outer_bounds.diameter(self.extreme_point, self._frames), 2 * self.outer_radius)

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the set.

        The original decides, at the least and the largest tolerance that this can mean there; if it gives two answers,
        a projection decides.
        """
        x = vector("x", x, self.dimension)
        tolerance = number("tolerance", tolerance, above=0.0)
        origin = self.to_original(x)
        beside = math.dist(x, self.from_original(origin))
        if beside >= tolerance:
            return False
        spare, (low, high) = math.sqrt(tolerance**2 - beside**2), self._gains
        if self.domain.contains(origin, spare / high):
            return True
        if low >= high * _EQUAL or not self.domain.contains(origin, spare / low):
            return False
        return super().contains(x, tolerance)

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Matrix:
        """Draw vertices with mean `x`: images of what the original draws."""
        x = vector("x", x, self.dimension)
        origin = self.to_original(x)
        beside = math.dist(x, self.from_original(origin))
        if beside > 1e-6 * self.outer_radius:
            raise self._outside(beside)
        return self.from_original(self.domain.round(origin, rng, size))
