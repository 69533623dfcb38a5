"""Chen, Zhang & Karbasi: online Frank-Wolfe on one-point estimates."""

import math

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines.one_point import OnePoint, Walk, sphere_of
from sottovoce.plans.problem import Problem

_LAG = 2.01  # k, the least with 0.6 k^2 - k/sqrt(2) >= 1: the played point is within k D sqrt(sigma_t) of the leader


class FrankWolfeSteps(Walk):
    """From each point towards the vertex that the regularised sum of all gradients but the newest asks for."""

    def next(self, point: Floats, last: Floats, dual: Floats, steps: int) -> Floats:
        """Take one step of Frank-Wolfe, the shorter the later."""
        vertex = self.domain.extreme_point(2 * (point - self.center) - last)
        return np.asarray(point + steps**-0.4 * (vertex - point))


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

    Differences: this is `PrivateBandit` with a plan and a point map of its own and no noise; delta is at most r/2;
    losses are shifted so that their middle is 0, hence C is half their range, and rounded to the grid that private ones
    would live on; d, r and R are those of the affine hull.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.ChenZhangKarbasi(sv.domains.Simplex(4), horizon=100, loss_range=(0.0, 1.0), seed=1)
    >>> for loss in (0.5, 0.25, 0.75):
    ...     action = learner.ask()
    ...     learner.tell(action.id, loss)
    >>> learner.round
    3
    """

    name, walk = "chen-zhang-karbasi", FrankWolfeSteps

    @classmethod
    def chosen(cls, problem: Problem) -> tuple[float, float, float]:
        """Return the radius with the least bound for a `problem`, the step that goes with it, and that bound."""
        domain, late = problem.domain, problem.horizon**-0.2
        lipschitz = problem.lipschitz_in(problem.placement("plain"))
        scale, outer, wide = domain.affine_dimension * problem.width / 2, domain.outer_radius, domain.diameter
        falls = math.sqrt(2) * outer**2 * scale / wide + wide * scale / math.sqrt(32) * late
        grows = lipschitz * (1 + outer / domain.inner_radius)
        sphere = sphere_of(problem, math.sqrt(falls / grows) * late)
        constant = sphere.radius / late  # c
        bound = problem.horizon**0.8 * (falls / constant + grows * constant + 1.25 * _LAG * lipschitz * wide)
        step = constant * wide / (math.sqrt(2) * scale) * late**4
        return sphere.radius, step / sphere.shrink, bound
