"""Axes of hand-written charts: from numbers to pixels, and round ticks."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats

__all__ = ["Scale", "linear_scale", "log_scale"]


@dataclass(frozen=True, slots=True)
class Scale:
    """A line from `low` to `high`, drawn from pixel `start` to pixel `end`, with ticks.

    Examples
    --------
    >>> scale = linear_scale([0.0, 97.0], 0, 100)
    >>> scale.ticks
    (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    >>> scale(50.0)
    array(50.)
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = False

    def __call__(self, values: ArrayLike) -> Floats:
        """Return where values are, in pixels."""
        place: Floats = np.asarray(values, dtype=np.float64)
        low, high = self.low, self.high
        if self.log:
            place, low, high = np.log10(place), math.log10(low), math.log10(high)
        return np.asarray(self.start + (place - low) / (high - low) * (self.end - self.start))


def linear_scale(values: ArrayLike, start: float, end: float, *, count: int = 5, tight: bool = False) -> Scale:
    """Return a scale that holds the values and zero; it ends at a tick, unless it is tight."""
    found = _finite(values)
    low, high = min(0.0, found.min(initial=0.0)), max(0.0, found.max(initial=0.0))
    if high == low:
        high = low + 1.0
    step = _round_step((high - low) / count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(float(np.round(i * step, 12)) for i in range(first, last + 1))
    if tight:
        return Scale(low, high, start, end, tuple(tick for tick in ticks if low <= tick <= high))
    return Scale(ticks[0], ticks[-1], start, end, ticks)


def log_scale(values: ArrayLike, start: float, end: float) -> Scale:
    """Return a logarithmic scale that holds the positive values, with a little room on both sides."""
    found = _finite(values)
    found = found[found > 0]
    low, high = (found.min(), found.max()) if len(found) else (1.0, 10.0)
    room = max(1.15, (high / low) ** 0.06)
    low, high = float(low / room), float(high * room)
    return Scale(low, high, start, end, _log_ticks(low, high), log=True)


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = tuple(step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high)
        if len(ticks) >= 3:
            return ticks[:: math.ceil(len(ticks) / 7)]
    step = _round_step((high - low) / 4)  # so little room that a logarithmic axis is almost a linear one
    return tuple(float(np.round(i * step, 12)) for i in range(math.ceil(low / step), math.floor(high / step) + 1))


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return size * next(step for step in (1, 2, 2.5, 5, 10) if step * size >= rough * (1 - 1e-9))


def _finite(values: ArrayLike) -> Floats:
    values = np.asarray(values, dtype=np.float64).ravel()
    return values[np.isfinite(values)]
