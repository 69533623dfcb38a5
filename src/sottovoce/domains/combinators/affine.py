"""A domain, scaled and shifted."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Matrix, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._labels import Labels
from sottovoce.domains.balls.ball import Ball
from sottovoce.domains.balls.box import Box
from sottovoce.domains.base import Domain, read_only
from sottovoce.domains.choices.simplex import Simplex
from sottovoce.domains.combinators._image import Image, original


class Affine(Image):
    """A domain scaled and shifted, or its image under any one-to-one affine map.

    Parameters
    ----------
    domain : Domain
        The original.
    scale : float, array of shape (n,), or array of shape (m, n)
        One factor for all coordinates, one for each, or a matrix of full column rank.
    shift : float or array of shape (m,)
        Added to every point after scaling.
    labels : list of names, optional
        Names of the coordinates of the image. Default: those of the original, unless scale is a matrix.

    Examples
    --------
    >>> prices = Affine(Simplex(3), scale=[1.0, 2.0, 4.0], shift=10.0)
    >>> prices.extreme_point([0.0, 0.0, -1.0])
    array([10., 10., 14.])
    >>> disc = Affine(Ball(2), scale=3.0, shift=[5.0, 5.0])
    >>> disc.center, disc.inner_radius, disc.contains([8.0, 5.0])
    (array([5., 5.]), 3.0, True)
    """

    chosen_as = "amounts"

    def __init__(self, domain: Domain, scale: ArrayLike = 1.0, shift: ArrayLike = 0.0, *, labels: Any = None) -> None:
        self.domain = original(domain)
        self.scale = _scale(scale, domain.dimension)
        self.dimension = self.scale.shape[0] if self.scale.ndim == 2 else domain.dimension
        if np.ndim(shift) == 0:
            shift = np.full(self.dimension, number("shift", shift))
        self.shift = read_only(vector("shift", shift, self.dimension))
        self._name(labels)

    def __repr__(self) -> str:
        scale = f"{float(self.scale):g}" if self.scale.ndim == 0 else f"array of shape {self.scale.shape}"
        return f"Affine({self.domain!r}, scale={scale}{', shift=...' if self.shift.any() else ''})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a scaled simplex, a stretched one, an ellipse, and a square laid into space."""
        plane = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, -1.0]])
        return (
            cls(Simplex(3), -2.0, [1.0, 2.0, 3.0]),
            cls(Simplex(4), [1.0, 2.0, 3.0, -4.0]),
            cls(Ball(2), [[2.0, 0.0], [1.0, 1.0]], 5.0),
            cls(Box(-1, 1, 2), plane, [0.0, 0.0, 9.0]),
        )

    def _own_labels(self) -> Labels | None:
        return None if self.scale.ndim == 2 else self.domain.labels

    def from_original(self, x: ArrayLike) -> Matrix:
        """Scale and shift.

        Parameters
        ----------
        x
            A point of the original set, or rows of them.
        """
        x = np.asarray(x, dtype=np.float64)
        return (x @ self.scale.T if self.scale.ndim == 2 else x * self.scale) + self.shift

    def to_original(self, z: ArrayLike) -> Matrix:
        """Undo the shift and the scaling; for a matrix by least squares.

        Parameters
        ----------
        z
            A point of this set, or rows of them.
        """
        offset = np.asarray(z, dtype=np.float64) - self.shift
        return offset @ self._inverse.T if self.scale.ndim == 2 else offset / self.scale

    @cached_property
    def _inverse(self) -> Matrix:
        return np.asarray(np.linalg.pinv(self.scale), dtype=np.float64)

    def _pull(self, cost: Vector) -> Vector:
        return cost @ self.scale if self.scale.ndim == 2 else cost * self.scale

    @cached_property
    def _gains(self) -> tuple[float, float]:
        factors = np.linalg.svd(self.scale, compute_uv=False) if self.scale.ndim == 2 else np.abs(self.scale)
        return float(factors.min()), float(factors.max())

    @cached_property
    def _tangent_gains(self) -> tuple[float, float]:
        basis = None if self._gains[0] == self._gains[1] else self.domain._hull.basis
        if basis is None or len(basis) in (0, self.domain.dimension):
            return self._gains
        factors = np.linalg.svd(self.from_original(basis) - self.shift, compute_uv=False)
        return float(factors.min()), float(factors.max())

    def tangent(self, vectors: ArrayLike) -> Matrix:
        """Project on the direction space: the original's own projection where the scale is one number."""
        return self.domain.tangent(vectors) if self.scale.ndim == 0 else super().tangent(vectors)


def _scale(scale: ArrayLike, dimension: int) -> Matrix:
    """Return a read-only number, vector or matrix that is one-to-one."""
    factors = np.array(scale, dtype=np.float64)
    if factors.shape not in ((), (dimension,)) and (factors.ndim != 2 or factors.shape[1] != dimension):
        raise ValueError(
            f"scale must be a number, or have shape ({dimension},) or (m, {dimension}), got {factors.shape}"
        )
    if not np.isfinite(factors).all():
        raise ValueError(f"scale must be finite, got {scale!r}")
    if factors.ndim < 2 and not factors.all():
        raise ValueError(f"scale must not be zero, since the map must be one-to-one, got {scale!r}")
    if factors.ndim == 2:
        lengths = np.linalg.svd(factors, compute_uv=False)
        if len(factors) < dimension or lengths[-1] <= 1e-12 * lengths[0]:
            raise ValueError("scale must have full column rank, since the map must be one-to-one")
    factors.setflags(write=False)
    return factors
