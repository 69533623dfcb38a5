"""A mean that was released, and how far from the truth it may be: computed from released and public numbers alone.

The released number is the sum of n integers, each the loss of one place, plus noise Z whose distribution is public. So
mean = low + step * (sum + Z)/n is unbiased for mu, the mean loss (half a step of the grid aside), with variance

    V/n + step^2 Var(Z)/n^2,

V being the variance of one loss. The second term is known. V is not, and a second release to estimate it would cost a
part of the budget: for a loss in [low, high] with mean mu, however, V <= (high - mu)(mu - low), with equality if it
only takes its two ends (Bhatia and Davis 2000; E (high - f)(f - low) >= 0). It is a function of mu alone, which is
released.

The interval is Wilson's, for bounded losses and with the noise in it: all mu in the range for which a mean at least as
far away as the released one has a probability of 1 - confidence or more, if G + Z is what stands between them, G normal
with variance (high - mu)(mu - low)/n. Z is taken as it is: Laplace noise has heavier tails than a normal distribution
of the same variance (95% of it lies within 2.12 standard deviations, not 1.96). The bound is taken at each mu, never at
the noisy mean, so that a mean near the end of the range, or beyond it, does not pose as a certain one. What is
approximate is that an average of n losses is normal; with some dozens of them it is near enough. Losses with little
variance have intervals that are wider than need be, unless a second number says how little (`variance_of`).

The standard error is one number, so V is taken at one mu: the released mean, pulled towards the middle of the range as
if four more events had told (Agresti and Coull 1998), the released number counting as the number of events that would
be as accurate without noise.

Under local privacy what is summed are reports. One-bit reports are worth one of two values, so the same bound, with
these as its ends, is their variance exactly. Laplace reports add the variance of their noise to each event.

Losses of different people are taken to be independent; mu is the mean over people like those who met these parameters,
a loss that never came counting as the middle of the range.

Tests: tests/stats/test_released_mean.py, coverage by simulation included.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from sottovoce._arrays import Floats
from sottovoce._checks import number
from sottovoce.stats.scale import MORE_EVENTS, Scale

_CANDIDATES = 257  # values of mu that are tried before the ends are refined
_PRECISION = 1e-12  # of the ends of an interval, in units of the range
_ALMOST_NORMAL = 1e4  # times more normal than Laplace: the difference is lost in rounding


class Variance(NamedTuple):
    """How much one loss varies, from two released numbers: an estimate, and what it may be at most.

    V = E (f - c)^2 - (mu - c)^2, c being the middle of the range: the second moment is released as the mean is
    (_sums.py), with noise of the same scale in units of the range. Both are taken as if four more
    events had told, two at each end of the range: for losses that are one end or the other this is Agresti and Caffo's
    pull, and losses that seem to be all the same do not pose as certain.

    What it may be at most adds one standard error: that of the second moment, whose squares lie between 0 and a quarter
    of the width squared, so that their variance is bounded by their mean as that of losses is (Bhatia and Davis 2000),
    and that of the mean; they are added, since the two numbers come from the same losses. It never exceeds what the
    mean and the range allow by themselves, and the intervals take the smaller of both.

    Tests: tests/stats/test_released_mean.py, coverage by simulation included.
    """

    estimate: float
    at_most: float


def variance_of(scale: Scale, *, mean: float, second: float, events: float, noise_error: float) -> Variance:
    """Return what two released numbers say of the variance of one loss.

    Parameters
    ----------
    scale
        Of the evaluations.
    mean
        That was released.
    second
        The mean of t(q), in units of the range: times its width it is the second moment around the middle.
    events
        How many the numbers are over.
    noise_error
        Standard deviation of what privacy adds to the mean, and to `second`.
    """
    low, high = scale.loss_range
    width, middle, most = high - low, (low + high) / 2, (high - low) ** 2 / 4
    worth = most / (most / events + noise_error**2)  # events that are as accurate without noise
    pulled = scale.pulled(mean, events, noise_error) - middle
    moment = min(max(second * width, 0.0), most)
    moment = (worth * moment + MORE_EVENTS * most) / (worth + MORE_EVENTS)
    estimate = max(moment - pulled**2, 0.0)
    error = math.sqrt(moment * (most - moment) / events + (noise_error * width) ** 2)
    error += 2 * abs(pulled) * math.sqrt(estimate / events + noise_error**2)
    return Variance(estimate, estimate + error)


@dataclass(frozen=True)
class ReleasedMean:
    """What an evaluation has released: one number, once, and what follows from it.

    Attributes
    ----------
    number
        Of the evaluation.
    events
        How many places the mean is over.
    total
        The released integer: the sum of all of them on the grid, with its noise.
    scale
        What the integers are worth.
    squares
        The released sum of squares, with its noise (_sums.py); None without `variance=True`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0), noise=sv.SimulatedNoise(1))
    >>> evaluation = evaluations.open(events=500)
    >>> evaluation.tell([0.25, 0.75] * 250)
    >>> print(evaluation.result)
    0.498 +- 0.0225 (500 events; privacy noise 0.00283)
    """

    number: int
    events: int
    total: int
    scale: Scale
    squares: int | None = None

    @property
    def mean(self) -> float:
        """The mean loss, unbiased; noise may carry it out of the range."""
        return self.scale.low + self.scale.step * (self.total / self.events)

    @property
    def noise_error(self) -> float:
        """Standard deviation of what privacy adds to the mean; 0 where owners or nobody add noise to each loss."""
        noise = self.scale.noise
        return 0.0 if noise is None else noise.standard_deviation * self.scale.step / self.events

    @property
    def standard_error(self) -> float:
        """Standard deviation of the mean around the truth: losses, of which a bound is taken, and noise."""
        pulled = self.scale.pulled(self.mean, self.events, self.noise_error)
        variance = float(self.scale.spread(np.array(pulled)))
        if self.variance is not None:
            variance = min(variance, self.variance)
        return math.hypot(math.sqrt(variance / self.events), self.noise_error)

    @property
    def variance(self) -> float | None:
        """How much one loss varies, estimated from what was released; None without `variance=True`."""
        return None if self._variance is None else self._variance.estimate

    @property
    def second(self) -> float | None:
        """The mean square around the middle, over the width of the range; None without `variance=True`."""
        return None if self.squares is None else self.scale.step * (self.squares / self.events + 0.5)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval for the mean loss, within the range; privacy noise and chance of people are both in it.

        Parameters
        ----------
        confidence
            How often intervals made in this way hold the truth: above 0, below 1.
        """
        allowed = 1 - number("confidence", confidence, above=0, at_most=math.nextafter(1, 0))
        low, high = self.scale.loss_range
        tried = np.unique(np.append(np.linspace(low, high, _CANDIDATES), self._within))
        accepted = np.flatnonzero(self._tail(tried) >= allowed)
        if not len(accepted):  # so far out that nothing explains it: the nearest mean there is
            return self._within, self._within
        first, last = int(accepted[0]), int(accepted[-1])
        below = low if not first else self._edge(tried[first - 1], tried[first], allowed)
        above = high if last == len(tried) - 1 else self._edge(tried[last + 1], tried[last], allowed)
        return below, above

    def to_dict(self) -> dict[str, Any]:
        """Return what was released, and the public facts, as plain data."""
        noise = self.scale.noise
        return {
            "number": self.number,
            "events": self.events,
            "total": self.total,
            "mean": self.mean,
            "standard_error": self.standard_error,
            "noise_error": self.noise_error,
            **({} if self.squares is None else {"squares": self.squares, "variance": self.variance}),
            "loss_range": list(self.scale.loss_range),
            "noise": None if noise is None else {"family": noise.family, "scale": noise.scale},
        }

    def __str__(self) -> str:
        return (
            f"{self.mean:.3g} +- {self.standard_error:.3g} ({self.events} events; privacy noise {self.noise_error:.3g})"
        )

    @property
    def _within(self) -> float:
        low, high = self.scale.loss_range
        return min(max(self.mean, low), high)

    def _deviation(self, means: Floats) -> Floats:
        """Largest standard deviation of an average without the noise of privacy, for each mean that there may be."""
        spread = self.scale.spread(means)
        if self._variance is not None:
            spread = np.minimum(spread, self._variance.at_most)
        return np.asarray(np.sqrt(spread / self.events))

    @cached_property
    def _variance(self) -> Variance | None:
        if self.second is None:
            return None
        return variance_of(
            self.scale, mean=self.mean, second=self.second, events=self.events, noise_error=self.noise_error
        )

    def _tail(self, means: Floats) -> Floats:
        """How likely the released mean, or one further away, is under each of these."""
        noise, distance, deviation = self.scale.noise, np.abs(self.mean - means), self._deviation(means)
        if noise is not None and noise.family == "laplace":
            return _laplace_tail(distance, deviation, noise.scale * self.scale.step / self.events)
        return _normal_tail(distance, np.hypot(deviation, self.noise_error))

    def _edge(self, outside: float, inside: float, allowed: float) -> float:
        """The end of what is accepted, between a mean that is not and one that is."""
        from scipy.optimize import brentq  # slow to import

        def excess(mean: float) -> float:
            return float(self._tail(np.array([mean]))[0]) - allowed

        if excess(inside) <= 0:  # it is the end itself
            return float(inside)
        low, high = self.scale.loss_range
        return float(brentq(excess, outside, inside, xtol=(high - low) * _PRECISION))


def _normal_tail(distance: Floats, deviation: Floats) -> Floats:
    """P(|G| >= distance) for each; a deviation of 0 allows a distance of 0 alone."""
    certain = deviation == 0
    tail = 2 * ndtr(-distance / np.where(certain, 1.0, deviation))
    return np.where(certain, (distance == 0).astype(float), tail)


def _laplace_tail(distance: Floats, deviation: Floats, scale: float) -> Floats:
    """P(|G + Z| >= distance), G normal, Z Laplace: P(G >= x) + (e^(h - x/b) Q(x) - e^(h + x/b) Q(-x))/2, twice.

    h = deviation^2/(2 b^2) and Q(x) = P(G <= x - deviation^2/b). Powers are taken as logarithms, or they overflow.
    """
    ratio = np.maximum(deviation / scale, 1e-9)
    x, half = distance / scale, ratio**2 / 2
    plus = np.exp(half - x + log_ndtr(x / ratio - ratio))
    minus = np.exp(half + x + log_ndtr(-x / ratio - ratio))
    exact = 2 * ndtr(-x / ratio) + plus - minus
    return np.where(ratio < _ALMOST_NORMAL, exact, _normal_tail(distance, np.maximum(deviation, scale * 1e-9)))
