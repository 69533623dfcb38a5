"""What an audit could have seen: the smallest epsilon that its runs would have told from the claim.

The strongest guesses that a mechanism of a given epsilon allows are known: with Laplace noise on a moved number, a
guess is right with probability 1/2 and wrong with e^-epsilon/2 (or other pairs, by the threshold); with randomised
response 1/(1 + e^-epsilon) and 1/(1 + e^epsilon); with Gaussian noise the two tails beyond any threshold, mu apart. So
audits of such a mechanism are simulated: their guesses are drawn, many times over, and go through the same bets as real
ones, once when the runs are done, and once more, if the audit would have gone on, when it would have ended.

Why bets, and not a count at the end: on the same trials a binomial test of the guesses sees a little more than bets do
(1.16 against 1.20, with 9,000 trials at an error of 1.4e-5 and a claim of 1). But only bets may go on where the claim
looks wrong, and then they see 1.11.

Tests: tests/auditing/test_power.py.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, ndtr

from sottovoce._arrays import Floats
from sottovoce.auditing.attacks.betting import Claim, Guesses, log_wealths, outcomes, refuted
from sottovoce.privacy import LocalDP, gaussian

PROMISING = math.log(4.0)  # the logarithm of the wealth from which an audit goes on
_OFTEN = 0.9
_SIMULATED = 400
_LARGEST = 64.0


@dataclass(frozen=True)
class Schedule:
    """How long an audit bets.

    Attributes
    ----------
    runs
        That are judged in any case.
    longest
        That are judged if the audit goes on, these among them.
    people
        Whose worlds are guessed in each run.
    """

    runs: int
    longest: int
    people: int = 1


@lru_cache(maxsize=256)
def smallest_seen(claim: Claim, schedule: Schedule, error: float) -> float:
    """Return the least epsilon (at the claim's delta) that is refuted nine times out of ten; or infinity.

    Parameters
    ----------
    claim
        What is claimed.
    schedule
        How long the audit bets.
    error
        Probability of a false alarm.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing.attacks.betting import claim_of
    >>> claim = claim_of(sv.PureDP(1.0))
    >>> [round(smallest_seen(claim, Schedule(runs, 4 * runs), 1e-3), 1) for runs in (250, 2500, 25_000)]
    [1.7, 1.2, 1.1]
    """
    if not _often(claim, _LARGEST, schedule, error):
        return math.inf
    low, high = claim.tested, _LARGEST
    while high - low > 1e-3 * low:
        middle = (low + high) / 2
        low, high = (low, middle) if _often(claim, middle, schedule, error) else (middle, high)
    return gaussian.epsilon_of(high, claim.delta) if claim.mu is not None else high


def sees_bare_values(claim: Claim, runs: int, error: float) -> bool:
    """Whether a value without any noise, by which one person's world is told every time, would refute the claim."""
    return refuted(claim, [Guesses.of(np.ones((runs, 1), dtype=np.int64), rare=0.0)], error)


def _often(claim: Claim, parameter: float, schedule: Schedule, error: float) -> bool:
    """Whether a mechanism with this parameter is refuted often enough, by the best guesses that it allows."""
    people = 1 if claim.pure else schedule.people
    runs, longest = (count * schedule.people // people for count in (schedule.runs, schedule.longest))
    shape = np.zeros((people + 1, people + 1), dtype=np.int64)
    best, chances = max(
        ((Guesses(shape, rare=wrong), _chances(right, wrong, people)) for right, wrong in _guesses(claim, parameter)),
        key=lambda one: _growth(claim, one[0], one[1], longest),
    )
    coins = np.random.default_rng(0)
    early = coins.multinomial(runs, chances, _SIMULATED)
    late = early + coins.multinomial(longest - runs, chances, _SIMULATED)
    first, last = log_wealths(claim, best, early), log_wealths(claim, best, late)
    seen = (first >= -math.log(error)) | ((first >= PROMISING) & (last >= -math.log(error)))
    return float(seen.mean()) >= _OFTEN


def _growth(claim: Claim, like: Guesses, chances: Floats, trials: int) -> float:
    return float(log_wealths(claim, like, (trials * chances)[None])[0])


def _chances(right: float, wrong: float, people: int) -> Floats:
    """Of every number of right and of wrong guesses, for people who are guessed independently."""
    rights, wrongs = outcomes(people)
    none = people - rights - wrongs
    ways = gammaln(people + 1) - gammaln(rights + 1) - gammaln(wrongs + 1) - gammaln(none + 1)
    neither = max(1 - right - wrong, 0.0)
    chances = np.exp(ways) * right**rights * wrong**wrongs * np.power(neither, none)
    return np.asarray(chances / chances.sum())


def _guesses(claim: Claim, parameter: float) -> list[tuple[float, float]]:
    """How often a guess is right, and wrong, at every threshold; of those who guess by the likelihood, never both."""
    thresholds = np.linspace(0.0, 3.0, 31)
    if claim.mu is not None:
        right, wrong = ndtr(parameter / 2 - thresholds), ndtr(-parameter / 2 - thresholds)
    elif isinstance(claim.guarantee, LocalDP):
        wrong = np.array([1 / (1 + math.exp(parameter))])
        right = 1 - wrong
    else:  # thresholds from the middle to the moved number
        at = np.linspace(0.0, parameter / 2, 11)
        right, wrong = 1 - np.exp(at - parameter / 2) / 2, np.exp(-at - parameter / 2) / 2
    return list(zip(right.tolist(), wrong.tolist(), strict=True))
