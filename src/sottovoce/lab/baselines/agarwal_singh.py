"""Agarwal & Singh: a linear bandit that is fed noisy losses."""

import math
from dataclasses import replace
from typing import ClassVar

from sottovoce.domains import Ball
from sottovoce.lab.baselines.planned import PrivatelyPlanned
from sottovoce.lab.baselines.scrible import BallBarrier, Scrible, scrible_bound, scrible_step
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.oco.noisy_oco import NoisyOCO
from sottovoce.plans.designs import DesignDraft, DesignOptions
from sottovoce.plans.draft import probe_noise_of
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem


class AgarwalSingh(PrivatelyPlanned):
    """Their reduction for linear losses: every loss gets noise of its own, and a non-private linear bandit goes on.

    The bandit is fed f_t + Z_t with fresh noise Z_t. Which bandit that is, `inner` says:

    - "scrible", on balls (sv.domains.Ball): SCRiBLe, as in the source (see scrible.py). Regret grows as
      sqrt(T log T)/epsilon, and `plan.bound` says with which constants.
    - "explore", on all other sets: SCRiBLe needs a self-concordant barrier of the set, which a linear oracle does not
      give. One event in 1/rate, at a place drawn by public coins, plays a vertex drawn from a D-optimal design, and is
      the only one that is read; the rest play the regularised leader in rounded position. Regret grows as T^(2/3)
      only, and `plan.bound` is of its order, not a guarantee (see sottovoce.plans.designs).

    Source: "The price of differential privacy for online learning" (ICML 2017). Verified against its abstract: the
    order sqrt(T)/epsilon for linear bandits. The reduction (any non-private bandit can be inside, SCRiBLe is theirs)
    and all constants are from memory; the tests fit the exponents.

    Differences: they add <Z_t, x_t> with a vector Z_t of Laplace noise, to the same effect; here the noise is one
    discrete number on an integer grid (Laplace; for ApproxDP the better of Laplace and Gaussian; for ZCDP Gaussian), of
    the least scale that hides one loss: B/epsilon for PureDP. The losses are shifted so that their middle is 0. This is
    `PrivateBandit` with a plan of its own.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`. Losses must be linear in the action.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.AgarwalSingh(
    ...     sv.domains.Ball(3), horizon=1_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> learner.inner, learner.plan.probe_events, learner.plan.noise_in_loss_units
    ('scrible', 1, 1.0)
    """

    name: ClassVar[str] = "agarwal-singh"
    linear_only: ClassVar[bool] = True

    def _planned(self, problem: Problem) -> Plan:
        return _scrible_plan(problem) if isinstance(problem.domain, Ball) else _explore_plan(problem)

    @property
    def inner(self) -> str:
        """The non-private bandit inside: "scrible" or "explore"."""
        return "scrible" if isinstance(self.domain, Ball) else "explore"

    def _exchange(self, epoch: Epoch) -> None:
        if isinstance(self.domain, Ball):
            barrier, step = BallBarrier(self.domain), epoch.plan.step
            assert step is not None
            learner = NoisyOCO(self.domain, gradient=epoch.learner.gradient, step=step, point_map=barrier)
            epoch.exchange(Scrible(barrier, self._problem.middle), learner)


def _scrible_plan(problem: Problem) -> Plan:
    plan = DesignDraft.of(problem, problem.placement("plain"), DesignOptions(1.0, 1, control_variate=False)).finish()
    d, noise, horizon = problem.domain.affine_dimension, probe_noise_of(problem).deviation, problem.horizon
    own = problem.width**2 / 4
    return replace(
        plan,
        name=f"{AgarwalSingh.name} (SCRiBLe)",
        step=scrible_step(d, horizon, own + noise**2),
        step_multiplier=1.0,
        bound=scrible_bound(d, horizon, own + noise**2, problem.width),
        bound_without_privacy=scrible_bound(d, horizon, own, problem.width),
    )


def _explore_plan(problem: Problem) -> Plan:
    placement, noise = problem.placement("rounded"), probe_noise_of(problem).deviation
    # Balance R_w sqrt(2 T energy/rate) and rate T B/2, the terms of the bound; losses deviate by B/2, spread by B/4.
    energy = placement.working.affine_dimension * (problem.width**2 * (1 / 4 + 1 / 16) + noise**2)
    rate = (placement.reach * math.sqrt(2 * energy / problem.horizon) / problem.width) ** (2 / 3)
    options = DesignOptions(min(0.5, max(rate, 1 / problem.horizon)), 1, control_variate=False)
    return replace(DesignDraft.of(problem, placement, options).finish(), name=f"{AgarwalSingh.name} (explore)")
