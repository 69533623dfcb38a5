"""Step sizes: fixed beforehand, or adapted to the gradients that were released."""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import number

Vector = NDArray[np.float64]


class StepRule(Protocol):
    """Chooses the step from what was released so far."""

    def after(self, change: Vector) -> float:
        """Take in how the released sum changed; return the step for the next point."""

    @property
    def energy(self) -> float:
        """Sum of the squared changes that were taken in, if it matters."""

    @energy.setter
    def energy(self, value: float) -> None: ...


class ConstantStep:
    """The same step throughout.

    Examples
    --------
    >>> ConstantStep(0.5).after(np.ones(3))
    0.5
    """

    def __init__(self, step: float) -> None:
        self.step = number("step", step, above=0)
        self.energy = 0.0

    def after(self, change: Vector) -> float:
        """Return the step."""
        return self.step


class AdaptiveStep:
    """multiplier * R / sqrt(2 * sum of ||g||^2) over the *released* gradients: post-processing, and it needs no tuning.

    Parameters
    ----------
    radius
        R, how far the set reaches from the centre.
    multiplier
        Above 1 it bets on losses that stay as they are; the worst-case bound grows by (c + 1/c)/2.

    Examples
    --------
    >>> step = AdaptiveStep(2.0)
    >>> round(step.after(np.array([3.0, 4.0])), 4)
    0.2828
    """

    def __init__(self, radius: float, multiplier: float = 1.0) -> None:
        self.radius = number("radius", radius, above=0)
        self.multiplier = number("multiplier", multiplier, above=0)
        self.energy = 0.0

    def after(self, change: Vector) -> float:
        """Return the step; 0 as long as nothing was seen."""
        self.energy += float(change @ change)
        return self.multiplier * self.radius / math.sqrt(2 * self.energy) if self.energy else 0.0
