"""How many events a test needs, before it starts: the noise of privacy, several arms and early looks included.

A test of n events an arm is imagined whose means are exactly as they are supposed to be; its intervals are computed by
the same code as those of a real one, so that the plan and the test cannot disagree. The least n is taken

- whose intervals of differences reach no further than `precision` to either side, or
- with which a `difference` is shown with a probability of `power`, its error being distributed as the intervals say,
  but with the variance at the supposed means.

Without privacy, with the mean in the middle of the range, and one look, this is the formula of textbooks:
n = (z(alpha/2) sqrt(2 V) + z(1 - power) sqrt(V + V'))^2/difference^2, V and V' the variances of the two arms.

Tests: tests/stats/test_planning.py, against that formula, and against simulated tests.
"""

import math
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.special import ndtr

from sottovoce._checks import choice, number, whole
from sottovoce.privacy import Guarantee, LocalDP, NoPrivacy
from sottovoce.stats._arms import Arm
from sottovoce.stats._error_law import ErrorLaw, summed
from sottovoce.stats._looks import crossing_chances
from sottovoce.stats.ab_result import percent
from sottovoce.stats.ab_testing import levels_for
from sottovoce.stats.released_mean import ReleasedMean
from sottovoce.stats.scale import Scale, scale_for

_MOST_LOOKS = 50


@dataclass(frozen=True)
class EventsNeeded:
    """How many events a test needs, and what for.

    Attributes
    ----------
    events
        Of each arm, at most.
    arms
        How many arms.
    schedule
        Events of an arm in each stage: for `ab_test`, if there is to be more than one look.
    without_privacy
        What each arm would need without any noise.
    wish
        What is wished for, in words.
    half_width
        How far the interval of a difference reaches to either side, at the end.
    expected
        Events of each arm on average if the difference is there, stopping at the look that shows it; None for a wished
        precision.
    privacy
        The promise.
    """

    events: int
    arms: int
    schedule: tuple[int, ...]
    without_privacy: int
    wish: str
    half_width: float
    expected: float | None
    privacy: Guarantee

    @property
    def total(self) -> int:
        """Events of all arms together, at most."""
        return self.events * self.arms

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            **vars(self),
            "schedule": list(self.schedule),
            "total": self.total,
            "privacy": self.privacy.to_dict(),
        }

    def __str__(self) -> str:
        more = self.events / self.without_privacy
        lines = [f"{self.events:,} events in each of {self.arms} arms, {self.total:,} in all, {self.wish}."]
        if self.privacy.private:
            lines.append(
                f"Without privacy {self.without_privacy:,} an arm would do; {self.privacy} takes {more:.3g} times as "
                "many."
            )
        lines.append(f"Intervals of differences then reach {self.half_width:.3g} to either side.")
        if len(self.schedule) > 1:
            looks = (
                f"Look {len(self.schedule)} times, after {', '.join(f'{one:,}' for one in accumulate(self.schedule))}"
            )
            lines.append(
                f"{looks} events an arm: schedule={self.schedule}."
                + (
                    ""
                    if self.expected is None
                    else f" If the difference is there, {self.expected:,.0f} are used on average."
                )
            )
        return "\n".join(lines)


def events_needed(
    difference: float | None = None,
    *,
    precision: float | None = None,
    privacy: Guarantee,
    loss_range: tuple[float, float] = (0.0, 1.0),
    mean: float | None = None,
    arms: int = 2,
    pairs: str = "control",
    confidence: float = 0.95,
    power: float = 0.8,
    looks: int = 1,
    deviation: float | None = None,
) -> EventsNeeded:
    """Return how many events each arm of a test needs, privacy noise included.

    Parameters
    ----------
    difference
        A difference of mean losses that is to be shown with a probability of `power`, if it is there.
    precision
        Or: how far the interval of a difference may reach to either side.
    privacy
        The guarantee, as for `PrivateEvaluations`.
    loss_range
        (low, high) of a loss.
    mean
        The mean loss of the control, if it is about known; by default the middle of the range, which needs most.
    arms
        How many arms, the control included.
    pairs
        As for `ab_test`.
    confidence
        With which all differences are to hold together, at all looks.
    power
        How likely a difference of this size is to be shown.
    looks
        How often to look: after as many stages, of equal size.
    deviation
        Standard deviation of a loss, if it is about known, for evaluations with `variance=True`; otherwise the largest
        that losses of such means can have, which those have that are one end of the range or the other.

    Returns
    -------
    EventsNeeded
        `print` it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.events_needed(0.05, privacy=sv.NoPrivacy()).events
    1565
    >>> print(sv.events_needed(precision=0.02, privacy=sv.PureDP(epsilon=0.1)))
    5,508 events in each of 2 arms, 11,016 in all, for intervals that reach 0.02 to either side, at 95%.
    Without privacy 4,802 an arm would do; epsilon = 0.1, pure differential privacy takes 1.15 times as many.
    Intervals of differences then reach 0.02 to either side.
    """
    low, high = scale_for(loss_range, NoPrivacy()).loss_range
    if (difference is None) == (precision is None):
        raise ValueError("pass either difference or precision")
    if difference is not None:
        difference = number("difference", difference, above=0, at_most=high - low)
    else:
        precision = number("precision", precision, above=0, at_most=high - low)
    count = whole("arms", arms, least=2)
    level = 1 - number("confidence", confidence, above=0, at_most=math.nextafter(1, 0))
    choice("pairs", pairs, ("control", "all"))
    test = PlannedTest(
        difference=difference,
        precision=precision,
        means=_means(low, high, mean, difference),
        level=level / (count - 1 if pairs == "control" else count * (count - 1) // 2),
        power=number("power", power, above=0, at_most=math.nextafter(1, 0)),
        looks=whole("looks", looks, most=_MOST_LOOKS),
        deviation=None if deviation is None else number("deviation", deviation, above=0),
    )
    _check_deviation(deviation, test.means, (low, high), privacy)
    scale = scale_for(loss_range, privacy)
    events = test.least(scale)
    return EventsNeeded(
        events=events,
        arms=count,
        schedule=test.stages(events),
        without_privacy=test.least(scale_for(loss_range, NoPrivacy())),
        wish=test.wish(1 - level),
        half_width=test.half_width(scale, events),
        expected=None if difference is None else test.expected(scale, events),
        privacy=privacy,
    )


def _check_deviation(
    deviation: float | None, means: tuple[float, float], ends: tuple[float, float], privacy: Guarantee
) -> None:
    if deviation is None:
        return
    if isinstance(privacy, LocalDP):
        raise ValueError("deviation is for evaluations with variance=True, which LocalDP cannot have")
    largest = min(math.sqrt((ends[1] - one) * (one - ends[0])) for one in means)
    if deviation > largest:
        raise ValueError(f"deviation must be at most {largest:.3g}, for losses of such means, got {deviation!r}")


def _means(low: float, high: float, mean: float | None, difference: float | None) -> tuple[float, float]:
    """The supposed means of control and arm; of the two to which a difference leads, that with the larger variance."""
    control = (low + high) / 2 if mean is None else number("mean", mean)
    if not low <= control <= high:
        raise ValueError(f"mean must be within the loss range, {low:g} to {high:g}, got {mean!r}")
    if difference is None:
        return control, control
    others = [one for one in (control - difference, control + difference) if low <= one <= high]
    if not others:
        raise ValueError(f"difference {difference:g} leads out of the loss range from a mean of {control:g}")
    return control, max(others, key=lambda one: (high - one) * (one - low))


# ----------------------------------------------------------------------
# A test that has not begun: how far its intervals would reach, and what it would show, for any number of events.


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
