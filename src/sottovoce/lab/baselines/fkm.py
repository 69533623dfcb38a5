"""Flaxman, Kalai & McMahan: gradient descent without a gradient."""

import math

from sottovoce._arrays import Floats
from sottovoce.domains import Domain
from sottovoce.lab.baselines.one_point import OnePoint, Walk, sphere_of
from sottovoce.oco.noisy_oco import MirrorStep
from sottovoce.plans.problem import Problem


class ProjectedDescent(Walk):
    """From each point along the newest gradient, and back onto the set."""

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain)
        self._project = MirrorStep(domain)

    def next(self, point: Floats, last: Floats, dual: Floats, steps: int) -> Floats:
        """Project what the newest gradient leads to."""
        return self._project(point + (dual - last) - self.center)


class FKM(OnePoint):
    """Projected gradient descent on one-point estimates, one event per round. Not private, and needs projections.

    y <- Proj onto the shrunk set of y - nu (f_t(x_t) - middle) u_t, and x_t = y + delta u_t, with nu = R/(C sqrt T),
    delta = T^(-1/4) sqrt(R d C r/(3 (L r + C))), alpha = delta/r the shrinking, and regret at most
    2 T^(3/4) sqrt(3 R d C (L + C/r)).

    Source: "Online convex optimization in the bandit setting: gradient descent without a gradient" (SODA 2005).
    Verified against its abstract: the order T^(3/4). The constants are from memory; they were derived anew: projected
    gradient descent from the centre costs R G sqrt(T) with G = d C/delta, exploring 3 delta L T, shrinking
    2 (delta/r) C T, and the values above follow by balancing. The tests run it against that bound.

    Differences: this is `PrivateBandit` with a plan and a point map of its own and no noise; losses are shifted so that
    their middle is 0, hence C is half their range, and rounded to the grid that private ones would live on; d, r and R
    are those of the affine hull; delta is at most r/2, and `plan.bound` says what that costs; sets without a formula
    for projections are projected on by linear oracle, to a gap of a millionth of the squared diameter.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3))
    >>> learner = sv.lab.baselines.FKM(environment.domain, horizon=5_000, loss_range=environment.loss_range, seed=1)
    >>> run = sv.lab.simulate(learner, environment)
    >>> run.final_regret < run.final_no_learning
    True
    """

    name, walk = "fkm", ProjectedDescent

    @classmethod
    def chosen(cls, problem: Problem) -> tuple[float, float, float]:
        """Return the radius and the step of the theorem for a `problem`, and its bound, part by part."""
        domain, size, horizon = problem.domain, problem.width / 2, problem.horizon
        inner, outer = domain.inner_radius, domain.outer_radius
        lipschitz = problem.lipschitz_in(problem.placement("plain"))
        balanced = outer * domain.affine_dimension * size * inner / (3 * (lipschitz * inner + size))
        sphere = sphere_of(problem, math.sqrt(balanced) * horizon**-0.25)
        step = outer / (size * math.sqrt(horizon))
        walk = outer * sphere.scale * size * math.sqrt(horizon)
        bound = walk + (3 * lipschitz + 2 * size / inner) * sphere.radius * horizon
        return sphere.radius, step / sphere.scale / sphere.shrink, bound
