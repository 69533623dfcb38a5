"""Baselines that are `PrivateBandit` with a plan of their own: the same books, mechanisms and refusals."""

from abc import abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.domains import Domain
from sottovoce.errors import StateRefused
from sottovoce.lab.baselines.compared import Compared
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.private_bandit import PrivateBandit
from sottovoce.plans.explorer import Explorer, Record
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource


class Planned(Compared, PrivateBandit):
    """A baseline that is a plan."""

    def _play(self, problem: Problem, plan: Plan, *, seed: int | None, noise: NoiseSource | None = None) -> None:
        """Begin, by a plan."""
        super().__init__(
            problem.domain,
            horizon=problem.horizon,
            loss_range=problem.loss_range,
            privacy=problem.privacy,
            plan=plan,
            losses=problem.losses,
            lipschitz=problem.lipschitz,
            seed=seed,
            noise=noise,
        )

    def _build(self, *arguments: Any) -> None:
        super()._build(*arguments)
        self._exchange(self._policy.first)

    def _exchange(self, epoch: Epoch) -> None:
        """Exchange how points and actions are found; how losses are noised and released stays `PrivateBandit`'s."""

    def _standing(self) -> str:
        return f"closed_rounds={self.round}"


class PrivatelyPlanned(Planned):
    """A private baseline that is a plan."""

    private: ClassVar[bool] = True

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        lipschitz: float | None = None,
        seed: int | None = None,
        noise: NoiseSource | None = None,
    ) -> None:
        losses = "linear" if self.linear_only else "convex"
        self._lot = np.random.SeedSequence(seed).entropy  # of decisions that are drawn between rounds
        problem = Problem(domain, horizon, loss_range, self._kept(privacy), lipschitz=lipschitz, losses=losses)
        self._play(problem, self._planned(problem), seed=seed, noise=noise)

    def _kept(self, privacy: Guarantee) -> Guarantee:
        """Return a guarantee that this algorithm can keep, or say why this is none."""
        return central(privacy)

    @abstractmethod
    def _planned(self, problem: Problem) -> Plan:
        """Return the plan for a problem."""


def central(privacy: Guarantee) -> Guarantee:
    """Return a guarantee that the optimizer itself keeps, or say why this is none."""
    if not isinstance(privacy, Guarantee) or not privacy.private or isinstance(privacy, LocalDP):
        raise TypeError(f"privacy must be PureDP, ApproxDP or ZCDP for a private baseline, got {privacy!r}")
    return privacy


class Stateless(Explorer):
    """Explores for a baseline, whose rounds are never taken up again."""

    def resume(self, point: Floats, record: Record) -> NoReturn:
        """Refuse."""
        raise StateRefused("a baseline is for comparisons: it has no state to save")
