"""Azize, Wu, Honda, Orabona, Ito & Basu: DP-IMED and DP-KLUCB, for arms."""

import math
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.lab.baselines._vertices import LISTED, vertices_of
from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy
from sottovoce.privacy import PureDP

ALPHA = 1.1  # by which an arm's pulls grow: the bound is proportional to it, and any above 1 will do
_HALVINGS = 50  # of an interval, in which an index is sought
_EDGE = 1e-12  # means are that far from 0 and 1: logarithms are finite


def private_divergence(mean: Floats, other: Floats, epsilon: float) -> Floats:
    """Return d(x, y) = min over z in [x, y] of epsilon (z - x) + kl(z, y), for x at most y; 0 above it.

    Parameters
    ----------
    mean, other
        x and y, of Bernoulli variables.
    epsilon
        Of the promise.

    Examples
    --------
    >>> private_divergence(np.array([0.2, 0.2]), np.array([0.5, 0.1]), 0.5).round(4)
    array([0.1191, 0.    ])
    """
    y = np.clip(other, _EDGE, 1 - _EDGE)
    turning = y * math.exp(-epsilon) / (1 - y + y * math.exp(-epsilon))  # where epsilon is the slope of kl
    z = np.clip(np.maximum(mean, turning), _EDGE, 1 - _EDGE)
    found = epsilon * (z - mean) + z * np.log(z / y) + (1 - z) * np.log((1 - z) / (1 - y))
    return np.where(mean < y, np.maximum(found, 0.0), 0.0)


class _Arms(NamedTuple):
    """What is known of each arm: the noisy sum of its rewards, its pulls, and which is played now (-1: all once)."""

    sums: Floats
    pulls: Integers
    arm: int


class GeometricPhases(Policy):
    """Every arm once; then the arm with the largest index, until its pulls have grown by a tenth.

    With d the private divergence, n an arm's pulls and t those of all, the index of DP-IMED is
    -(n d(mean, best mean) + log n).
    """

    def set_up(self) -> None:
        """List the arms."""
        self.arms = vertices_of(self.problem.domain)

    def start(self) -> Belief:
        """Play every arm once."""
        once = np.ones(len(self.arms), dtype=np.int64)
        return Belief(Phase(self.arms, once), _Arms(np.zeros(len(once)), np.zeros_like(once), -1))

    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Add up the rewards of the arm; choose the next one."""
        known: _Arms = belief.known
        low = self.problem.loss_range[0]
        counts = np.zeros_like(known.pulls)
        counts[np.arange(len(counts)) if known.arm < 0 else [known.arm]] = belief.phase.counts
        rewards = np.zeros(len(counts))
        rewards[counts > 0] = counts[counts > 0] - (sums - low * belief.phase.counts) / self.problem.width
        known = _Arms(known.sums + rewards, known.pulls + counts, known.arm)
        arm = int(np.argmax(self.index(known)))
        more = max(1, math.ceil(ALPHA * int(known.pulls[arm])) - int(known.pulls[arm]))
        return Belief(Phase(self.arms[arm : arm + 1], np.array([more])), known._replace(arm=arm))

    def index(self, known: _Arms) -> Floats:
        """Return the index of every arm."""
        means, pulls = np.clip(known.sums / known.pulls, 0.0, 1.0), known.pulls
        best = np.full(len(means), means.max())
        return -(pulls * private_divergence(means, best, self.epsilon) + np.log(pulls))


class OptimisticPhases(GeometricPhases):
    """As `GeometricPhases`, with the index of DP-KLUCB: the largest q with n d(mean, q) at most log t."""

    def index(self, known: _Arms) -> Floats:
        """Return the index of every arm, by halving an interval."""
        means, pulls = np.clip(known.sums / known.pulls, 0.0, 1.0), known.pulls
        level, low, high = math.log(int(pulls.sum())) / pulls, means, np.ones(len(means))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = private_divergence(means, middle, self.epsilon) <= level
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.asarray(low)


class DPIMED(Baseline):
    """DP-IMED (Azize et al.): the arm whose being the best contradicts least what was seen of it, noise included.

    For arms: `Simplex`, whose corners they are, and any other set with at most 1,000 vertices. An arm of n pulls has
    the index n d(mean, best mean) + log n, and the least is played until its pulls have grown by a tenth. Regret grows
    as alpha log(T) times the sum of gap/d(mean, best mean), which nobody with pure privacy can better but for alpha.

    Source: "Optimal regret of bandits under differential privacy" (NeurIPS 2025, arXiv 2505.05613): phases of each arm
    that grow by a factor alpha above 1, sums that are never forgotten and get new Laplace noise with each phase, d and
    the indices. Its alpha is not given as one number: 1.1 here. It is for Bernoulli rewards; others are taken as such.

    Privacy: pure. A loss is in the sum of one phase, which has Laplace noise of scale B/epsilon.

    Differences: losses in place of rewards; sums are integers, and their noise is discrete; the first pulls of all arms
    are one phase.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`; `privacy` must be `PureDP`, and the Lipschitz constant plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.DPIMED(
    ...     sv.domains.Simplex(3), horizon=1_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> learner.ask_round().x.sum(axis=0)
    array([1., 1., 1.])
    """

    name, source = "dp-imed", "Azize et al. 2025"
    order = "log(T) sum of gap/d, d between gap^2 and epsilon gap"
    promises, linear_only, policy, sets = (PureDP,), True, GeometricPhases, LISTED


class DPKLUCB(DPIMED):
    """DP-KLUCB (Azize et al.): the arm whose mean may be the best, by a divergence that knows the noise.

    See `DPIMED`: the index is the largest q with n d(mean, q) at most log t, and the largest index is played.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.DPKLUCB(
    ...     sv.domains.Simplex(3), horizon=1_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> learner.ask_round().x.sum(axis=0)
    array([1., 1., 1.])
    """

    name, policy = "dp-klucb", OptimisticPhases
