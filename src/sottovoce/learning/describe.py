"""The privacy statement of a configuration, derived from the numbers that the mechanism really uses."""

import math
from dataclasses import replace

from sottovoce.learning.mechanisms import MECHANISMS, needed_noise, sphere_moves
from sottovoce.learning.plan import Plan
from sottovoce.learning.problem import Problem
from sottovoce.privacy import ZCDP, LocalDP, LossGrid, NoiseSource, PrivacyStatement, honaker_levels, levels, state
from sottovoce.privacy.statement import NO_NOISE

__all__ = ["describe"]


def describe(problem: Problem, plan: Plan, source: NoiseSource, *, doubling: bool) -> PrivacyStatement:
    """Return the statement of a run of this plan."""
    if isinstance(problem.privacy, LocalDP):
        why = (
            "a loss is privatised by its owner, on the owner's side, each report with "
            f"{problem.privacy.per_report:.6g} of the budget; nothing else ever reaches the optimizer"
        )
        return state(
            problem.privacy, mechanism="local randomisation of each loss", why=why, noise=None, simulated=False
        )
    if plan.noise is None:
        return state(problem.privacy, mechanism="none", why=NO_NOISE, noise=None, simulated=False)
    words = _running(problem, plan) if plan.mechanism in MECHANISMS else _probes(problem, plan)
    if doubling:
        words += " Epochs hold disjoint events, so the budget is spent once."
    noise = "noise SIMULATED from a seed" if source.simulated else "noise from OpenDP's exact samplers"
    mechanism = f"{plan.what}; integers until noised; {noise}."
    return state(problem.privacy, mechanism=mechanism, why=words, noise=plan.noise, simulated=source.simulated)


def _probes(problem: Problem, plan: Plan) -> str:
    steps = LossGrid(*problem.loss_range, bits=plan.bits).steps
    return (
        f"every loss that is read is in one number of one round, and replacing it moves that number by at most {steps} "
        f"steps of the grid, whatever the caller does; every number carries {_spent(problem, plan, float(steps), 1)}"
    )


def _running(problem: Problem, plan: Plan) -> str:
    dimension = problem.stage(plan.position).working.dimension
    l1, l2 = sphere_moves(problem, bits=plan.bits, dimension=dimension)
    assert plan.noise is not None
    size, norm = (float(l1), "l1") if plan.noise.family == "laplace" else (l2, "l2")
    moved = f"replacing one loss moves one round's integer vector by at most {size:.6g} steps of the grid in {norm}"
    if plan.mechanism == "toeplitz":
        whole = _whole_move(problem, plan, dimension)
        return (
            f"{moved}, whatever the caller does, and all that is noised, the factor's products with the rounds, by at "
            f"most {whole:.6g}; what is released is computed from these; each number carries "
            f"{_spent(problem, plan, whole, 1)}"
        )
    count = {"fresh": 1, "honaker": honaker_levels(max(1, plan.rounds - 1))}.get(plan.mechanism, levels(plan.rounds))
    return (
        f"{moved}, whatever the caller does; that round is in at most {max(1, count)} noised vectors; each carries "
        f"{_spent(problem, plan, size, max(1, count))}"
    )


def _whole_move(problem: Problem, plan: Plan, dimension: int) -> float:
    """How far one contribution moves everything that is noised: the scale at which mu would be 1."""
    one = replace(problem, privacy=ZCDP(0.5))
    noise = needed_noise(one, plan.mechanism, bits=plan.bits, rounds=plan.rounds, dimension=dimension)
    assert noise is not None
    return noise.scale


def _spent(problem: Problem, plan: Plan, size: float, count: int) -> str:
    assert plan.noise is not None
    people = problem.privacy.contributions
    laplace = plan.noise.family == "laplace"
    spent = people * size * (count if laplace else math.sqrt(count)) / plan.noise.scale
    factors = [f"{people} events"] * (people > 1) + [f"{count}" if laplace else f"sqrt({count})"] * (count > 1)
    return (
        f"independent discrete {plan.noise.family.capitalize()} noise of scale {plan.noise.scale:.6g}. Hence "
        f"{'epsilon' if laplace else 'mu'} = {' x '.join([*factors, f'{size:.6g}'])} / {plan.noise.scale:.6g} = "
        f"{spent:.6g}" + ("." if laplace else ", converted exactly (analytic Gaussian mechanism).")
    )
