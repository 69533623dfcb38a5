"""Garber & Kretzu: blocks of events, Frank-Wolfe between them."""

import math
from collections.abc import Callable
from dataclasses import replace

from sottovoce.lab.baselines.base import Baseline
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import SphereDraft, SphereOptions

_DECADES, _PER_DECADE = 6, 64  # of radii to try: neighbours are 3.7% apart, and bounds are flat where they are least


class GarberKretzu(Baseline):
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

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.GarberKretzu(sv.domains.Ball(3), horizon=10_000, loss_range=(0.0, 1.0), seed=1)
    >>> learner.plan.batch_size, learner.plan.delay, learner.privacy.headline
    (100, 1, 'no privacy: NOT PRIVATE')
    """

    name = "garber-kretzu"

    def _planned(self, problem: Problem) -> Plan:
        batch = math.ceil(problem.horizon / math.ceil(math.sqrt(problem.horizon)))
        draft = replace(
            SphereDraft(problem, problem.placement("plain"), SphereOptions(problem.domain.inner_radius / 2), batch),
            name=self.name,
            delay=1,
            method="conditional-gradient",
            gap=problem.domain.outer_radius**2 / math.sqrt(problem.horizon),
            max_calls=40 * batch + 100,  # Frank-Wolfe reaches the gap within 28 sqrt(T) steps from anywhere
        )

        def at(radius: float) -> SphereDraft:
            return replace(draft, options=SphereOptions(radius))

        def least(radius: float) -> float:
            return replace(at(radius), step=at(radius).best_step(0.0)).bound_at(0.0)

        found = at(least_bound_radius(problem, least))
        return replace(found, step=found.best_step(0.0)).finish()


def least_bound_radius(problem: Problem, bound: Callable[[float], float]) -> float:
    """Return the radius at which a baseline's own bound is least, at most half of the inner radius.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem(sv.domains.Ball(3), 100, (0.0, 1.0), sv.NoPrivacy())
    >>> round(least_bound_radius(problem, lambda radius: 0.01 / radius + radius), 2)
    0.1
    """
    largest = problem.domain.inner_radius / 2
    return min((largest * 10 ** (-step / _PER_DECADE) for step in range(_DECADES * _PER_DECADE)), key=bound)
