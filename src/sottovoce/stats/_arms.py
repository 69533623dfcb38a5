"""An arm of a test: what was released of it, stage by stage, and what that errs by.

The variance of a loss is not released. For a loss in [low, high] with mean mu it is (high - mu)(mu - low) at most
(Bhatia and Davis 2000); mu is taken where four more events in the middle of the range would have it (Agresti and Caffo
2000), and one standard error, noise included, further towards the middle. Why that one standard error: at the released
mean itself the bound is too small about as often as it is too large, and it is the former that lets intervals miss.
Where a second number was released (`variance=True`), what it says is taken if that is less.

A stage is compared within itself: D = sum of w_j (difference of stage j)/sum of w_j, with public weights w_j. So what
changes with time from stage to stage meets both arms alike, and errors of stages are independent.
"""

import math
from dataclasses import dataclass

import numpy as np

from sottovoce.stats._error_law import ErrorLaw
from sottovoce.stats.released_mean import ReleasedMean, variance_of
from sottovoce.stats.scale import Scale


@dataclass(frozen=True)
class Arm:
    """What was released of an arm.

    Attributes
    ----------
    name
        As its user calls it.
    stages
        One released mean for each stage; one in all if there are no stages.
    weights
        Of the stages.
    """

    name: str
    stages: tuple[ReleasedMean, ...]
    weights: tuple[float, ...]

    def until(self, look: int) -> "Arm":
        """Return the arm as it was at a look: after so many stages."""
        return Arm(self.name, self.stages[:look], self.weights[:look])

    @property
    def scale(self) -> Scale:
        """What its integers are worth, and how noisy they are."""
        return self.stages[0].scale

    @property
    def events(self) -> int:
        """How many events it is over."""
        return sum(one.events for one in self.stages)

    @property
    def mean(self) -> float:
        """The weighted mean of its stages; noise may carry it out of the range."""
        return sum(w * one.mean for w, one in zip(self.weights, self.stages, strict=True)) / sum(self.weights)

    @property
    def noise_error(self) -> float:
        """Standard deviation of what privacy adds to the mean."""
        parts = (w * one.noise_error for w, one in zip(self.weights, self.stages, strict=True))
        return math.hypot(*parts) / sum(self.weights)

    def errors(self) -> list[ErrorLaw]:
        """Return, for each stage, what its mean times its weight errs by."""
        return self.errors_at(self._taken_at(), self._at_most())

    def errors_at(self, mean: float, at_most: float = math.inf) -> list[ErrorLaw]:
        """Return the same with the largest variance that losses of this mean can have.

        Parameters
        ----------
        mean
            Of losses.
        at_most
            What the variance of one loss is at most, if more is known than its mean.
        """
        return [
            _error(one.scale, one.events, min(float(one.scale.spread(np.array(mean))), at_most)).times(w)
            for w, one in zip(self.weights, self.stages, strict=True)
        ]

    @property
    def _worth(self) -> float:
        """How many events of equal weight would be as good as its stages."""
        whole = sum(self.weights)
        return whole**2 / sum(w**2 / one.events for w, one in zip(self.weights, self.stages, strict=True))

    def _at_most(self) -> float:
        """What second numbers say of the variance; infinite if there are none."""
        seconds = [one.second for one in self.stages]
        if any(one is None for one in seconds):
            return math.inf
        second = sum(w * (one or 0.0) for w, one in zip(self.weights, seconds, strict=True)) / sum(self.weights)
        found = variance_of(self.scale, mean=self.mean, second=second, events=self._worth, noise_error=self.noise_error)
        return found.at_most

    def _taken_at(self) -> float:
        """The mean at which the bound of the variance is taken."""
        scale, worth = self.scale, self._worth
        pulled, middle = scale.pulled(self.mean, worth, self.noise_error), sum(scale.loss_range) / 2
        step = math.sqrt(float(scale.spread(np.array(pulled))) / worth + self.noise_error**2)
        return min(pulled + step, middle) if pulled < middle else max(pulled - step, middle)


def planned_error(scale: Scale, events: int) -> ErrorLaw:
    """Return what the sum of a stage errs by, with the largest variance there is: public before the start."""
    middle = np.array(sum(scale.loss_range) / 2)
    return _error(scale, events, float(scale.spread(middle))).times(events)


def _error(scale: Scale, events: int, variance: float) -> ErrorLaw:
    """What the mean of a stage errs by, if one event has this variance."""
    noise, unit = scale.noise, scale.step / events
    normal = math.sqrt(variance / events)
    if noise is None:
        return ErrorLaw(normal)
    if noise.family == "laplace":
        return ErrorLaw(normal, (noise.scale * unit,))
    return ErrorLaw(math.hypot(normal, noise.scale * unit))
