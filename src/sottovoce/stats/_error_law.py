"""What stands between a released difference and the truth: one normal part, from people, and Laplace parts, from noise.

X = G + Z_1 + ... + Z_m, all independent: G is normal, with the variance of averages of losses, of Gaussian noise and of
owners' reports; each Z_i is the Laplace noise of one released number, with its own scale b_i. Laplace noise is not
replaced by normal noise of the same variance, whose tails are too light. Two of them already have no handy closed form
with unequal scales, and twenty stages of a test have twenty pairs, so that the distribution is taken from its
characteristic function

    phi(t) = exp(-s^2 t^2/2) / prod (1 + b_i^2 t^2),

which is real and positive: P(|X| < x) = 2/pi * integral over t > 0 of phi(t) sin(t x)/t (Gil-Pelaez 1951). The midpoint
rule with steps h errs by what X has beyond 2 pi/h - x (Poisson's formula), which is chosen to be nothing, and by phi
where the sum ends. Without Laplace parts it is the normal distribution's own formula.

Discrete noise on its grid, a millionth of the range, counts as continuous.

Tests: tests/stats/test_error_law.py.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.special import ndtr, ndtri

from sottovoce._arrays import Floats

LEAST_LEVEL = 1e-9
"""The smallest tail that is computed; below it nothing is claimed."""
_NORMAL_REACH, _LAPLACE_REACH = 10.0, 32.0  # deviations, and scales, beyond which there is nothing
_NEGLIGIBLE = 1e-11  # of phi, where the sum ends
_MOST_TERMS = 2**17


@dataclass(frozen=True)
class ErrorLaw:
    """A distribution around 0: the sum of a normal part and of Laplace parts.

    Attributes
    ----------
    normal
        Standard deviation of the normal part.
    laplace
        Scales of the Laplace parts.

    Examples
    --------
    >>> round(ErrorLaw(1.0).quantile(0.05), 2), round(ErrorLaw(0.0, (1.0, 1.0)).quantile(0.05), 2)
    (1.96, 4.11)
    """

    normal: float
    laplace: tuple[float, ...] = ()

    @property
    def deviation(self) -> float:
        """Standard deviation of the whole."""
        return math.hypot(self.normal, *(math.sqrt(2) * scale for scale in self.laplace))

    @property
    def reach(self) -> float:
        """A distance beyond which there is nothing that matters."""
        scales = self.laplace or (0.0,)
        rest = math.sqrt(sum(2 * scale**2 for scale in scales))
        return _NORMAL_REACH * self.normal + _LAPLACE_REACH * max(scales) + 8 * (rest if len(scales) > 1 else 0.0)

    def times(self, factor: float) -> "ErrorLaw":
        """Return the distribution of so many times X."""
        return ErrorLaw(self.normal * factor, tuple(scale * factor for scale in self.laplace))

    def plus(self, other: "ErrorLaw") -> "ErrorLaw":
        """Return the distribution of the sum with another, independent one."""
        return ErrorLaw(math.hypot(self.normal, other.normal), (*self.laplace, *other.laplace))

    def transform(self, frequencies: Floats) -> Floats:
        """Return the characteristic function."""
        found = np.exp(-0.5 * (self.normal * frequencies) ** 2)
        for scale, parts in Counter(self.laplace).items():  # stages of one size have one scale
            found /= (1 + (scale * frequencies) ** 2) ** parts
        return np.asarray(found)

    def tail(self, distance: float) -> float:
        """P(|X| >= distance).

        Parameters
        ----------
        distance
            0 or more.
        """
        if distance <= 0:
            return 1.0
        if not any(self.laplace):
            return float(2 * ndtr(-distance / self.normal)) if self.normal > 0 else 0.0
        if distance >= self.reach:
            return 0.0
        frequencies, weights = self._terms()
        return min(max(1 - float(weights @ np.sin(frequencies * distance)), 0.0), 1.0)

    def quantile(self, level: float) -> float:
        """Return the distance that |X| exceeds with this probability; infinite for less than can be computed.

        Parameters
        ----------
        level
            Above 0, below 1.
        """
        if level < LEAST_LEVEL:
            return math.inf
        if not any(self.laplace):
            return float(-ndtri(level / 2) * self.normal)
        from scipy.optimize import brentq  # slow to import

        frequencies, weights = self._terms()

        def excess(distance: float) -> float:
            return float(1 - weights @ np.sin(frequencies * distance)) - level

        return float(brentq(excess, 0.0, self.reach, xtol=1e-10 * self.deviation))

    def _terms(self) -> tuple[Floats, Floats]:
        """Frequencies of the midpoint rule, and what each sine is to be multiplied with."""
        step = math.pi / self.reach  # so that what comes in from outside lies beyond the reach
        end = step
        while self.transform(np.array([end]))[0] > _NEGLIGIBLE and end < step * _MOST_TERMS:
            end *= 1.25
        frequencies: Floats = step * np.arange(0.5, max(64, math.ceil(end / step)), dtype=np.float64)
        return frequencies, 2 / math.pi * step * self.transform(frequencies) / frequencies


def summed(errors: Iterable[ErrorLaw]) -> ErrorLaw:
    """Return what a sum of independent parts errs by."""
    return reduce(ErrorLaw.plus, errors, ErrorLaw(0.0))
