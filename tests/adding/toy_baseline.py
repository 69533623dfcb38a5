"""Two vertices, equally often, whatever the losses are: the baseline that CONTRIBUTING adds."""

import numpy as np

from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy


class Ends(Policy):
    """Two opposite vertices."""

    def start(self) -> Belief:
        cost, oracle = np.linspace(-1, 1, self.problem.domain.dimension), self.problem.domain.extreme_point
        return Belief(Phase(np.stack([oracle(cost), oracle(-cost)]), np.array([5, 5])))

    def learn(self, belief, sums, squares=None) -> Belief:
        return belief


class Pendulum(Baseline):
    """Two opposite vertices, as often. Learns nothing."""

    name, source, order, policy = "pendulum", "a toy", "T", Ends
