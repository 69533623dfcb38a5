"""Regret per event as events pass: the curve that all pictures of regret lead with, and the axis that it needs.

In all, what does not learn dwarfs what does: a line that ends at 30,000 leaves no room between 400 and 2,000. Per
event, on logarithmic axes, each has its place, and a straight line is a power of the events. Against a fixed decision
regret may be negative where the world changes; the axis is then linear around zero and logarithmic beyond (asinh).
"""

import math
from collections.abc import Iterable

import numpy as np

from sottovoce._arrays import Floats, Integers

_BEFORE = 1000  # what happens in the first part of this size is noise
_LINEAR = 30.0  # the largest value is so many times the half width of the linear part


def per_event(events: Integers | Floats, total: Floats) -> tuple[Floats, Floats]:
    """Return events, and what was lost per event until then, without the very first events.

    Examples
    --------
    >>> per_event(np.array([1.0, 10.0, 10_000.0]), np.array([3.0, 20.0, 100.0]))
    (array([   10., 10000.]), array([2.  , 0.01]))
    """
    passed: Floats = np.asarray(events, dtype=np.float64)
    kept = (passed > 0) & (passed >= passed[-1] / _BEFORE)
    return passed[kept], total[kept] / passed[kept]


def around_zero(curves: Iterable[Floats]) -> float:
    """Return half the width of the linear part of an axis that holds the curves; 0 if all are positive: a plain log.

    Examples
    --------
    >>> around_zero([np.array([0.3, 0.1])]), around_zero([np.array([0.3, -0.1])])
    (0.0, 0.01)
    """
    every = np.concatenate([np.ravel(one) for one in curves])
    every = every[np.isfinite(every)]
    if not len(every) or every.min() > 0:
        return 0.0
    return float(np.abs(every).max()) / _LINEAR or 1.0


def asinh_ticks(low: float, high: float, width: float) -> tuple[float, ...]:
    """Return ticks of such an axis: zero, and powers of ten beyond its linear part.

    Examples
    --------
    >>> asinh_ticks(-0.02, 0.3, 0.01)
    (-0.01, 0.0, 0.01, 0.1)
    """
    decades = range(math.floor(math.log10(width)), math.ceil(math.log10(max(abs(low), abs(high), width))) + 1)
    ends = [10.0**decade for decade in decades if 10.0**decade >= 0.8 * width]
    ticks = [-end for end in reversed(ends)] + [0.0] + ends
    return tuple(tick for tick in ticks if low <= tick <= high)
