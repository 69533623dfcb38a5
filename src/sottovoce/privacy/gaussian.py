r"""What Gaussian noise promises, exactly, in both directions.

A release with sensitivity D (l2) and noise N(0, sigma^2) is mu-GDP with mu = D/sigma, and

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

is the smallest delta that holds: an equality, not a bound (Balle & Wang 2018; Dong, Roth & Su 2022). Adaptive
releases compose to mu = sqrt(sum of mu_i^2). As concentrated privacy, rho = mu^2/2.

The noise that is really drawn is the *discrete* Gaussian, for which rho = mu^2/2 holds as it stands (Canonne, Kamath &
Steinke 2020). For (epsilon, delta), `rounding_delta` charges the difference between it and a rounded continuous
Gaussian, which is a post-processing of the continuous one.

Tests: tests/privacy/test_gaussian.py (against dp-accounting, and by summing the discrete distributions).
"""

import math
from collections.abc import Callable

from scipy.special import log_ndtr

from sottovoce._checks import number

# Total variation between the discrete Gaussian and the rounded continuous one is at most this over sigma^2, sigma >= 4:
# the midpoint rule errs by at most |f''|/24 per cell, and the integral of |f''| is 4 phi(1)/sigma^2 = 0.97/sigma^2.
_ROUNDING = 0.05
_LEAST_SIGMA = 4.0


def delta_of(mu: float, epsilon: float) -> float:
    """Smallest delta for which mu-GDP gives (epsilon, delta)-DP.

    Examples
    --------
    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    number("mu", mu, above=0)
    upper = float(log_ndtr(mu / 2 - epsilon / mu))
    lower = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return max(0.0, math.exp(upper) * -math.expm1(min(0.0, lower - upper)))


def epsilon_of(mu: float, delta: float) -> float:
    """Smallest epsilon for which mu-GDP gives (epsilon, delta)-DP, rounded to the safe side.

    Examples
    --------
    >>> round(epsilon_of(1.0, 1e-6), 3)
    4.887
    """
    number("mu", mu, above=0)
    number("delta", delta, above=0, at_most=1)
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of(mu, high) > delta:
        high *= 2
    return _last_true(lambda epsilon: delta_of(mu, epsilon) <= delta, good=high, bad=0.0)


def mu_for(epsilon: float, delta: float) -> float:
    """Largest mu for which mu-GDP gives (epsilon, delta)-DP, rounded to the safe side.

    Examples
    --------
    >>> mu = mu_for(1.0, 1e-6)
    >>> round(mu, 4), delta_of(mu, 1.0) <= 1e-6
    (0.2367, True)
    """
    number("epsilon", epsilon, above=0)
    number("delta", delta, above=0)
    if delta >= 1:
        raise ValueError(f"delta must be below 1 (at 1 it promises nothing), got {delta!r}")
    low = high = 1.0
    while delta_of(low, epsilon) > delta:
        low /= 2
    while delta_of(high, epsilon) <= delta:
        high *= 2
    return _last_true(lambda mu: delta_of(mu, epsilon) <= delta, good=low, bad=high)


def rounding_delta(sigma: float, numbers: int, epsilon: float) -> float:
    """Delta that drawing `numbers` discrete Gaussians, in place of rounded continuous ones, can add.

    Swapping in a distribution at total variation tau, on both of two neighbours, moves delta by at most
    (1 + e^epsilon) tau; tau adds up over the numbers of an adaptive transcript.
    """
    if sigma < _LEAST_SIGMA:
        raise ValueError(f"sigma must be at least {_LEAST_SIGMA:g} steps of the grid, got {sigma!r}: use a finer grid")
    return (1 + math.exp(epsilon)) * numbers * _ROUNDING / sigma**2


def _last_true(holds: Callable[[float], bool], good: float, bad: float) -> float:
    """Bisect between a point where `holds` is true and one where it is not; return a point where it is true."""
    while abs(good - bad) > 1e-13 * abs(bad):
        middle = (good + bad) / 2
        if middle in (good, bad):
            break
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good
