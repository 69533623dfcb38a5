"""Random vertices: never learning, and never choosing either."""

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy

_VERTICES = 1024  # that are drawn, once


class Unread(Policy):
    """One phase for ever, whose losses are of no use: here, of random vertices."""

    def start(self) -> Belief:
        """Draw the vertices."""
        domain, coins = self.problem.domain, np.random.default_rng([self.seed, 0])
        costs = coins.standard_normal((_VERTICES, domain.dimension))
        vertices = np.stack([domain.extreme_point(cost) for cost in costs])
        each = -(-self.problem.horizon // _VERTICES)
        return Belief(Phase(vertices, np.full(_VERTICES, each), reads=False))

    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Learn nothing."""
        return belief


class UniformRandom(Baseline):
    """A random vertex for every event, whatever the losses are: the oracle's answer to a standard normal cost.

    1,024 of these are drawn once, and then played by lot. So a vertex is drawn with probability the share of directions
    in which it is best (the solid angle of its normal cone); on a ball that is the uniform law on the sphere, on a
    simplex the uniform law on its corners.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`; the losses play no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.UniformRandom(sv.domains.Simplex(4), horizon=100, loss_range=(0.0, 1.0), seed=1)
    >>> learner.ask(size=3).x.sum(axis=1)
    array([1., 1., 1.])
    """

    name, source, order, policy = "uniform-random", "never learns", "T", Unread
