"""Two vertices in turn, whatever the losses are: the baseline that CONTRIBUTING adds."""

from typing import Any, ClassVar

import numpy as np

from sottovoce.lab.baselines.base import COMPARISON, Baseline
from sottovoce.lab.baselines.plans import BaselinePlan


class Pendulum(Baseline):
    """Two opposite vertices in turn. Learns nothing."""

    name: ClassVar[str] = "pendulum"
    _why: ClassVar[str] = COMPARISON

    def _set_up(self) -> None:
        cost = np.linspace(-1, 1, self.domain.dimension)
        self._ends = np.stack([self.domain.extreme_point(cost), self.domain.extreme_point(-cost)])
        self.plan = BaselinePlan(self.name, "a toy", self.horizon)

    def _begin_round(self, most: int) -> tuple[Any, Any]:
        return self._ends[:most], None

    def _learn(self, memo, losses) -> None:
        pass

    @property
    def point(self):
        return self._ends.mean(axis=0)
