"""Garber & Kretzu: blocks of events, Frank-Wolfe between them."""

import math
from dataclasses import replace
from typing import ClassVar

from sottovoce.domains import Domain
from sottovoce.lab.baselines.planned import Planned
from sottovoce.lab.baselines.plans import least_bound_radius
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import SphereBound, SphereDraft
from sottovoce.privacy import NoPrivacy


class GarberKretzu(Planned):
    """Follow the regularised leader over blocks of sqrt(T) one-point estimates, by Frank-Wolfe. Not private.

    Block m plays x~_{m-1} + delta u inside the set. Meanwhile Frank-Wolfe with line search, started at the last result,
    minimises step sum_{i<m} <g_i, x> + 1/2 ||x - x_1||^2 to a gap of R^2 T^(-1/2). The regret grows as
    sqrt(d) T^(3/4), with O(T) oracle calls in all.

    Source: "Improved regret bounds for projection-free bandit convex optimization" (AISTATS 2020). Verified against its
    abstract: the order T^(3/4), and O(T) calls of the linear oracle. The constants of its theorem are not reproduced:
    radius and step minimise the explicit bound that `plan.bound` holds (that of
    sottovoce.plans.sphere, with a delay of one block and no noise).

    Differences: this is `PrivateBandit` with a plan of its own and no noise, which is the same algorithm with the
    objective divided by 2; losses are shifted so that their middle is 0, and rounded to the grid that private ones
    would live on; d, r and R are those of the affine hull; delta is at most r/2.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`.
    radius_factor
        The radius is this times the one with the least bound: for looking up the best constant in hindsight.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.GarberKretzu(sv.domains.Ball(3), horizon=10_000, loss_range=(0.0, 1.0), seed=1)
    >>> learner.plan.batch_size, learner.plan.delay, learner.privacy.headline
    (100, 1, 'no privacy: NOT PRIVATE')
    """

    name: ClassVar[str] = "garber-kretzu"

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        lipschitz: float | None = None,
        seed: int | None = None,
        radius_factor: float = 1.0,
    ) -> None:
        problem = Problem(domain, horizon, loss_range, NoPrivacy(), lipschitz=lipschitz)
        self._play(problem, _plan(problem, radius_factor), seed=seed)


def _plan(problem: Problem, factor: float) -> Plan:
    placement = problem.placement("plain")
    batch = math.ceil(problem.horizon / math.ceil(math.sqrt(problem.horizon)))
    draft = replace(
        SphereDraft(problem, placement, batch, problem.domain.inner_radius / 2),
        name=GarberKretzu.name,
        delay=1,
        method="conditional-gradient",
        gap=problem.domain.outer_radius**2 / math.sqrt(problem.horizon),
        max_calls=40 * batch + 100,  # Frank-Wolfe reaches the gap within 28 sqrt(T) steps from anywhere
    )

    def bound_at(radius: float) -> SphereBound:
        return replace(draft, radius=radius).bound_with(None, 0.0, 0)

    def least(radius: float) -> float:
        bound = bound_at(radius)
        return bound.value(bound.best_step())

    radius = least_bound_radius(problem, least, factor)
    return replace(draft, radius=radius, step=bound_at(radius).best_step()).finish()
