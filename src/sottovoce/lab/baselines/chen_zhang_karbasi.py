"""Chen, Zhang & Karbasi: online Frank-Wolfe on one-point estimates."""

import math
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines.base import OnePoint
from sottovoce.lab.baselines.plans import BaselinePlan, fitting_radius

_LAG = 2.01  # k, the least with 0.6 k^2 - k/sqrt(2) >= 1: the played point is within k D sqrt(sigma_t) of the leader


class ChenZhangKarbasi(OnePoint):
    """One Frank-Wolfe step per event on the regularised sum of one-point estimates. Not private, projection-free.

    F_t(x) = eta sum_{i<t} <g_i, x> + ||x - x_1||^2, v = oracle(grad F_t(x_t)), x <- (1 - sigma_t) x + sigma_t v, played
    at x + delta u inside the set; delta = c T^(-1/5), eta = c D/(sqrt(2) d C) T^(-4/5), sigma_t = t^(-2/5).

    Source: "Projection-free bandit convex optimization" (AISTATS 2019). Verified: the order T^(4/5), against the
    abstract of Garber & Kretzu (2020), which quotes it as the best before theirs. The parameters are from memory; the
    theorem leaves c free, and its constants are not reproduced: c minimises the explicit bound that `plan.bound` holds.
    The tests run it against that bound, and fit the exponent.

    The bound, derived anew, with G = d C/delta >= ||g_t||: the exact leaders x*_t of F_t cost R^2/eta + eta T G^2/4,
    since ||x - x_1||^2 is 2-strongly convex; exploring and shrinking cost (1 + R/r) L delta T; and the gap
    h_t = F_t(x_t) - F_t(x*_t) >= ||x_t - x*_t||^2, known before u_t is drawn, costs L sqrt(h_t). A step of Frank-Wolfe
    and a new gradient give h_{t+1} <= (1 - sigma_t) h_t + sigma_t^2 D^2 + eta G sqrt(h_{t+1}), and eta G is
    (D/sqrt(2)) T^(-3/5) <= (D/sqrt(2)) sigma_t^(3/2) whatever c is, so that h_t <= (2.01 D)^2 sigma_t by induction.
    In all T^(4/5) [sqrt(2) R^2 d C/(c D) + T^(-1/5) D d C/(4 sqrt(2) c) + (5/4) 2.01 L D + (1 + R/r) L c].

    Differences: delta is at most r/2; the losses are shifted so that their middle is 0, hence C is half their range; d,
    r and R are those of the affine hull.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`.
    radius_factor
        c is this times the one with the least bound: for looking up the best constant in hindsight.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.ChenZhangKarbasi(sv.domains.Simplex(4), horizon=100, loss_range=(0.0, 1.0), seed=1)
    >>> action = learner.ask()
    >>> learner.tell(action.id, 0.5)
    >>> learner.round, learner.oracle_calls
    (1, 1)
    """

    name: ClassVar[str] = "chen-zhang-karbasi"

    def _set_up(self) -> None:
        domain, fifth = self.domain, self.horizon**0.2
        walk, explore, rest = self._costs()
        radius = fitting_radius(self._problem, math.sqrt(walk / explore) / fifth, self._radius_factor)
        constant = radius * fifth  # c
        self._explore(radius)
        worst = math.sqrt(2) * domain.affine_dimension * self._problem.width / 2
        self._eta = constant * domain.diameter / worst * self.horizon**-0.8
        self._pull = self._eta * self._sphere.scale / self._sphere.shrink
        self._sum: Floats = np.zeros(domain.dimension)  # of (f - middle) u
        self.plan = BaselinePlan(
            self.name,
            "Chen, Zhang & Karbasi 2019",
            self.horizon,
            self.horizon**0.8 * (walk / constant + explore * constant + rest),
            "T^(4/5)",
            {"radius": self._sphere.radius, "step": self._eta},
            order_only=self._problem.lipschitz is None,
        )

    def _costs(self) -> tuple[float, float, float]:
        """Return the terms of the bound over T^(4/5): what falls as 1/c, what grows as c, and what does neither."""
        domain, problem = self.domain, self._problem
        lipschitz = problem.lipschitz_in(problem.placement("plain"))
        scale, outer = domain.affine_dimension * problem.width / 2, domain.outer_radius
        walk = math.sqrt(2) * outer**2 * scale / domain.diameter
        noise = domain.diameter * scale / (4 * math.sqrt(2)) * self.horizon**-0.2
        return walk + noise, lipschitz * (1 + outer / domain.inner_radius), 1.25 * _LAG * lipschitz * domain.diameter

    def _learn(self, memo: Any, losses: Floats) -> None:
        # In coordinates of the whole set, x = c + s (p - c), grad F / s is eta sum g + 2 s (p - x_1).
        slope = self._pull * self._sum + 2 * (self._point - self.domain.center)
        vertex = self.domain.extreme_point(slope)
        self.oracle_calls += 1
        share = self.round**-0.4
        self._sum = self._sum + (float(losses[0]) - self._middle) * memo
        self._move(self._point + share * (vertex - self._point))
