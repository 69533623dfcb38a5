"""From a round's integers to what the private sum adds up, and from its releases back to gradients.

With f = low + step_f * q (q the loss's integer) and u = step_u * U (U the direction's), and any constant baseline b,

    scale * sum (f - b) u  =  unit * sum q U  +  scale (low - b) step_u * sum U,     unit = scale * step_f * step_u.

The first sum is private and stays an integer until its noise is added; the second is made of public directions alone.
Subtracting b leaves the estimate unbiased, since directions have mean zero.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce.privacy import DirectionGrid, LossGrid

__all__ = ["Estimate", "OnePointGradient", "PrivateTotal", "RoundSums"]

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]


class RoundSums(NamedTuple):
    """What a complete round adds up to: sum q U, which is private and un-noised, and sum U, which is public."""

    products: Integers
    directions: Integers

    def __repr__(self) -> str:
        return "RoundSums(<withheld>)"


class Estimate(NamedTuple):
    """One round's contribution to the running sum; `private` is un-noised, and must go nowhere but into a release."""

    private: Integers
    public: Vector

    def __repr__(self) -> str:
        return "Estimate(private=<withheld>)"


@dataclass(frozen=True)
class OnePointGradient:
    """NoisyGrad of Algorithm 1: the one-point estimate, summed over a batch, on the integer grids.

    Examples
    --------
    >>> gradient = OnePointGradient(20.0, LossGrid(0.0, 1.0, bits=4), DirectionGrid(bits=4))
    >>> losses, directions = np.array([8, 16]), np.array([[16, 0], [0, -16]])
    >>> estimate = gradient(RoundSums(losses @ directions, directions.sum(axis=0)))
    >>> gradient.unit * estimate.private + estimate.public
    array([ 10., -20.])
    """

    scale: float
    loss_grid: LossGrid
    direction_grid: DirectionGrid
    baseline: float = 0.0

    @property
    def unit(self) -> float:
        """What one step of the product grid is worth in gradient units."""
        return self.scale * self.loss_grid.step * self.direction_grid.step

    def __call__(self, sums: RoundSums, point: Vector | None = None) -> Estimate:
        """Return the round's estimate; the point is not needed, since losses were taken around it."""
        shift = self.scale * (self.loss_grid.low - self.baseline) * self.direction_grid.step
        return Estimate(sums.products, np.asarray(shift * sums.directions, dtype=np.float64))


class _IntegerTotal(Protocol):
    def start(self) -> Vector: ...
    def add(self, vector: Integers) -> Vector: ...


class PrivateTotal:
    """The running sum of estimates: integers go through a release mechanism, public parts are added exactly.

    Parameters
    ----------
    release
        A mechanism for running sums of integer vectors, such as `TreeAggregator`.
    unit
        What one integer step is worth in gradient units.
    """

    def __init__(self, release: _IntegerTotal, unit: float) -> None:
        self._release, self._unit = release, unit
        self._public: Vector | None = None

    def start(self) -> Vector:
        """Return the sum before any data."""
        return np.asarray(self._unit * self._release.start())

    def add(self, increment: Estimate) -> Vector:
        """Release the sum with one more round in it."""
        released = self._unit * self._release.add(increment.private)
        self._public = increment.public if self._public is None else self._public + increment.public
        return np.asarray(released + self._public)
