"""Asi, Raman & Talwar: a private bandit from one that is not, by batches; for arms and losses that may change."""

import math
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines._vertices import LISTED, vertices_of
from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy
from sottovoce.privacy import PureDP

SKIP = 1 - 2 ** (-1 / 3)  # of HTINF, for losses with a second moment
_STEPS = 60  # of Newton's method, at most: it takes five


class _Batch(NamedTuple):
    """What was estimated of each arm so far, how many batches that is from, and the arm of this one with its odds."""

    totals: Floats
    number: int
    arm: int
    odds: float


class TsallisBatches(Policy):
    """An arm is drawn for each batch, from the regularised leader of noisy means; regulariser -2 sum of sqrt(x).

    With t batches before, the step is 1/(sigma sqrt(t)), sigma^2 = 1 + 2/(batch epsilon)^2 a bound on the second moment
    of a noisy mean; one above 0.206 sigma sqrt(t x) is skipped.
    """

    def set_up(self) -> None:
        """Take the batch whose bound is least, as regret grows as sqrt(batch) sigma; and sigma."""
        self.arms = vertices_of(self.problem.domain)
        self.batch = max(1, math.ceil(math.sqrt(2) / self.epsilon))
        self.moment = math.sqrt(1 + 2 / (self.batch * self.epsilon) ** 2)

    def start(self) -> Belief:
        """Draw an arm."""
        return self._drawn(np.zeros(len(self.arms)), 1)

    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Add the batch's mean to what is known of its arm, weighted; draw the next one."""
        known: _Batch = belief.known
        mean = (float(sums[0]) / self.batch - self.problem.loss_range[0]) / self.problem.width
        totals = known.totals.copy()
        if abs(mean) <= SKIP * self.moment * math.sqrt(known.number * known.odds):
            totals[known.arm] += mean / known.odds
        return self._drawn(totals, known.number + 1)

    def _drawn(self, totals: Floats, number: int) -> Belief:
        odds = leader(totals, 1 / (self.moment * math.sqrt(number)))
        arm = int(np.random.default_rng([self.seed, number]).choice(len(odds), p=odds / odds.sum()))
        phase = Phase(self.arms[arm : arm + 1], np.array([self.batch]))
        return Belief(phase, _Batch(totals, number, arm, float(odds[arm])))


def leader(totals: Floats, step: float) -> Floats:
    """Return the distribution x that makes step <totals, x> - 2 sum of sqrt(x) least.

    It is (step (totals - z))^-2, with z such that these add up to 1: a convex function of z, and Newton's method comes
    down to it from where the best arm alone has 1.

    Examples
    --------
    >>> leader(np.array([0.0, 1.0, 5.0]), 1.0).round(3)
    array([0.757, 0.216, 0.026])
    """
    z = float(totals.min()) - 1 / step
    for _ in range(_STEPS):
        parts = 1 / (step * (totals - z))
        excess = float((parts**2).sum()) - 1
        if excess < 1e-12:
            break
        z -= excess / (2 * step * float((parts**3).sum()))
    return np.asarray(parts**2)


class AsiRamanTalwar(Baseline):
    """Asi, Raman & Talwar, for arms whose losses may change: a bandit algorithm that sees noisy means of batches.

    For arms: `Simplex`, whose corners they are, and any other set with at most 1,000 vertices. A bandit algorithm that
    is not private picks an arm, which is played for a whole batch; it is then told the batch's mean loss with Laplace
    noise of scale B/(batch epsilon). Regret against any sequence of losses grows as sqrt(K T/epsilon).

    Source: "Faster rates for private adversarial bandits" (ICML 2025, arXiv 2505.21790). Verified against its abstract
    and a summary: the conversion, and the order. From memory: that the algorithm inside is HTINF (Huang, Dai & Huang,
    ICML 2022), with its step and its rule of skipping. **Chosen here**: the batch, ceil(sqrt(2)/epsilon), which makes
    sqrt(batch) times the deviation least; theirs is of order 1/epsilon.

    Privacy: pure. A loss is in the sum of one batch, which has Laplace noise of scale B/epsilon.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`, under `PureDP`; arms have no Lipschitz constant.

    Examples
    --------
    >>> from sottovoce import PureDP, domains
    >>> arms, often = domains.Simplex(3), PureDP(epsilon=0.1)
    >>> learner = AsiRamanTalwar(arms, horizon=1_000, loss_range=(0.0, 1.0), privacy=often, seed=1)
    >>> learner.ask_round().x.sum(axis=0)
    array([15.,  0.,  0.])
    """

    name, source, order = "asi-raman-talwar", "Asi, Raman & Talwar 2025", "sqrt(K T/epsilon)"
    promises, linear_only, policy, sets = (PureDP,), True, TsallisBatches, LISTED
