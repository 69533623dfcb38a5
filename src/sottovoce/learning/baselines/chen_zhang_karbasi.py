"""Chen, Zhang & Karbasi: online Frank-Wolfe on one-point estimates."""

import math
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.domains import Domain
from sottovoce.learning.baselines.base import OnePoint
from sottovoce.learning.baselines.plans import BaselinePlan

__all__ = ["ChenZhangKarbasi"]


class ChenZhangKarbasi(OnePoint):
    """One Frank-Wolfe step per event on the regularised sum of one-point estimates. Not private, projection-free.

    F_t(x) = eta sum_{i<t} <g_i, x> + ||x - x_1||^2, v = oracle(grad F_t(x_t)), x <- (1 - sigma_t) x + sigma_t v, played
    at x + delta u inside the set; delta = c T^(-1/5), eta = c D/(sqrt(2) d C) T^(-4/5), sigma_t = t^(-2/5).

    Source: "Projection-free bandit convex optimization" (AISTATS 2019). Verified: the order T^(4/5), against the
    abstract of Garber & Kretzu (2020), which quotes it as the best before theirs. The parameters are from memory; the
    theorem leaves c free, and its constants are not reproduced, so `plan.bound` is NaN. The tests fit the exponent.

    Differences: c is half of the inner radius r, so that delta < r at every horizon; the losses are shifted so that
    their middle is 0, hence C is half their range; d and r are those of the affine hull.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`; the Lipschitz constant plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.baselines.ChenZhangKarbasi(sv.domains.Simplex(4), horizon=100, loss_range=(0.0, 1.0), seed=1)
    >>> action = learner.ask()
    >>> learner.tell(action.id, 0.5)
    >>> learner.round, learner.oracle_calls
    (1, 1)
    """

    name: ClassVar[str] = "chen-zhang-karbasi"

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        lipschitz: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(domain, horizon=horizon, loss_range=loss_range, lipschitz=lipschitz, seed=seed)
        constant = domain.inner_radius / 2
        self._explore(constant * self.horizon**-0.2)
        size = self._problem.width / 2
        worst = math.sqrt(2) * domain.affine_dimension * size
        self._eta = constant * domain.diameter / worst * self.horizon**-0.8
        self._pull = self._eta * self._sphere.scale / self._sphere.shrink
        self._sum: Floats = np.zeros(domain.dimension)  # of (f - middle) u
        self._point: Floats = domain.center
        self.plan = BaselinePlan(
            self.name,
            "Chen, Zhang & Karbasi 2019",
            self.horizon,
            order="T^(4/5)",
            parameters={"radius": self._sphere.radius, "step": self._eta},
        )

    def _learn(self, memo: Any, losses: Floats) -> None:
        # In coordinates of the whole set, x = c + s (p - c), grad F / s is eta sum g + 2 s (p - x_1).
        slope = self._pull * self._sum + 2 * (self._point - self.domain.center)
        vertex = self.domain.extreme_point(slope)
        self.oracle_calls += 1
        share = (self.round + 1) ** -0.4
        self._point = self._point + share * (vertex - self._point)
        self._sum = self._sum + (float(losses[0]) - self._middle) * memo
        self._move(self._point)

    @property
    def point(self) -> Floats:
        """The point of the set, before it is pulled inwards."""
        return self._point
