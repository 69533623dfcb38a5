"""What a comparison of arms says: values that explain themselves."""

import math
from dataclasses import dataclass
from typing import Any

from sottovoce._printed import Part, Printed


def percent(confidence: float) -> str:
    """Write a probability in percent: near 100 with as many digits as it takes to be told from it.

    Examples
    --------
    >>> [percent(one) for one in (0.95, 1 - 0.05 / 3, 1 - 1e-7)]
    ['95%', '98.33%', '99.99999%']
    """
    rest = 100 * (1 - confidence)
    places = max(0, 2 - math.floor(math.log10(rest))) if rest > 0 else 6
    return f"{100 * confidence:.{places}f}".rstrip("0").rstrip(".") + "%"


@dataclass(frozen=True)
class ArmMean:
    """The mean loss of an arm.

    Attributes
    ----------
    name
        Of the arm.
    events
        How many events it is over.
    mean
        As released; noise may carry it out of the range.
    low, high
        Its interval; those of all arms hold together at the confidence of the comparison.
    noise_error
        Standard deviation of what privacy adds to the mean.
    """

    name: str
    events: int
    mean: float
    low: float
    high: float
    noise_error: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.mean:.3g}, between {self.low:.3g} and {self.high:.3g} "
            f"({self.events:,} events; privacy noise {self.noise_error:.3g})"
        )


@dataclass(frozen=True)
class Difference:
    """How much more one arm loses, or gains, than another: mean of `arm` less mean of `against`.

    Attributes
    ----------
    arm, against
        Their names.
    estimate
        Of the difference; below 0 if `arm` loses, or gains, less.
    low, high
        Its interval; those of all differences hold together at `confidence`.
    confidence
        Of the whole family of differences.
    direction
        "minimize", or "maximize" if these numbers are rewards.
    """

    arm: str
    against: str
    estimate: float
    low: float
    high: float
    confidence: float
    direction: str = "minimize"

    @property
    def shown(self) -> bool:
        """Whether 0 is outside of the interval: a difference is shown."""
        return self.low > 0 or self.high < 0

    @property
    def better(self) -> str | None:
        """The name of the better of both; None if no difference is shown."""
        if not self.shown:
            return None
        return self.arm if (self.low > 0) == (self.direction == "maximize") else self.against

    @property
    def words(self) -> str:
        """The difference in plain words."""
        verb = "gain" if self.direction == "maximize" else "lose"
        if self.shown:
            near, far = sorted((abs(self.low), abs(self.high)))
            said = f"{self.arm} {verb}s {abs(self.estimate):.3g} {'more' if self.low > 0 else 'less'}"
            return f"{said} than {self.against}, between {near:.3g} and {far:.3g}, at {percent(self.confidence)}"
        return (
            f"{self.arm} against {self.against}: no difference is shown at {percent(self.confidence)}; {self.arm} "
            f"may {verb} up to {-self.low:.3g} less and up to {self.high:.3g} more"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "shown": self.shown, "better": self.better, "words": self.words}

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class ABTestResult(Printed):
    """What a test of arms has shown: means, differences, and at which level all of them hold together.

    Attributes
    ----------
    arms
        The mean of each arm, in the order in which they were given.
    differences
        To the control, or of all pairs.
    control
        The arm that others are compared with.
    confidence
        With which all differences, at all looks, hold together; all means likewise.
    loss_range
        (low, high) of a loss.
    schedule
        Planned events of each stage; empty for a test without early looks.
    looks
        How many stages are in; 1 for a test without early looks.
    direction
        "minimize", or "maximize" if what was told are rewards.
    """

    arms: tuple[ArmMean, ...]
    differences: tuple[Difference, ...]
    control: str
    confidence: float
    loss_range: tuple[float, float]
    schedule: tuple[int, ...] = ()
    looks: int = 1
    direction: str = "minimize"

    @property
    def shown(self) -> tuple[Difference, ...]:
        """The differences that are shown: whose interval does not hold 0."""
        return tuple(one for one in self.differences if one.shown)

    @property
    def correction(self) -> str:
        """At which level what holds, and by which correction, in words."""
        count, wanted = len(self.differences), percent(self.confidence)
        words = f"the interval of the difference holds at {wanted}"
        if count > 1:
            each = percent(1 - (1 - self.confidence) / count)
            words = (
                f"all {count} differences hold together at {wanted} (Bonferroni: each at {each}), so the chance that "
                f"any difference is shown where there is none is at most {percent(1 - self.confidence)}"
            )
        if self.schedule:
            words += (
                f"; at all {len(self.schedule)} planned looks, of which {self.looks} were made (O'Brien-Fleming-type "
                "spending), so stopping at any of them is valid"
            )
        return f"{words}; the {len(self.arms)} means hold together at {wanted}, on their own"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            **vars(self),
            "correction": self.correction,
            "arms": [one.to_dict() for one in self.arms],
            "differences": [one.to_dict() for one in self.differences],
        }

    def _parts(self) -> list[Part]:
        return [
            (
                f"Means ({'more' if self.direction == 'maximize' else 'less'} is better):",
                [("", str(one)) for one in self.arms],
            ),
            ("Differences:", [("", one.words) for one in self.differences]),
            (f"Levels: {self.correction}.", ()),
        ]
