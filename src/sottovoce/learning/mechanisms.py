"""Mechanisms by name: the noise that a configuration needs, what it does to a running sum, and the mechanism itself.

One place, used to plan and again to check every plan that is run.
"""

import math
from functools import lru_cache

from sottovoce.learning.plan import Plan
from sottovoce.learning.problem import Problem
from sottovoce.privacy import (
    MECHANISMS,
    ApproxDP,
    DirectionGrid,
    FreshSums,
    Guarantee,
    HonakerSums,
    LocalDP,
    LossGrid,
    Noise,
    PureDP,
    RunningSums,
    ToeplitzSums,
    TreeAggregator,
    grids_for,
    noise_of,
    probe_noise,
    sum_error,
)
from sottovoce.privacy.noise import Sampler, ScaleRefused

__all__ = ["MECHANISMS", "check_plan", "finest_bits", "needed_noise", "running_release", "sphere_moves", "sum_noise"]

_LARGEST_SCALE = 2.0**55  # of noise, in steps of the grid
_noise_of, _sum_error = lru_cache(1024)(noise_of), lru_cache(1024)(sum_error)


def sphere_moves(problem: Problem, *, bits: int, dimension: int) -> tuple[int, float]:
    """How far one loss moves the integer vector of a round of spheres, in l1 and l2: its range times a direction."""
    steps, directions = LossGrid(*problem.loss_range, bits=bits).steps, DirectionGrid(bits=bits)
    return steps * directions.largest_l1(dimension), steps * directions.largest_l2(dimension)


def needed_noise(problem: Problem, mechanism: str, *, bits: int, rounds: int, dimension: int) -> Noise | None:
    """Return the least noise of one released number; None if none is needed here.

    Probe sums: one loss moves one number by at most the steps of its grid. Spheres: one loss moves one round's vector
    by at most that times the norm of a rounded direction; the sum after the last round is never released.
    """
    if not problem.privacy.private or isinstance(problem.privacy, LocalDP):
        return None
    if mechanism == "probe-sums":
        return _probe_noise(problem.privacy, LossGrid(*problem.loss_range, bits=bits).steps)
    l1, l2 = sphere_moves(problem, bits=bits, dimension=dimension)
    return _noise_of(mechanism, problem.privacy, l1=l1, l2=l2, length=max(1, rounds - 1), dimension=dimension)


@lru_cache(1024)
def _probe_noise(privacy: Guarantee, steps: int) -> Noise:
    """A single number is hidden better by Laplace noise, even where delta is allowed: pure privacy implies it."""
    if not isinstance(privacy, ApproxDP):
        return probe_noise(privacy, steps=steps)
    pure = probe_noise(PureDP(privacy.epsilon, privacy.contributions), steps=steps)
    try:
        gaussian = probe_noise(privacy, steps=steps)
    except ValueError:  # a delta too small for the grid
        return pure
    return min(gaussian, pure, key=lambda one: one.standard_deviation)


def sum_noise(problem: Problem, mechanism: str, noise: Noise, *, bits: int, rounds: int, dimension: int) -> float:
    """Root mean square of a running sum's noise in one coordinate, in steps of the grid, for noise of this scale."""
    l1, l2 = sphere_moves(problem, bits=bits, dimension=dimension)
    error = _sum_error(mechanism, problem.privacy, l1=l1, l2=l2, length=max(1, rounds - 1), dimension=dimension)
    return error.rms * noise.scale / error.noise.scale


def running_release(problem: Problem, plan: Plan, dimension: int, sampler: Sampler) -> RunningSums:
    """Open the mechanism of a plan that releases running sums."""
    length = max(1, plan.rounds - 1)
    if plan.mechanism == "fresh":
        return FreshSums(dimension, sampler)
    if plan.mechanism == "honaker":
        return HonakerSums(length, dimension, sampler)
    if plan.mechanism == "toeplitz":
        return ToeplitzSums(
            length, dimension, sampler, l2=sphere_moves(problem, bits=plan.bits, dimension=dimension)[1]
        )
    return TreeAggregator(plan.rounds, dimension, sampler, padding=plan.padding)


def finest_bits(problem: Problem, mechanism: str, *, rounds: int, dimension: int) -> int:
    """Return the bits of the finest grids on which sums cannot overflow and the noise fits."""
    for bits in range(_most_bits(problem, mechanism), 1, -1):
        try:
            noise = needed_noise(problem, mechanism, bits=bits, rounds=rounds, dimension=dimension)
        except ScaleRefused:  # on this grid; a coarser one needs less
            continue
        if noise is None or noise.scale <= _LARGEST_SCALE:
            return bits
    raise ValueError(f"{problem.privacy} needs noise that 64-bit integers cannot hold; raise epsilon")


def _most_bits(problem: Problem, mechanism: str) -> int:
    room = 4 if mechanism == "toeplitz" else 1  # its buffers hold up to 2^60, where trees hold 2^61
    return grids_for(problem.loss_range, room * problem.horizon)[0].bits


def check_plan(problem: Problem, plan: Plan) -> None:
    """Refuse a plan whose noise is less than its guarantee needs, or whose sums could overflow.

    Every optimizer passes through here, whoever made the plan.
    """
    if plan.bits > _most_bits(problem, plan.mechanism):
        raise ValueError(f"bits = {plan.bits} of the plan could overflow over {problem.horizon} events; use fewer")
    if (plan.mechanism == "local") != isinstance(problem.privacy, LocalDP):
        raise ValueError(
            f"mechanism {plan.mechanism!r} of the plan does not give {problem.privacy}; make the plan anew"
        )
    if plan.mechanism == "probe-sums" and plan.exploration == "sphere":
        raise ValueError("probe sums need frames or designs: a sphere's event is in every number of its round")
    if plan.mechanism in MECHANISMS and plan.exploration != "sphere":
        raise ValueError(f"{plan.mechanism} sums up the vectors of a sphere; {plan.exploration} need probe sums")
    if plan.mechanism == "none" and problem.privacy.private:
        raise ValueError(f"the plan adds no noise, and was made for another problem: {problem.privacy} needs it")
    if plan.mechanism in ("none", "local"):
        return
    dimension = problem.stage(plan.position).working.dimension
    least = needed_noise(problem, plan.mechanism, bits=plan.bits, rounds=plan.rounds, dimension=dimension)
    if least is None:
        return
    if plan.noise is None or plan.noise.family != least.family or not least.scale <= plan.noise.scale < math.inf:
        raise ValueError(
            f"the plan's noise is {plan.noise}, but {problem.privacy} needs at least {least} here: "
            "the plan was made for another problem; make it anew with the same arguments"
        )
