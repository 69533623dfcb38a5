"""What guesses prove: a bet against the claim, which may be looked at, ended or continued at any time.

A fair coin chooses each person's world. The attack looks at what a run showed and guesses the coin, or does not guess.
A guarantee bounds every set S of outputs, P1(S) <= slope P0(S) + intercept: slope e^epsilon and intercept delta, or,
for Gaussian noise, any tangent of the curve Phi(Phi^-1(P0(S)) + mu). The sets are the outputs on which the attack
guesses one world or the other; both together give

    P(right) <= slope P(wrong) + share intercept,    share = 1 if both worlds are guessed, 1/2 if only one is.

So gain = right - slope wrong - share intercept has a mean of at most 0 under the claim, whatever was seen before, and
money that is staked on it, a fixed fraction in every trial, cannot be expected to grow. By Ville's inequality it ever
exceeds 1/error with probability at most `error`: at any time, and however the attack was changed on the way from what
earlier trials showed. The money is spread over a grid of fractions, since the best one is not known.

Under pure privacy each person of a run is a trial of its own: whatever was released, and whatever the coins of the
others are, the odds of a person's coin are within e^epsilon. Other guarantees do not bound single outputs. There a run
is one trial, and its gain is the mean over its people.

References: Ville (1939); Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting" (2024);
Steinke, Nasr & Jagielski, "Privacy auditing with one training run" (2023), for many people in one run.
Tests: tests/auditing/test_betting.py.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import number
from sottovoce.privacy import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, gaussian

_USUAL_DELTA = 1e-6
_LEAST_TOUCH = 0.1


@dataclass(frozen=True)
class Claim:
    """What is put to the test.

    Epsilon and delta are tested as they stand. Gaussian noise, however, promises more than one such pair: a whole
    curve, with a single parameter mu. There the test is of mu, since no number of runs that anybody can afford would
    show an event of probability delta; what is found is translated to epsilon at delta in the end.
    """

    guarantee: Guarantee
    epsilon: float
    delta: float
    mu: float | None

    @property
    def tested(self) -> float:
        """The claimed value of the parameter that is tested: epsilon, or mu under Gaussian noise."""
        return self.epsilon if self.mu is None else self.mu

    @property
    def pure(self) -> bool:
        """Whether the odds of every single output are bounded."""
        return self.mu is None and self.delta == 0

    def shown(self, likely: Any, rare: Any) -> Any:
        """Least parameter that allows these two probabilities of a set of outputs; below 0 if all do.

        Examples
        --------
        >>> import sottovoce as sv
        >>> chance = 1 / (1 + math.exp(-1.5))
        >>> round(float(claim_of(sv.PureDP(1.0)).shown(chance, 1 - chance)), 6)
        1.5
        """
        if self.mu is not None:
            return ndtri(np.asarray(likely, dtype=np.float64)) - ndtri(np.asarray(rare, dtype=np.float64))
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(np.asarray(likely) - self.delta, 0.0)) - np.log(rare)

    def line(self, parameter: float, rare: float) -> tuple[float, float]:
        """Slope and intercept: with this parameter, P1 <= slope P0 + intercept for every set of outputs.

        Parameters
        ----------
        parameter
            Epsilon, or mu under Gaussian noise.
        rare
            Where the line touches the curve of Gaussian noise, about; a steep line would stake little on each guess.
        """
        if self.mu is None:
            return math.exp(parameter), self.delta
        rare = min(max(rare, _LEAST_TOUCH), 0.5)
        at = float(ndtri(rare))
        slope = math.exp(-parameter * (at + parameter / 2))
        return slope, float(ndtr(at + parameter)) - slope * rare

    def as_epsilon(self, shown: float) -> float:
        """The same as an epsilon at `delta`."""
        if self.mu is None or shown <= 0:
            return shown
        return gaussian.epsilon_of(shown, self.delta)


def claim_by(make: Callable[[], Any], claimed: Guarantee | None, delta: float | None = None) -> tuple[Claim, Any, Any]:
    """Return what a subject claims, by its own statement or as `claimed`; with the statement, and its plan."""
    made = make()
    try:
        statement, plan = made.privacy, made.plan
    finally:
        if hasattr(made, "close"):
            made.close()
    gaussian_noise = statement.noise is not None and statement.noise.family == "gaussian"
    return claim_of(claimed or statement.guarantee, delta, gaussian_noise=gaussian_noise), statement, plan


def claim_of(guarantee: Guarantee, delta: float | None = None, *, gaussian_noise: bool = True) -> Claim:
    """Return what a guarantee claims.

    Parameters
    ----------
    guarantee
        What is promised.
    delta
        Where an epsilon is stated for a claim of zCDP; a millionth by default.
    gaussian_noise
        Whether an (epsilon, delta) is kept by Gaussian noise, so that the mu behind it can be tested.

    Examples
    --------
    >>> import sottovoce as sv
    >>> claim_of(sv.PureDP(epsilon=1.0)).epsilon
    1.0
    >>> round(claim_of(sv.ZCDP(rho=0.5), delta=1e-5).epsilon, 3)
    4.377
    """
    if isinstance(guarantee, PureDP | LocalDP):
        if delta:
            raise ValueError(f"delta must be 0 or left out for {guarantee!r}, got {delta!r}")
        return Claim(guarantee, guarantee.epsilon, 0.0, None)
    if isinstance(guarantee, ApproxDP):
        if delta is not None and delta != guarantee.delta:
            raise ValueError(f"delta must be that of {guarantee!r}, or left out, got {delta!r}")
        return Claim(guarantee, guarantee.epsilon, guarantee.delta, guarantee.mu if gaussian_noise else None)
    if isinstance(guarantee, ZCDP):
        at = number("delta", _USUAL_DELTA if delta is None else delta, above=0, at_most=1)
        return Claim(guarantee, gaussian.epsilon_of(guarantee.mu, at), at, guarantee.mu)
    raise ValueError(f"{guarantee!r} promises nothing that could be audited; claim PureDP, ApproxDP, ZCDP or LocalDP")


_STAKES = np.geomspace(0.01, 0.99, 24)  # of what can be lost in a trial
_STEP = 1 / 40  # between the parameters that are tested one after another
_LEVEL = 30  # the number of the claimed one among them


@dataclass(frozen=True, eq=False)
class Guesses:
    """What came of one attack, in so many trials.

    Attributes
    ----------
    counts
        (people + 1, people + 1): in how many trials so many guesses were right, and so many wrong.
    rare
        About how often a guess is wrong, known beforehand: where the tangent of a curve touches it.
    share
        Of the guesses that could be made: 1 if both worlds are guessed for everybody.

    Examples
    --------
    >>> guesses = Guesses.of(np.array([[1], [1], [-1], [0]]))
    >>> guesses.right, guesses.wrong, guesses.trials
    (2, 1, 4)
    """

    counts: Integers
    rare: float = 0.5
    share: float = 1.0

    @classmethod
    def of(cls, outcomes: Integers, rare: float = 0.5, share: float = 1.0) -> "Guesses":
        """Count outcomes: a row for each trial, a column for each person, 1 for right, -1 for wrong, 0 for neither."""
        people = outcomes.shape[1]
        counts = np.zeros((people + 1, people + 1), dtype=np.int64)
        np.add.at(counts, ((outcomes > 0).sum(axis=1), (outcomes < 0).sum(axis=1)), 1)
        return cls(counts, rare, share)

    @property
    def people(self) -> int:
        """How many people a trial is about."""
        return len(self.counts) - 1

    @property
    def right(self) -> int:
        """How many guesses were right."""
        return int(self.counts.sum(axis=1) @ np.arange(len(self.counts)))

    @property
    def wrong(self) -> int:
        """How many guesses were wrong."""
        return int(self.counts.sum(axis=0) @ np.arange(len(self.counts)))

    @property
    def trials(self) -> int:
        """How many coins there were to guess."""
        return int(self.counts.sum()) * self.people


def log_wealth(claim: Claim, parameter: float, evidence: Sequence[Guesses]) -> float:
    """Return the logarithm of what one unit of money has become, bet against this parameter of a claim.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing.attacks.betting import claim_of
    >>> always_right = Guesses.of(np.ones((100, 1), dtype=int))
    >>> round(log_wealth(claim_of(sv.PureDP(1.0)), 1.0, [always_right]), 1)
    27.9
    """
    total = np.zeros(len(_STAKES))
    for guesses in evidence:
        right, wrong = np.nonzero(guesses.counts)
        total += _log_factors(claim, parameter, guesses, right, wrong) @ guesses.counts[right, wrong]
    return float(logsumexp(total) - math.log(len(_STAKES)))


def log_wealths(claim: Claim, like: Guesses, drawn: Floats | Integers) -> Floats:
    """Return the log wealth at the claim for each row of drawn counts, a column for each of the `outcomes`."""
    factors = _log_factors(claim, claim.tested, like, *outcomes(like.people))
    return np.asarray(logsumexp(drawn @ factors.T, axis=1) - math.log(len(_STAKES)))


def outcomes(people: int) -> tuple[Integers, Integers]:
    """Return all that a trial can come to: so many right guesses, and so many wrong."""
    right, wrong = np.indices((people + 1, people + 1)).reshape(2, -1)
    possible = right + wrong <= people
    return right[possible], wrong[possible]


def _log_factors(claim: Claim, parameter: float, like: Guesses, right: Integers, wrong: Integers) -> Floats:
    """What every stake becomes in a trial with so many right and wrong guesses."""
    slope, intercept = claim.line(parameter, like.rare)
    intercept *= like.share
    gain = (right - slope * wrong) / like.people - intercept
    return np.asarray(np.log1p(_STAKES[:, None] * gain / (slope + intercept)))


def refuted(claim: Claim, evidence: Sequence[Guesses], error: float) -> bool:
    """Whether the claim is refuted; wrong with probability at most `error`, at whatever times this is asked."""
    return log_wealth(claim, claim.tested, evidence) >= -math.log(error)


def least(claim: Claim, evidence: Sequence[Guesses], error: float) -> float:
    """Return what the parameter of a claim is at least; wrong with probability at most `error`, at whatever times.

    Parameters are tested from 0 upwards, and the first that is not refuted ends it: the true one never is, but for the
    error.
    """
    number, below = 0, 0.0
    while True:
        number += 1
        parameter = claim.tested * math.expm1(number * _STEP) / math.expm1(_LEVEL * _STEP)
        if log_wealth(claim, parameter, evidence) < -math.log(error):
            break
        below = parameter
    high = parameter
    while high - below > 1e-6 * high and below:
        middle = (below + high) / 2
        below, high = (middle, high) if log_wealth(claim, middle, evidence) >= -math.log(error) else (below, middle)
    return below
