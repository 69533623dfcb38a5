"""One bit per loss: randomised response, by the owner of the loss, before anything leaves the owner's hands.

What is released: one report, +1 or -1; +1 with probability 1/2 + ((f - mid)/B) tanh(epsilon/2), where f is the loss
clipped to its range, mid the middle of the range and B its width.

Neighbours: any two values of one loss (local privacy: everybody else may be the adversary).

Proof. The probability of +1 is threshold/2^64, with a whole threshold between `least` and 2^64 - least, so no report is
more likely under one loss than under another by more than (2^64 - least)/least, and `least` is the smallest integer for
which this is at most e^epsilon, found with integers alone from a lower bound of e^epsilon. Nothing rests on floating
point: a loss only chooses a threshold within these bounds. K reports of one person: K*epsilon.

Decoding: mid + report * (B/2)/tanh(epsilon/2) has mean f, and second moment (B^2/4) coth^2(epsilon/2) around mid,
whatever f is.

This file needs the Python standard library and nothing else, not even this package: copy it to where losses are born.

Tests: tests/privacy/test_local.py (the likelihood ratio from the integers, to the last one; this file alone, in an
interpreter without any package).
"""

import math
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

_RANDOM_BITS = 64
_WORDS = 1 << _RANDOM_BITS  # as many words can be drawn
_LOSS_BITS = 53  # all that a float holds
_EXPONENTIAL_BITS = 128
LARGEST_EPSILON = 8.0  # then a report is right in 2,981 of 2,982 cases: beyond it nothing is hidden


@dataclass(frozen=True)
class OneBitChannel:
    """Turns a loss into one random sign.

    Parameters
    ----------
    loss_range
        (low, high); a loss outside is clipped.
    epsilon
        The budget of one report. For a person with K reports hand in `LocalDP(epsilon, K).per_report`.

    Attributes
    ----------
    low, step
        A report is worth `low + step * report`, an unbiased estimate of the loss.
    middle
        What a report that never comes counts as: the middle of the range.

    Examples
    --------
    >>> channel = OneBitChannel((0.0, 1.0), epsilon=1.0)
    >>> channel.privatise(0.3) in (-1, 1)
    True
    >>> round(channel.low + channel.step, 3)  # what a report of +1 is worth
    1.582
    """

    loss_range: tuple[float, float]
    epsilon: float
    least: int = field(init=False, repr=False, compare=False)

    kind = "one-bit"
    middle = 0
    least_report, most_report = -1, 1

    def __post_init__(self) -> None:
        low, high = (float(bound) for bound in self.loss_range)
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(f"loss_range must be (low, high), finite, with low < high, got {self.loss_range!r}")
        epsilon = float(self.epsilon)
        if not 0 < epsilon <= LARGEST_EPSILON:
            raise ValueError(f"epsilon must be above 0 and at most {LARGEST_EPSILON:g}, got {self.epsilon!r}")
        object.__setattr__(self, "loss_range", (low, high))
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "least", _least_threshold(epsilon))
        if 2 * self.least >= _WORDS:
            raise ValueError(f"epsilon = {epsilon!r} is too small: the report would not depend on the loss at all")

    @property
    def low(self) -> float:
        """What a report of 0 is worth: the middle of the range."""
        return (self.loss_range[0] + self.loss_range[1]) / 2

    @property
    def step(self) -> float:
        """What one unit of a report is worth: (B/2)/tanh(epsilon/2), from the integers really used."""
        low, high = self.loss_range
        return (high - low) / 2 * (_WORDS / (_WORDS - 2 * self.least))

    @property
    def second_moment(self) -> float:
        """Mean square of a decoded report around the middle of the range: (B^2/4) coth^2(epsilon/2)."""
        return self.step**2

    def threshold(self, loss: float) -> int:
        """How many of the 2^64 random words make the report +1. Private: never show it.

        Parameters
        ----------
        loss
            Of the owner.
        """
        low, high = self.loss_range
        value = _finite(loss)
        fraction: float = (min(max(value, low), high) - low) / (high - low)
        spread = _WORDS - 2 * self.least
        return self.least + (spread * int(fraction * 2**_LOSS_BITS) >> _LOSS_BITS)

    def privatise(self, loss: float) -> int:
        """Return the report of a `loss`: all that may leave its owner's hands. Send one report per loss, once."""
        return 1 if secrets.randbits(_RANDOM_BITS) < self.threshold(loss) else -1

    def decode(self, report: Any) -> Any:
        """Return the unbiased estimate of the loss behind a `report`, or behind each of an array of them."""
        return self.low + self.step * report

    def valid(self, reports: Any) -> bool:
        """Whether `reports` is a report, or an array of them, that the channel can send."""
        if hasattr(reports, "dtype"):
            return reports.dtype.kind == "i" and bool((abs(reports) == 1).all())
        if isinstance(reports, int):
            return reports in (-1, 1)
        return isinstance(reports, list | tuple) and all(self.valid(report) for report in reports)

    def to_dict(self) -> dict[str, Any]:
        """Return the channel as plain data, to be sent to clients as JSON."""
        return {"kind": self.kind, "loss_range": list(self.loss_range), "epsilon": self.epsilon}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "OneBitChannel":
        """Return the channel that `to_dict` wrote down; its integers are the same on every machine."""
        if plain.get("kind") != cls.kind:
            raise ValueError(f"kind must be {cls.kind!r}, got {plain.get('kind')!r}")
        low, high = plain["loss_range"]
        return cls((low, high), plain["epsilon"])


def _finite(loss: Any) -> float:
    value = None
    with suppress(Exception):  # it may quote the loss; raising inside `except` would carry it along as the context
        value = float(loss)
    if value is None:
        raise TypeError("the loss is not a number; nothing was reported")
    if not math.isfinite(value):
        raise ValueError("the loss is not a finite number; nothing was reported. Fix it, and privatise again")
    return value


def _least_threshold(epsilon: float) -> int:
    """Smallest integer m with (2^64 - m)/m at most (a lower bound of) e^epsilon: rounded inward."""
    one = 1 << _EXPONENTIAL_BITS
    exponential = _exponential_below(epsilon)
    return -(-(one * _WORDS) // (one + exponential))


def _exponential_below(epsilon: float) -> int:
    """e^epsilon in units of 2^-128, from below: Taylor's terms are positive, and each is rounded down."""
    exact = Fraction(epsilon)
    term = total = 1 << _EXPONENTIAL_BITS
    order = 0
    while term:
        order += 1
        term = term * exact.numerator // (exact.denominator * order)
        total += term
    return total
