"""What the balls of all norms share: a centre, a radius, and room in every direction."""

from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce.domains.base import Domain, Fixed

__all__ = ["NormBall"]


class NormBall(Fixed, Domain):
    """A full set, symmetric about its centre, that reaches exactly `radius` far; a base for families of balls."""

    radius: float
    _center: Vector

    @property
    def affine_dimension(self) -> int:
        """The ball is full."""
        return self.dimension

    @property
    def center(self) -> Vector:
        """The centre of the ball; read-only."""
        return self._center

    @property
    def outer_radius(self) -> float:
        """The Euclidean distance from the centre to the farthest points."""
        return self.radius

    @property
    def diameter(self) -> float:
        """Distance of opposite points."""
        return 2 * self.radius

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Return a copy: the ball is full."""
        return self._vectors(vectors)
