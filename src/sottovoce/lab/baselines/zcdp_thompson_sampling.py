"""Thompson sampling that takes noise for uncertainty, after Riyazat & Ukwatta's AdaPrivate-TS."""

import math
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines._vertices import LISTED
from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy
from sottovoce.lab.baselines.thompson_sampling import Features
from sottovoce.privacy import ZCDP

SAMPLES = 64  # of a batch
GROWTH = 0.3  # a batch, relative to what was learned before
RIDGE = 1.0


class _Learned(NamedTuple):
    """Sums over events of phi phi' and (loss - middle) phi, of phi phi' over released sums; events, and batches."""

    gram: Floats
    moment: Floats
    noised: Floats
    events: int
    number: int


class NoisyPosterior(Policy):
    """Batches play the cheapest vertices of parameters drawn from N(A^-1 b, v^2 A^-1 + A^-1 N A^-1), equally often.

    A = I + sum of phi phi', b = sum of phi (loss - middle) with its noise, v = B/2, and N the covariance of b's noise.
    """

    def set_up(self) -> None:
        """Take the features of actions."""
        self.features = Features(self.problem.domain)

    def start(self) -> Belief:
        """Draw from the prior."""
        size = self.features.size
        return self._drawn(_Learned(np.zeros((size, size)), np.zeros(size), np.zeros((size, size)), 0, 0))

    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Add a batch's sums."""
        known: _Learned = belief.known
        counts, rows = belief.phase.counts, self.features(belief.phase.actions)
        moment = known.moment + (sums - self.problem.middle * counts) @ rows
        gram, noised = known.gram + (rows.T * counts) @ rows, known.noised + rows.T @ rows
        return self._drawn(_Learned(gram, moment, noised, known.events + int(counts.sum()), known.number + 1))

    def posterior(self, known: _Learned) -> tuple[Floats, Floats]:
        """Return the mean and the covariance of what parameters are drawn from."""
        inverse = np.linalg.inv(known.gram + RIDGE * np.eye(len(known.moment)))
        spread = self.problem.width**2 / 4 * inverse + self.scale**2 * inverse @ known.noised @ inverse
        return inverse @ known.moment, np.asarray(spread, dtype=np.float64)

    def _drawn(self, known: _Learned) -> Belief:
        coins, domain = np.random.default_rng([self.seed, known.number]), self.features.domain
        thetas = coins.multivariate_normal(*self.posterior(known), SAMPLES, method="eigh")
        vertices = np.array([domain.extreme_point(self.features.cost(theta)) for theta in thetas])
        played, counts = np.unique(vertices, axis=0, return_counts=True)
        return Belief(Phase(played, counts * max(1, math.ceil(GROWTH * known.events / SAMPLES))), known)


class ZCDPThompsonSampling(Baseline):
    """Linear Thompson sampling under zCDP, after AdaPrivate-TS (Riyazat & Ukwatta): noise counts as uncertainty.

    Source: "AdaPrivate-TS: private Thompson sampling for contextual bandits with privacy amplification" (PMLR 318,
    2026, arXiv 2606.21757). Verified against its abstract: batches each of whose events is released once, Gaussian
    noise for zCDP, and sampling from v^2 A^-1 + sigma^2 A^-2, b's noise having the covariance sigma^2 I. **Chosen
    here**, because the paper's text could not be had: v = B/2, the ridge 1, batches of 64 samples and 0.3 times the
    events before; noise is on the sum of each vertex of a batch, so that sigma^2 I is replaced by what that adds to b
    (for arms the same, but for arms that are not played). Amplification by subsampling is left out: there are no
    contexts here, and every event is read. So figures of this class are not those of the authors' code.

    Privacy: zCDP. A loss is in the sum of one vertex in one batch, and each sum has Gaussian noise of deviation
    B/sqrt(2 rho).

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`; `privacy` must be `ZCDP`, losses must be linear in the action, and the Lipschitz
        constant plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Hypersimplex(20, 5), seed=1)
    >>> learner = sv.lab.baselines.ZCDPThompsonSampling(
    ...     environment.domain, horizon=20_000, loss_range=(0.0, 1.0), privacy=sv.ZCDP(rho=0.5), seed=1
    ... )
    >>> run = sv.lab.simulate(learner, environment)
    >>> run.final_regret < run.final_no_learning / 4
    True
    """

    name, source = "zcdp-thompson-sampling", "after Riyazat & Ukwatta 2026"
    order = "d sqrt(T log T) + sqrt(d) log(T)/sqrt(rho)"
    promises, linear_only, policy, sets = (ZCDP,), True, NoisyPosterior, LISTED
