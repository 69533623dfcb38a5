"""How to split so many events into trials: many that are noisy, or few that are sure.

Trials of n events each have a mean of variance s^2 = V/n + 2 (B/(epsilon n))^2: chance, and noise. T events pay for N =
T/n of them. Say the true losses of trials have a standard deviation tau, and one takes the trial whose released mean is
best. For normal losses its true loss is then below the average by

    gain(n) = tau m(N) / sqrt(1 + s^2/tau^2),

m(N) being the expected largest of N standard normal numbers, about sqrt(2 log N): more trials reach further out, and
noise takes a share of that away, since the best of what was released is not the best. m grows so slowly that more
trials pay only until s is some fraction of tau; then more people per trial do. `events_per_trial` takes the n with the
largest gain.

Samplers that learn from what was released do better than the best of N at random, and end among trials that differ less
than those they began with. So the spread to reckon with is smaller than that of random parameters: 0.07 of the range
by default, chosen by simulation where random parameters have 0.08 to 0.13 (benchmarks/any_optimizer.py reports on
other seeds).

Tests: tests/integrations/test_splitting.py.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri

from sottovoce._checks import number, whole
from sottovoce.stats.scale import scale_for

_SPREAD = 0.07  # of the range
_FEWEST = 10  # trials, and events of one: samplers begin with some ten at random
_CANDIDATES = 400


def events_per_trial(
    events: int,
    *,
    loss_range: tuple[float, float] = (0.0, 1.0),
    privacy: Any,
    spread: float | None = None,
) -> int:
    """Return how many events to give each trial, if there are so many for all of them.

    Parameters
    ----------
    events
        How many there are for all trials.
    loss_range
        (low, high) of a loss.
    privacy
        The guarantee, such as `sv.PureDP(epsilon=1.0)`.
    spread
        By how much trials differ: the standard deviation of their true mean losses, roughly. 0.07 of the range by
        default; say less where all parameters are nearly as good, and trials get more events.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.integrations.events_per_trial(20_000, privacy=sv.PureDP(epsilon=1.0))
    158
    >>> sv.integrations.events_per_trial(20_000, privacy=sv.PureDP(epsilon=0.1))
    476
    """
    total = whole("events", events)
    scale = scale_for(loss_range, privacy)
    chance = (scale.ends[1] - scale.ends[0]) ** 2 / 4  # the largest variance of one event
    noise = 0.0 if scale.noise is None else scale.noise.standard_deviation * scale.step
    width = scale.loss_range[1] - scale.loss_range[0]
    tau = _SPREAD * width if spread is None else number("spread", spread, above=0)
    fewest = min(_FEWEST, total)
    sizes = np.unique(np.geomspace(fewest, max(total // _FEWEST, fewest), _CANDIDATES).astype(int))
    trials = total / sizes
    largest = ndtri((trials - 0.375) / (trials + 0.25))  # expected, of so many standard normal numbers (Blom 1958)
    gain = largest / np.sqrt(1 + (chance / sizes + (noise / sizes) ** 2) / tau**2)
    return int(sizes[gain.argmax()])
