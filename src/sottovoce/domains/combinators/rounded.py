"""Lopsided sets, brought into round position."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Integers, Matrix, Vector
from sottovoce._checks import vector
from sottovoce.domains._geometry import outer_bounds
from sottovoce.domains._geometry.hull import CAUTION, SEED, Hull, both_ways
from sottovoce.domains._geometry.inner_ball import InnerBall, reach
from sottovoce.domains.balls.box import Box
from sottovoce.domains.base import Domain, Fixed, read_only
from sottovoce.domains.choices.hypersimplex import Hypersimplex
from sottovoce.domains.design import Design, d_optimal_design

_LOOKS = 4  # directions, each taken both ways, whose vertices stand for those of a design that is known by formula
_EQUAL = 1 - 1e-12
_REFLECTIONS = 30_000  # largest (vertices x dimension) for which every vertex is reflected, at a few projections each


class Rounded(Fixed, Domain):
    """A domain in round position: the affine image in which a D-optimal design has identity covariance.

    Its coordinates are z = S^(-1/2) (x - mean), as many as the affine hull has dimensions (d), so that the image is
    full. The centre is 0. With the best design the inner radius is at least 1/sqrt(d), while all vertices lie within
    sqrt(d): a ratio of at most d, however long and thin the original is. They have no names; `chosen` answers in those
    of the original.

    Parameters
    ----------
    domain : Domain
        The original; not a single point.

    Examples
    --------
    >>> needle = Box([0.0, 0.0], [1e-3, 10.0])
    >>> round(needle.outer_radius / needle.inner_radius)
    10000
    >>> ball = Rounded(needle)
    >>> round(ball.outer_radius / ball.inner_radius, 3)
    1.414
    >>> ball.to_original(ball.extreme_point([0.0, 0.0])) in needle.low + [[0.0, 0.0], [1e-3, 10.0]]
    True
    """

    def __init__(self, domain: Domain) -> None:
        if not isinstance(domain, Domain):
            raise TypeError(f"domain must be a Domain, got {domain!r}")
        self.domain = domain
        self.design: Design = d_optimal_design(domain)
        self.dimension = self.design.dimension

    def __repr__(self) -> str:
        return f"Rounded({self.domain!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a needle, a flat box, and choices."""
        return cls(Box([0, -5, 100], [1e-3, 5, 200])), cls(Box([0, 2, -1], [1, 2, 3])), cls(Hypersimplex(5, 2))

    def _said(self, places: Integers, entries: Vector) -> Any:
        """Return what the original says of the point that this one stands for."""
        return self.domain.chosen(self.to_original(self._written(places, entries)))

    def from_original(self, x: ArrayLike) -> Matrix:
        """Map points of the original, of shape (n,) or (m, n), to round position, (d,) or (m, d).

        Parameters
        ----------
        x
            One point, or rows of them.
        """
        return (np.asarray(x, dtype=np.float64) - self.design.mean) @ self.design.whitening.T

    def to_original(self, z: ArrayLike) -> Matrix:
        """Map points in round position back.

        Parameters
        ----------
        z
            One point, or rows of them.
        """
        return self.design.mean + np.asarray(z, dtype=np.float64) @ self.design.factor.T

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the image of the original's cheapest point."""
        asked = vector("cost", cost, self.dimension) @ self.design.whitening
        return self.from_original(self.domain.extreme_point(asked))

    @property
    def affine_dimension(self) -> int:
        """That of the original, which is how many coordinates there are."""
        return self.dimension

    @cached_property
    def _quick_middle(self) -> Vector:
        return read_only(self.from_original(self.domain._quick_middle))

    @cached_property
    def _quick_dimension(self) -> int:
        return self.domain._quick_dimension

    @cached_property
    def _gains(self) -> tuple[float, float]:
        """Least and largest factor by which the map changes a length."""
        if self.design.by_formula:  # its rows are orthogonal
            lengths = np.linalg.norm(self.design.whitening, axis=1)
            return float(lengths.min()), float(lengths.max())
        lengths = np.linalg.svd(self.design.whitening, compute_uv=False)
        return float(lengths[-1]), float(lengths[0])

    @property
    def _alike(self) -> bool:
        """Whether all lengths change by one factor: then the original's radii are exact, stretched."""
        return self._gains[0] >= self._gains[1] * _EQUAL

    @property
    def likely_outer_radius(self) -> float:
        """Root of the worst leverage that the search met: sqrt(d), or little more, and no certificate.

        Climbing may have missed a vertex farther out. `outer_radius` is certified, and often larger.
        """
        return float(np.sqrt(self.design.worst_leverage))

    @cached_property
    def _hull(self) -> Hull:
        vertices = self.design.vertices
        if self.design.by_formula:
            directions = np.random.default_rng(SEED).standard_normal((_LOOKS, self.domain.dimension))
            vertices = np.unique(both_ways(self.domain.extreme_point, directions), axis=0)
        return Hull(np.eye(self.dimension), self.from_original(vertices))

    @cached_property
    def outer_radius(self) -> float:
        """Of a design that is known by formula, the root of the leverage that all vertices have.

        Of others, that of the original, stretched, or what the oracle certifies if that is less.
        """
        if self.design.by_formula:
            return self.likely_outer_radius * (1 + CAUTION)
        moved = math.dist(self.center, self.from_original(self.domain.center))
        stretched = self.domain.outer_radius * self._gains[1] + moved
        if self._alike and moved == 0.0:
            return stretched
        return min(stretched, outer_bounds.outer_radius(self.extreme_point, self._frames, self.center))

    @cached_property
    def diameter(self) -> float:
        """That of the original, stretched, or what is certified here if that is less."""
        stretched = self.domain.diameter * self._gains[1]
        if self.design.by_formula:
            return min(2 * self.outer_radius, stretched)
        if self._alike:
            return stretched
        return min(stretched, outer_bounds.diameter(self.extreme_point, self._frames), 2 * self.outer_radius)

    @cached_property
    def _inner_ball(self) -> InnerBall:
        """The best of three balls around 0.

        The design's vertices z_j have mean 0 and identity covariance, so w is the sum of p_j (1 + <z_j, w>) z_j, a
        convex combination as long as ||w|| <= 1/max ||z_j||. The original's ball contains, stretched, another. And if
        the set holds all -a z_j as well, it holds the ball of radius 2a/(1 + a).
        """
        farthest = float(np.linalg.norm(self._hull.vertices, axis=1).max())
        moved = float(np.linalg.norm(self.from_original(self.domain.center)))
        stretched = self.domain.inner_radius * self._gains[0] - moved
        radius = max(1 / farthest, stretched) * (1 - CAUTION)
        return InnerBall(read_only(np.zeros(self.dimension)), max(radius, self._reflection(radius)))

    def _reflection(self, least: float) -> float:
        """Return the radius from reflected vertices, or 0 if it is below `least` or too dear to find."""
        vertices = self._hull.vertices
        if vertices.size > _REFLECTIONS or self.design.by_formula:
            return 0.0
        share, slack = 1.0, 1e-4
        for vertex in vertices[np.argsort(-np.linalg.norm(vertices, axis=1), kind="stable")]:
            share = reach(self.extreme_point, np.zeros(self.dimension), -vertex, share, slack)
            if 2 * share / (1 + share) - slack <= least:
                return 0.0
        return 2 * share / (1 + share) - slack

    def _within(self, x: Vector, tolerance: float) -> bool | None:
        """Ask the original, at the least and the largest tolerance that this can mean there: answers may differ."""
        origin, (low, high) = self.to_original(x), self._gains
        if self.domain.contains(origin, tolerance / high):
            return True
        return False if self._alike or not self.domain.contains(origin, tolerance / low) else None

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Matrix:
        """Draw vertices with mean `x`: images of what the original draws."""
        return self.from_original(self.domain.round(self.to_original(x), rng, count))
