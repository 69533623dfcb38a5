"""Flaxman, Kalai & McMahan: gradient descent without a gradient."""

import math
from typing import Any, ClassVar

from sottovoce._arrays import Floats
from sottovoce.lab.baselines.base import OnePoint
from sottovoce.lab.baselines.plans import BaselinePlan, one_point_radius
from sottovoce.oco.noisy_oco import MirrorStep


class FKM(OnePoint):
    """Projected gradient descent on one-point estimates, one event per round. Not private, and needs projections.

    y <- Proj onto the shrunk set of y - nu (f_t(x_t) - middle) u_t, and x_t = y + delta u_t, with nu = R/(C sqrt T),
    delta = T^(-1/4) sqrt(R d C r/(3 (L r + C))), alpha = delta/r the shrinking, and regret at most
    2 T^(3/4) sqrt(3 R d C (L + C/r)).

    Source: "Online convex optimization in the bandit setting: gradient descent without a gradient" (SODA 2005).
    Verified against its abstract: the order T^(3/4). The constants are from memory; they were derived anew: projected
    gradient descent from the centre costs R G sqrt(T) with G = d C/delta, exploring 3 delta L T, shrinking
    2 (delta/r) C T, and the values above follow by balancing. The tests run it against that bound.

    Differences: the losses are shifted so that their middle is 0, hence C is half their range; d, r and R are those of
    the affine hull; delta is at most r/2, and `plan.bound` says what that costs; sets without a formula for projections
    are projected on by linear oracle, to a gap of a millionth of the squared diameter.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`.
    radius_factor
        The radius is this times the theorem's: for looking up the best constant in hindsight.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3))
    >>> learner = sv.lab.baselines.FKM(environment.domain, horizon=5_000, loss_range=environment.loss_range, seed=1)
    >>> run = sv.lab.simulate(learner, environment)
    >>> run.final_regret < run.final_no_learning
    True
    """

    name: ClassVar[str] = "fkm"

    def _set_up(self) -> None:
        domain, size = self.domain, self._problem.width / 2
        self._explore(one_point_radius(self._problem, self._radius_factor))
        self._step = domain.outer_radius / (size * math.sqrt(self.horizon))
        # Projecting on the shrunk set is projecting on the set itself in coordinates that are stretched accordingly.
        self._stretched = self._step / self._sphere.shrink
        self._project = MirrorStep(domain)
        self.plan = BaselinePlan(
            self.name,
            "Flaxman, Kalai & McMahan 2005",
            self.horizon,
            self._bound(),
            "T^(3/4)",
            {"radius": self._sphere.radius, "step": self._step},
            order_only=self._problem.lipschitz is None,
        )

    def _bound(self) -> float:
        radius, domain, size = self._sphere.radius, self.domain, self._problem.width / 2
        lipschitz = self._problem.lipschitz_in(self._problem.placement("plain"))
        walk = domain.outer_radius * self._sphere.scale * size * math.sqrt(self.horizon)
        return walk + (3 * lipschitz + 2 * size / domain.inner_radius) * radius * self.horizon

    def _learn(self, memo: Any, losses: Floats) -> None:
        moved = self._point - self._stretched * (float(losses[0]) - self._middle) * memo
        self._move(self._project(moved - self._project.center))
        self.oracle_calls = self._project.calls
