"""The paper's parameters: Algorithm 1, line 1, and the noise of Lemmas 5.1 and 5.4."""

import math
from dataclasses import replace

from sottovoce.plans.draft import largest_radius
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import SphereDraft, SphereOptions
from sottovoce.privacy import ApproxDP, PureDP

PAPER_CHOICES = ("radius", "batch_size", "step", "delay", "method", "padding", "mechanism")
"""What a caller may choose of the paper's plan."""


def paper_draft(problem: Problem, batch_size: int | None = None, *, needed_noise: bool = False) -> SphereDraft:
    """T_round = T^(1/2), eta = D/(T^(3/4) n^(1/2) L), zeta = D n^(1/2)/T^(1/4); n is the dimension of the hull.

    Its noise is that of Lemmas 5.1 and 5.4, or what privacy needs if that is more; `needed_noise` takes what privacy
    needs in any case (one loss moves one summand: privacy/mechanisms/tree.py), all else being the paper's.
    """
    placement = problem.placement("plain")
    events, d, diameter = problem.horizon, problem.domain.affine_dimension, problem.domain.diameter
    batch = batch_size or math.ceil(events / math.ceil(math.sqrt(events)))
    radius = min(diameter * math.sqrt(d) / events**0.25, largest_radius(problem, placement))
    return replace(
        SphereDraft(problem, placement, SphereOptions(radius), batch),
        name="paper",
        step=diameter / (events**0.75 * math.sqrt(d) * problem.lipschitz_in(placement)),
        delay=1,
        method="conditional-gradient",
        gap=diameter**2 / batch,  # eps_cg = D/T_batch^(1/2) is a distance; a gap of its square certifies it
        max_calls=20 * batch + 100,  # Lemma C.4: 20 T_batch iterations reach that distance
        baseline=0.0,
        least_noise=0.0 if needed_noise else paper_scale(problem),
    )


def paper_scale(problem: Problem) -> float:
    """The paper's noise in gradient units; 0 where it has none. Levels of the tree are binary logarithms.

    n is the dimension of the hull, as in all the paper's formulas here. Where that is less than the number of
    coordinates, ||u||_1 may exceed n^(1/2); the scale that privacy needs knows of it, and is taken if it is larger.
    """
    privacy, events, n = problem.privacy, problem.horizon, problem.domain.affine_dimension
    constant = problem.lipschitz_in(problem.placement("plain"))
    levels = math.log2(max(2, events))
    if isinstance(privacy, PureDP):
        return math.sqrt(events) * n * constant * levels / privacy.epsilon
    if isinstance(privacy, ApproxDP):
        spread = math.log((n + events) / privacy.delta)
        concentration = spread + math.sqrt((1 + math.sqrt(events) / n) * spread)
        size = events**0.25 * math.sqrt(n) * constant * concentration
        return float(size * levels * math.log(events / privacy.delta) / privacy.epsilon)
    return 0.0
