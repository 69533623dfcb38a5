"""How much losses vary at one decision, from the squares that are released beside their sums.

A number has e events: y is its mean loss, from the middle of the range, q its mean of (x - middle)^2/B, and both carry
noise of deviation s = noise/e. Then e (B q - y^2 + s^2) has mean (e - 1) V, V the variance of a loss at that decision,
whatever its mean loss is. So no model is asked, and what numbers say is added up: over rounds, and over segments.
"""

import math

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.models.measurements import Numbers
from sottovoce.models.pace import ModelSettings

_FIRST = 2.0  # events that what is believed of the variance at first counts for
_TAILS = 5.0  # variance of the square of Laplace noise, over the square of its variance

NO_SCATTER = np.zeros(4)
"""Nothing is known: sums of squared deviations, of events (less one for each number), of these times the squared mean
loss, and the variance of the first of them by the noise of privacy."""


def scatter_of(numbers: Numbers, settings: ModelSettings) -> Floats:
    """Return what a round says, in the form of `NO_SCATTER`; its means are measured from the middle of the range.

    Parameters
    ----------
    numbers
        What the round has released.
    settings
        What is known beforehand.
    """
    if numbers.squares is None:
        return NO_SCATTER
    counts, width = numbers.counts, settings.width
    private = (settings.noise / counts) ** 2
    squared = numbers.means**2 - private
    # The noise of the squares, that of the mean times the mean, and its square:
    error = settings.noise**2 * (width**2 + np.minimum(4 * numbers.means**2, width**2) + _TAILS * private)
    return np.array(
        [counts @ (width * numbers.squares - squared), (counts - 1).sum(), (counts - 1) @ squared, error.sum()]
    )


def squared_mean(scatter: Floats, settings: ModelSettings) -> float:
    """Return the squared mean loss, from the middle of the range, where the variance was measured; 0 if nowhere."""
    weight, place = float(scatter[1]), float(scatter[2])
    return min(max(place / weight, 0.0), (settings.width / 2) ** 2) if weight else 0.0


def variance_of(scatter: Floats, settings: ModelSettings) -> float:
    """Return the variance of a loss and its standard error: too small a variance can cost all, too large a one little.

    Parameters
    ----------
    scatter
        What numbers have said, added up.
    settings
        What is known beforehand.
    """
    least, first, largest = settings.variances
    squares, weight, error = float(scatter[0]), float(scatter[1]), float(scatter[3])
    found = (_FIRST * first + max(squares, 0.0)) / (_FIRST + weight)
    # (x - f)^2 varies by V (1 - 2f)^2 where losses are 0 or B, which is most for their mean and variance.
    own = 4 * squared_mean(scatter, settings) * found / (_FIRST + weight)
    return min(max(found + math.sqrt(error / (_FIRST + weight) ** 2 + own), least), largest)
