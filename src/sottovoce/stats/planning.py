"""How many events a test needs, before it starts: the noise of privacy, several arms and early looks included.

A test of n events an arm is imagined whose means are exactly as they are supposed to be; its intervals are computed by
the same code as those of a real one, so that the plan and the test cannot disagree. The least n is taken with which a
`difference` is shown at the last look with a probability of `power`, its error being distributed as the intervals say,
but with the variance at the supposed means. Earlier looks can only show it sooner.

Without privacy, with the mean in the middle of the range, and one look, this is the formula of textbooks:
n = (z(alpha/2) sqrt(2 V) + z(1 - power) sqrt(V + V'))^2/difference^2, V and V' the variances of the two arms.

Tests: tests/stats/test_planning.py, against that formula, and against simulated tests.
"""

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.special import ndtr

from sottovoce._checks import choice, number, whole
from sottovoce.privacy import Guarantee, LocalDP, NoPrivacy
from sottovoce.stats._arms import Arm
from sottovoce.stats._error_law import ErrorLaw, summed
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
    privacy
        The promise.
    """

    events: int
    arms: int
    schedule: tuple[int, ...]
    without_privacy: int
    wish: str
    half_width: float
    privacy: Guarantee

    @property
    def total(self) -> int:
        """Events of all arms together, at most."""
        return self.events * self.arms

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {**vars(self), "total": self.total, "privacy": self.privacy.to_dict()}

    def __str__(self) -> str:
        lines = [f"{self.events:,} events in each of {self.arms} arms, {self.total:,} in all, {self.wish}."]
        if self.privacy.private:
            more = f"{self.privacy} takes {self.events / self.without_privacy:.3g} times as many"
            lines.append(f"Without privacy {self.without_privacy:,} an arm would do; {more}.")
        lines.append(f"Intervals of differences then reach {self.half_width:.3g} to either side.")
        if len(self.schedule) > 1:
            after = ", ".join(f"{one:,}" for one in accumulate(self.schedule))
            lines.append(f"Look {len(self.schedule)} times, after {after} events an arm: schedule={self.schedule}.")
        return "\n".join(lines)


def events_needed(
    difference: float,
    *,
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
    >>> print(sv.events_needed(0.05, privacy=sv.PureDP(epsilon=0.1)))
    2,147 events in each of 2 arms, 4,294 in all, to show a difference of 0.05, at 95%, with a probability of 0.8.
    Without privacy 1,565 an arm would do; epsilon = 0.1, pure differential privacy takes 1.37 times as many.
    Intervals of differences then reach 0.0351 to either side.
    """
    low, high = scale_for(loss_range, NoPrivacy()).loss_range
    difference = number("difference", difference, above=0, at_most=high - low)
    count = whole("arms", arms, least=2)
    level = 1 - number("confidence", confidence, above=0, at_most=math.nextafter(1, 0))
    choice("pairs", pairs, ("control", "all"))
    test = _PlannedTest(
        difference=difference,
        means=_means(low, high, mean, difference),
        level=level / (count - 1 if pairs == "control" else count * (count - 1) // 2),
        power=number("power", power, above=0, at_most=math.nextafter(1, 0)),
        looks=whole("looks", looks, most=_MOST_LOOKS),
        deviation=deviation,
    )
    if deviation is not None:
        largest = min(math.sqrt((high - one) * (one - low)) for one in test.means)
        number("deviation", deviation, above=0, at_most=largest)  # what losses of such means can have
        if isinstance(privacy, LocalDP):
            raise ValueError("deviation is for evaluations with variance=True, which LocalDP cannot have")
    scale = scale_for(loss_range, privacy)
    events = test.least(scale)
    return EventsNeeded(
        events=events,
        arms=count,
        schedule=test.stages(events),
        without_privacy=test.least(scale_for(loss_range, NoPrivacy())),
        wish=f"to show a difference of {difference:g}, at {percent(1 - level)}, with a probability of {power:g}",
        half_width=test.reach(scale, events) / events,
        privacy=privacy,
    )


def _means(low: float, high: float, mean: float | None, difference: float) -> tuple[float, float]:
    """The supposed means of control and arm; of the two to which a difference leads, that with the larger variance."""
    control = (low + high) / 2 if mean is None else number("mean", mean)
    if not low <= control <= high:
        raise ValueError(f"mean must be within the loss range, {low:g} to {high:g}, got {mean!r}")
    others = [one for one in (control - difference, control + difference) if low <= one <= high]
    if not others:
        raise ValueError(f"difference {difference:g} leads out of the loss range from a mean of {control:g}")
    return control, max(others, key=lambda one: (high - one) * (one - low))


# ----------------------------------------------------------------------
# A test that has not begun: how far its intervals would reach, and what it would show, for any number of events.


_MOST_EVENTS = 10**11


@dataclass(frozen=True)
class _PlannedTest:
    """A test that has not begun: the wished difference and power, supposed means, level of a difference, and looks."""

    difference: float
    means: tuple[float, float]
    level: float
    power: float
    looks: int
    deviation: float | None

    def least(self, scale: Scale) -> int:
        """Return the least number of events an arm that does."""
        short, enough = self.looks - 1, self.looks
        while not self._does(scale, enough):
            short, enough = enough, 2 * enough
            if enough > _MOST_EVENTS:
                raise ValueError(f"more than {_MOST_EVENTS:.0e} events would be needed: wish for less, or promise less")
        while enough - short > 1:
            middle = (short + enough) // 2
            short, enough = (short, middle) if self._does(scale, middle) else (middle, enough)
        return enough

    def stages(self, events: int) -> tuple[int, ...]:
        """Return the events of an arm in each stage."""
        ends = [round(events * look / self.looks) for look in range(self.looks + 1)]
        return tuple(int(size) for size in np.diff(ends))

    def _does(self, scale: Scale, events: int) -> bool:
        at_most = math.inf if self.deviation is None else self.deviation**2
        both = zip(self._both(scale, events), self.means, strict=True)
        real = summed(one for arm, mean in both for one in arm.errors_at(mean, at_most))
        return _upper(real, self.reach(scale, events) - self.difference * events) >= self.power

    def reach(self, scale: Scale, events: int) -> float:
        """How far the last interval of a difference would reach, times the events."""
        at = levels_for([scale, scale], self.level, self.stages(events))[-1]
        return summed(one for arm in self._both(scale, events) for one in arm.errors()).quantile(at)

    def _both(self, scale: Scale, events: int) -> list[Arm]:
        sizes = self.stages(events)
        return [
            Arm("", tuple(_imagined(scale, n, mean, self.deviation) for n in sizes), tuple(map(float, sizes)))
            for mean in self.means
        ]


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
