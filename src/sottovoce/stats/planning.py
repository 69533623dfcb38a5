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
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from sottovoce._checks import choice, number, whole
from sottovoce.privacy import Guarantee, LocalDP, NoPrivacy
from sottovoce.stats._planned_test import PlannedTest
from sottovoce.stats.scale import scale_for

__all__ = ["EventsNeeded", "events_needed"]

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
    channel: str = "one-bit",
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
    channel
        For `LocalDP`: "one-bit" or "laplace".

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
    scale = scale_for(loss_range, privacy, channel=channel)
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
