"""From runs to a forecast: what several worlds have in common, how far they differ, and what longer runs would do."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from sottovoce._arrays import Floats
from sottovoce.plans.forecast import Spread

FOUR_OF_FIVE = 1.28  # standard deviations to either side
FOREVER = 1e12  # events that nobody has
_LEAST_DEVIATION = 0.25  # of a logarithm between worlds: a few of them may agree by chance
_LEAST_PRICE_DEVIATION = 0.25
_UNSURE = 0.08  # of an exponent that was seen
_USUAL_EXPONENT, _UNSURE_GUESS = -0.7, 0.2  # once something is learned; where one length alone was played
_LEARNING = 0.3  # share below which that is so
_SMALLEST = 1e-6  # share that is not told from nothing
BARELY = 0.7
"""Runs with a larger share have learned so little that nothing is extrapolated from them."""


class Shares:
    """Regret over that of never learning, by length of run and world, and what follows from it.

    Parameters
    ----------
    lengths
        Of runs, ascending.
    values
        (lengths, worlds).

    Examples
    --------
    >>> shares = Shares([100, 400], [[1.0, 1.0], [0.5, 0.5]])
    >>> round(shares.at(1600).central / shares.at(400).central, 3)
    0.5
    >>> round(shares.length_for(shares.at(400).central / 2).central)
    1600
    """

    def __init__(self, lengths: Sequence[int], values: Sequence[Sequence[float]] | Floats) -> None:
        self.lengths = tuple(lengths)
        self.logarithms: Floats = np.log(np.maximum(np.asarray(values, dtype=np.float64), _SMALLEST))

    @property
    def longest(self) -> int:
        """The longest run that was played."""
        return self.lengths[-1]

    @property
    def exponent(self) -> float:
        """How the share changes with the length of longer runs: no slower than not at all, no faster than 1/T."""
        if len(self.lengths) < 2:
            return _USUAL_EXPONENT
        fall = float((self.logarithms[-1] - self.logarithms[-2]).mean())
        seen = min(0.0, max(-1.0, fall / math.log(self.lengths[-1] / self.lengths[-2])))
        # A few runs say it only roughly, and it is much the same everywhere.
        learning = float(self.logarithms[-1].mean()) < math.log(_LEARNING)
        return (seen + _USUAL_EXPONENT) / 2 if learning else seen

    def logarithm_at(self, length: float) -> tuple[float, float]:
        """Return the mean over worlds of the share's logarithm, and the deviation of a new world's from it."""
        at, knots = math.log(length), np.log(self.lengths)
        means, deviations = self.logarithms.mean(axis=1), self._deviations()
        if at < knots[0]:  # shorter than any run that was played, which may have learned much already
            return float(means[0] + _USUAL_EXPONENT * (at - knots[0])), float(deviations[0])
        if at <= knots[-1]:
            return float(np.interp(at, knots, means)), float(np.interp(at, knots, deviations))
        further = at - knots[-1]
        unsure = _UNSURE if len(knots) > 1 else _UNSURE_GUESS
        return float(means[-1] + self.exponent * further), math.hypot(deviations[-1], unsure * further)

    def _deviations(self) -> Floats:
        worlds = self.logarithms.shape[1]
        if worlds < 2:
            return np.full(len(self.lengths), 2 * _LEAST_DEVIATION)
        between = np.maximum(self.logarithms.std(axis=1, ddof=1), _LEAST_DEVIATION)
        return np.asarray(between * math.sqrt(1 + 1 / worlds))

    def at(self, length: float) -> Spread:
        """Return the share of a run of some length."""
        mean, deviation = self.logarithm_at(length)
        return _spread(mean, FOUR_OF_FIVE * deviation)

    def length_for(self, share: float) -> Spread:
        """Return how long a run must be for a share as small as this.

        Infinite, and longer than the longest run, where that one has learned too little to say more.
        """
        if self.at(self.longest).central > max(share, BARELY):
            return Spread(math.inf, self.longest, math.inf)
        return Spread(*(self._crossing(share, sign * FOUR_OF_FIVE) for sign in (0, -1, 1)))

    def _crossing(self, share: float, deviations: float) -> float:
        def excess(logarithm: float) -> float:
            mean, deviation = self.logarithm_at(math.exp(logarithm))
            return mean + deviations * deviation - math.log(share)

        grid = np.linspace(0.0, math.log(FOREVER), 600)
        below = np.flatnonzero([excess(at) <= 0 for at in grid])
        if not len(below):
            return math.inf
        first = int(below[0])
        return math.exp(brentq(excess, grid[first - 1], grid[first])) if first else 1.0


def price_between(private: Shares, free: Shares, length: float) -> Spread:
    """Return what privacy multiplies the regret of a run by.

    Examples
    --------
    >>> price_between(Shares([100], [[0.4, 0.4]]), Shares([100], [[0.2, 0.2]]), 100).central
    2.0
    """
    ratio = private.logarithm_at(length)[0] - free.logarithm_at(length)[0]
    apart = (private.logarithms - free.logarithms)[-1]
    deviation = max(float(apart.std(ddof=1)), _LEAST_PRICE_DEVIATION) if len(apart) > 1 else 2 * _LEAST_PRICE_DEVIATION
    deviation *= math.sqrt(1 + 1 / len(apart))
    further = max(0.0, math.log(length / private.longest))
    found = _spread(ratio, FOUR_OF_FIVE * math.hypot(deviation, _UNSURE * further))
    return Spread(*(round(max(1.0, one), 12) for one in (found.central, found.low, found.high)))


def _spread(mean: float, to_either_side: float) -> Spread:
    return Spread(math.exp(mean), math.exp(mean - to_either_side), math.exp(mean + to_either_side))
