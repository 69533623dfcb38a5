"""What an audit could have seen: the smallest epsilon that its runs would have told from the claim.

The strongest event that a mechanism of a given epsilon can offer is known: Laplace noise on a moved number gives a set
of outputs with probability 1/2 in one world and e^-epsilon/2 in the other; randomised response 1/(1 + e^-epsilon) and
1/(1 + e^epsilon); Gaussian noise the two tails beyond any threshold, mu apart. With as many runs as judged, the counts
that such a mechanism would give, each on its unlucky side (once in twenty), go through the same Clopper-Pearson bounds
as real counts do. Where the bound exceeds the claim, the audit would have noticed in nine cases of ten, if its attack
is the right one.

Tests: tests/auditing/test_power.py.
"""

import math

import numpy as np
from scipy.special import ndtr

from sottovoce.auditing.attacks.bounds import at_least, at_most
from sottovoce.auditing.attacks.claims import Claim
from sottovoce.privacy import LocalDP, gaussian

__all__ = ["sees_bare_values", "smallest_seen"]

_UNLUCKY = 0.05
_LARGEST = 64.0


def smallest_seen(claim: Claim, trials: int, error: float) -> float:
    """Return the least epsilon (at the claim's delta) of a mechanism that these runs would have refuted; or infinity.

    Parameters
    ----------
    claim
        What is claimed.
    trials
        Runs of each world that judge.
    error
        Probability of a false alarm.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing.attacks.claims import claim_of
    >>> [round(smallest_seen(claim_of(sv.PureDP(1.0)), trials, 1e-3), 2) for trials in (250, 2500, 25_000)]
    [2.51, 1.35, 1.1]
    """
    if not _shown(claim, _LARGEST, trials, error) > _tested(claim):
        return math.inf
    low, high = _tested(claim), _LARGEST
    while high - low > 1e-4 * low:
        middle = (low + high) / 2
        low, high = (low, middle) if _shown(claim, middle, trials, error) > _tested(claim) else (middle, high)
    return gaussian.epsilon_of(high, claim.delta) if claim.mu is not None else high


def sees_bare_values(claim: Claim, trials: int, error: float) -> bool:
    """Whether a value without any noise, which tells the worlds apart every time, would refute the claim."""
    return float(claim.shown(at_least(trials, trials, error / 2), at_most(0, trials, error / 2))) > _tested(claim)


def _tested(claim: Claim) -> float:
    return claim.epsilon if claim.mu is None else claim.mu


def _shown(claim: Claim, parameter: float, trials: int, error: float) -> float:
    """What unlucky counts of a mechanism with this parameter would show of it, at the best of its events."""
    from scipy.stats import binom  # slow to import, and only audits need it

    likely, rare = _events(claim, parameter)
    hits = binom.ppf(_UNLUCKY, trials, likely), binom.isf(_UNLUCKY, trials, rare)
    shown = claim.shown(at_least(hits[0], trials, error / 2), at_most(hits[1], trials, error / 2))
    return float(np.max(shown))


def _events(claim: Claim, parameter: float) -> tuple[np.ndarray, np.ndarray]:
    if claim.mu is not None:
        thresholds = np.linspace(-3.0, 3.0, 61)
        return ndtr(parameter / 2 - thresholds), ndtr(-parameter / 2 - thresholds)
    if isinstance(claim.guarantee, LocalDP):
        rare = np.array([1 / (1 + math.exp(parameter))])
        return 1 - rare, rare
    likely = np.array([0.5])
    return likely, likely * math.exp(-parameter)
