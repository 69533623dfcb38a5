"""Random vertices: never learning, and never choosing either."""

from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines.base import COMPARISON, EVENTS, Baseline
from sottovoce.lab.baselines.plans import BaselinePlan


class UniformRandom(Baseline):
    """A random vertex for every event, whatever the losses are: the oracle's answer to a standard normal cost.

    So a vertex is drawn with probability the share of directions in which it is best (the solid angle of its normal
    cone); on a ball that is the uniform law on the sphere, on a simplex the uniform law on its corners.

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

    name: ClassVar[str] = "uniform-random"
    _why: ClassVar[str] = COMPARISON

    def _set_up(self) -> None:
        self.plan = BaselinePlan(self.name, "never learns", self.horizon, self.horizon * self._problem.width, "T")

    def _begin_round(self, most: int) -> tuple[Floats, Any]:
        costs = self._coins.standard_normal((min(most, EVENTS), self.domain.dimension))
        self.oracle_calls += len(costs)
        return np.stack([self.domain.extreme_point(cost) for cost in costs]), None

    def _learn(self, memo: Any, losses: Floats) -> None:
        """Learn nothing."""

    @property
    def point(self) -> Floats:
        """The centre, which stands for no preference."""
        return self.domain.center
