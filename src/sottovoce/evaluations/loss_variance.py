"""How much one loss varies, from two released numbers: an estimate, and what it may be at most.

V = E (f - c)^2 - (mu - c)^2, c being the middle of the range: the second moment is released as the mean is
(_second_moment.py), with noise of the same scale in units of the range. Both are taken as if four more events had told,
two at each end of the range: for losses that are one end or the other this is Agresti and Caffo's pull, and losses that
seem to be all the same do not pose as certain.

What it may be at most adds one standard error: that of the second moment, whose squares lie between 0 and a quarter of
the width squared, so that their variance is bounded by their mean as that of losses is (Bhatia and Davis 2000), and
that of the mean; they are added, since the two numbers come from the same losses. It never exceeds what the mean and
the range allow by themselves, and the intervals take the smaller of both.

Tests: tests/evaluations/test_second_moment.py, coverage by simulation included.
"""

import math
from typing import NamedTuple

from sottovoce.evaluations.released_mean import MORE_EVENTS, Scale

__all__ = ["Variance", "variance_of"]


class Variance(NamedTuple):
    """Of one loss: an estimate, and what it may be at most."""

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
