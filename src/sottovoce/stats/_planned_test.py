"""A test that has not begun: how far its intervals would reach, and what it would show, for any number of events."""

from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from scipy.special import ndtr

from sottovoce.stats._arms import Arm
from sottovoce.stats._error_law import ErrorLaw, summed
from sottovoce.stats._looks import crossing_chances
from sottovoce.stats.ab_result import percent
from sottovoce.stats.ab_testing import levels_for
from sottovoce.stats.released_mean import ReleasedMean
from sottovoce.stats.scale import Scale

__all__ = ["PlannedTest"]

_MOST_EVENTS = 10**11


@dataclass(frozen=True)
class PlannedTest:
    """A test that has not begun.

    Attributes
    ----------
    difference, precision
        What is wished for; one of them is None.
    means
        Supposed, of control and arm.
    level
        How often the interval of one difference may miss the truth, at any look.
    power
        How likely the difference is to be shown.
    looks
        How many.
    deviation
        Supposed, of a loss, whose squares are then released; None for the largest that there can be.
    """

    difference: float | None
    precision: float | None
    means: tuple[float, float]
    level: float
    power: float
    looks: int
    deviation: float | None = None

    def least(self, scale: Scale) -> int:
        """Return the least number of events an arm that does."""
        start = self.looks
        if self.looks > 1:  # several looks need more than one, which is quick to find
            start = max(start, replace(self, looks=1).least(scale))
        enough = start
        while not self._does(scale, enough):
            enough *= 2
            if enough > _MOST_EVENTS:
                raise ValueError(f"more than {_MOST_EVENTS:.0e} events would be needed: wish for less, or promise less")
        short = enough // 2 if enough > start else start - 1
        while enough - short > 1:
            middle = (short + enough) // 2
            if self._does(scale, middle):
                enough = middle
            else:
                short = middle
        return enough

    def _does(self, scale: Scale, events: int) -> bool:
        if self.precision is not None:
            return self.half_width(scale, events) <= self.precision
        return sum(self._chances(scale, events)) >= self.power

    def stages(self, events: int) -> tuple[int, ...]:
        """Return the events of an arm in each stage."""
        ends = [round(events * look / self.looks) for look in range(self.looks + 1)]
        return tuple(int(size) for size in np.diff(ends))

    def half_width(self, scale: Scale, events: int) -> float:
        """Return how far the last interval of a difference would reach."""
        both = self._both(scale, events)
        at = levels_for([scale, scale], self.level, self.stages(events))[-1]
        return self._errors(both).quantile(at) / sum(both[0].weights)

    def expected(self, scale: Scale, events: int) -> float:
        """Return how many events of an arm are used on average if the difference is there."""
        chances = self._chances(scale, events)
        used = list(accumulate(self.stages(events)))
        return sum(p * n for p, n in zip(chances, used, strict=True)) + (1 - sum(chances)) * events

    def wish(self, confidence: float) -> str:
        """Return what is wished for."""
        at = f"at {percent(confidence)}"
        if self.precision is not None:
            return f"for intervals that reach {self.precision:g} to either side, {at}"
        return f"to show a difference of {self.difference:g}, {at}, with a probability of {self.power:g}"

    def _chances(self, scale: Scale, events: int) -> list[float]:
        """How likely each look is the first to show the difference, with its sign."""
        both, drift = self._both(scale, events), self.difference or 0.0
        intervals = [one.plus(other) for one, other in zip(both[0].errors(), both[1].errors(), strict=True)]
        levels = levels_for([scale, scale], self.level, self.stages(events))
        real = [
            one.plus(other)
            for one, other in zip(
                *(arm.errors_at(m, self.deviation) for arm, m in zip(both, self.means, strict=True)), strict=True
            )
        ]
        if len(levels) == 1:
            return [_upper(real[0], intervals[0].quantile(levels[0]) - drift * both[0].weights[0])]
        drifts = [drift * w for w in both[0].weights]
        return list(crossing_chances(intervals, levels, drifts, truth=real).above)

    def _both(self, scale: Scale, events: int) -> list[Arm]:
        sizes = self.stages(events)
        return [
            Arm("", tuple(_imagined(scale, n, mean, self.deviation) for n in sizes), tuple(map(float, sizes)))
            for mean in self.means
        ]

    @staticmethod
    def _errors(both: list[Arm]) -> ErrorLaw:
        return summed([one for arm in both for one in arm.errors()])


def _imagined(scale: Scale, events: int, mean: float, deviation: float | None) -> ReleasedMean:
    """Return a released mean as it would be without any luck."""
    total = round((mean - scale.low) / scale.step * events)
    if deviation is None:
        return ReleasedMean(0, events, total, scale)
    low, high = scale.loss_range
    moment = deviation**2 + (mean - (low + high) / 2) ** 2
    return ReleasedMean(0, events, total, scale, round(moment / ((high - low) * scale.step) * events))


def _upper(law: ErrorLaw, distance: float) -> float:
    """P(X >= distance)."""
    if not law.laplace:
        return float(ndtr(-distance / law.normal))
    half = law.tail(abs(distance)) / 2
    return half if distance >= 0 else 1 - half
