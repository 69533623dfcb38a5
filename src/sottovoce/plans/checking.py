"""The last look at a plan before it runs: noise that keeps the promise, sums that cannot overflow.

Every optimizer passes through here, whoever made the plan.
"""

import math

from sottovoce.models import check_item_room, check_room
from sottovoce.plans import exploration_named
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import most_bits, needed_noise
from sottovoce.privacy import MECHANISMS, mechanism_named

_WANTED = {
    "features": "a linear model alone can use them: losses='linear' or integral=True, with exploration='posterior'",
    "prior": "posterior probes alone begin with it: exploration='posterior'",
    "segments": "posterior probes alone let segments inform each other: plan='auto', or exploration='posterior'",
}


def check_knowledge(problem: Problem, plan: Plan) -> None:
    """Refuse what is known beforehand where the plan makes no use of it."""
    for name, wanted in _WANTED.items():
        if getattr(problem, name) is not None and name not in plan.options.begins_with:
            raise ValueError(f"{name} is of no use to this plan ({plan.what}): {wanted}; or leave {name} out")
    if problem.segments is not None:
        check = check_item_room if plan.exploration == "items" else check_room
        check(problem.segments, len(problem.names or ()) or problem.domain.dimension)


def check_plan(problem: Problem, plan: Plan) -> None:
    """Refuse a plan whose noise is less than its guarantee needs, or whose sums could overflow."""
    mechanism, exploration = mechanism_named(plan.mechanism), exploration_named(plan.exploration)
    if not isinstance(plan.options, exploration.options):
        raise ValueError(f"the plan explores by {plan.exploration}, and its options are {plan.options!r}; make it anew")
    if exploration.feedback != problem.feedback:
        raise ValueError(f"the plan is for feedback={exploration.feedback!r}, not {problem.feedback!r}; make it anew")
    check_knowledge(problem, plan)
    if plan.bits > most_bits(problem, mechanism):
        raise ValueError(f"bits = {plan.bits} of the plan could overflow over {problem.horizon} events; use fewer")
    if not mechanism.serves(problem.privacy):
        raise ValueError(
            f"mechanism {plan.mechanism!r} of the plan does not give {problem.privacy}: the plan was made for another "
            "problem; make it anew"
        )
    if not exploration.fits(mechanism):
        raise ValueError(f"{plan.mechanism} releases {mechanism.takes[0]}, and {plan.exploration} has none of these")
    others = {name for one in MECHANISMS.values() for name in one.options} - set(mechanism.options)
    if any(getattr(plan.options, name, False) for name in others):
        raise ValueError(f"{' and '.join(sorted(others))} of the plan does not apply to {plan.mechanism}; make it anew")
    dimension = problem.placement(plan.position).working.dimension
    least = needed_noise(problem, mechanism, bits=plan.bits, rounds=plan.rounds, dimension=dimension)
    if least is None:
        return
    if plan.noise is None or plan.noise.family != least.family or not least.scale <= plan.noise.scale < math.inf:
        raise ValueError(
            f"the plan's noise is {plan.noise}, but {problem.privacy} needs at least {least} here: "
            "the plan was made for another problem; make it anew with the same arguments"
        )
