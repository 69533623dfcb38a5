"""The privacy statement of a configuration, derived from the numbers that the mechanism really uses."""

from sottovoce.learning.plan import Plan
from sottovoce.learning.planning import sensitivity_of
from sottovoce.learning.problem import Problem
from sottovoce.privacy import NoiseSource, PrivacyStatement, state

__all__ = ["describe"]


def describe(problem: Problem, plan: Plan, source: NoiseSource, *, doubling: bool) -> PrivacyStatement:
    """Return the statement of a run of this plan."""
    if plan.noise is None:
        return state(problem.privacy, mechanism="none", why="nothing is promised", noise=None, simulated=False)
    sensitivity = sensitivity_of(problem, plan.batch_size, plan.bits)
    laplace = plan.noise.family == "laplace"
    norm, size = ("l1", float(sensitivity.l1)) if laplace else ("l2", sensitivity.l2)
    count = problem.privacy.contributions
    total = f"{count} x " if count > 1 else ""
    spent = count * size * (sensitivity.levels if laplace else sensitivity.levels**0.5) / plan.noise.scale
    level = f"{sensitivity.levels}" if laplace else f"sqrt({sensitivity.levels})"
    why = (
        f"replacing one loss moves one round's integer vector by at most {size:.6g} steps of the grid in {norm}, "
        f"whatever the caller does; that round is in at most {sensitivity.levels} noised nodes; each carries "
        f"independent discrete {plan.noise.family.capitalize()} noise of scale {plan.noise.scale:.6g}. Hence "
        f"{'epsilon' if laplace else 'mu'} = {total}{level} x {size:.6g} / {plan.noise.scale:.6g} = {spent:.6g}"
        + ("." if laplace else ", converted exactly (analytic Gaussian mechanism).")
        + (" Epochs hold disjoint events, so the budget is spent once." if doubling else "")
    )
    mechanism = (
        f"tree aggregation over {plan.rounds} rounds of {plan.batch_size} events; integers until noised; "
        + ("noise SIMULATED from a seed" if source.simulated else "noise from OpenDP's exact samplers")
        + "."
    )
    return state(problem.privacy, mechanism=mechanism, why=why, noise=plan.noise, simulated=source.simulated)
