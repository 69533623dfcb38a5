"""The privacy statement of a configuration, derived from the numbers that the mechanism really uses."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sottovoce.plans import exploration_named
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import sensitivity_of
from sottovoce.privacy import Guarantee, LocalDP, Noise, PrivacyStatement, mechanism_named, state
from sottovoce.privacy.statement import NO_NOISE


def describe(
    problem: Problem, plan: Plan, *, simulated: bool, doubling: bool, counted: bool = False
) -> PrivacyStatement:
    """Return the statement of a run of this plan, in which people are `counted` or not."""
    statement = state_noise(
        problem.privacy,
        plan.noise,
        simulated=simulated,
        who="the optimizer",
        what=plan.what,
        why=lambda: _why(problem, plan) + _of_streams(problem, doubling=doubling),
    )
    inherited = () if problem.prior is None else problem.prior.promises
    beside = _of_segments(problem, counted)
    facts: dict[str, Any] = {"inherited": inherited, "counted": counted, "feedback": problem.feedback}
    return replace(statement, also_not_covered=beside, **facts)


def state_noise(
    privacy: Guarantee, noise: Noise | None, *, simulated: bool, who: str, what: str, why: Callable[[], str]
) -> PrivacyStatement:
    """Return the statement of `who` releases numbers with this noise: `what` they are, and `why` it is enough."""
    if isinstance(privacy, LocalDP):
        each = (
            "a loss is privatised by its owner, on the owner's side, each report with "
            f"{privacy.per_report:.6g} of the budget; nothing else ever reaches {who}"
        )
        return state(privacy, mechanism="local randomisation of each loss", why=each, noise=None, simulated=False)
    if noise is None:
        return state(privacy, mechanism="none", why=NO_NOISE, noise=None, simulated=False)
    drawn = "noise SIMULATED from a seed" if simulated else "noise from OpenDP's exact samplers"
    mechanism = f"{what}; integers until noised; {drawn}."
    return state(privacy, mechanism=mechanism, why=why(), noise=noise, simulated=simulated)


def _of_segments(problem: Problem, counted: bool) -> tuple[str, ...]:
    if problem.segments is None:
        return ()
    several = (
        "a person who takes part in several segments, beyond the number of events that the promise names: events count "
        "whatever segment they are in",
    )
    return (
        "which segment an event belongs to: it is public here, since the action depends on it; of a segment with few "
        "people it can be seen that one of them took part, though never what they lost",
        *(() if counted else several),
    )


def _of_streams(problem: Problem, *, doubling: bool) -> str:
    words = ""
    if problem.segments is not None:
        words = (
            " Every event is of one segment, and every number of one segment's round; what segments tell each other is "
            "computed from these numbers, so the budget is spent once for all of them."
        )
    return words + " Epochs hold disjoint events, so the budget is spent once." * doubling


def _why(problem: Problem, plan: Plan) -> str:
    assert plan.noise is not None
    people, noise = problem.privacy.contributions, plan.noise
    mechanism, gives = mechanism_named(plan.mechanism), exploration_named(plan.exploration).gives
    dimension = problem.placement(plan.position).working.dimension
    sensitivity = sensitivity_of(problem, gives, bits=plan.bits, rounds=plan.rounds, dimension=dimension)
    if gives == "numbers":
        return (
            "every loss that is read is in one number of one round, and replacing it moves that number by at most "
            f"{_digits(sensitivity.l1)} steps of the grid, whatever the caller does; every number carries "
            f"{spent_words(noise, people, float(sensitivity.l1))}"
        )
    size, norm = (float(sensitivity.l1), "l1") if noise.family == "laplace" else (sensitivity.l2, "l2")
    if gives == "items":
        grid = problem.item_grid(plan.bits)
        limit = "" if problem.most is None else f", cut to {problem.most:g} in all,"
        return (
            f"one person's losses of up to {grid.width} items{limit} are in the numbers of one round, and replacing "
            f"all of them moves these, as they are multiplied, by at most {_digits(size)} steps of the grid in "
            f"{norm}, whatever the caller does; every number carries {spent_words(noise, people, size)}"
        )
    count = mechanism.reach(sensitivity.length)
    return (
        f"replacing one loss moves one round's integer vector by at most {_digits(size)} steps of the grid in {norm}, "
        f"whatever the caller does; that round is in at most {count} noised vectors; each carries "
        f"{spent_words(noise, people, size, count)}"
    )


def spent_words(noise: Noise, people: int, size: float, count: int = 1) -> str:
    """Say what is spent of a budget, if each of `people` events moves `count` numbers or vectors by `size` at most."""
    laplace = noise.family == "laplace"
    spent = people * size * (count if laplace else math.sqrt(count)) / noise.scale
    factors = [f"{people} events"] * (people > 1) + [f"{count}" if laplace else f"sqrt({count})"] * (count > 1)
    return (
        f"independent discrete {noise.family.capitalize()} noise of scale {_digits(noise.scale)}. Hence "
        f"{'epsilon' if laplace else 'mu'} = {' x '.join([*factors, _digits(size)])} / {_digits(noise.scale)} = "
        f"{spent:.6g}" + ("." if laplace else ", converted exactly (analytic Gaussian mechanism).")
    )


def _digits(value: float) -> str:
    """Six digits; all of a large number, whose power of ten nobody should have to count.

    Examples
    --------
    >>> _digits(262.144), _digits(33554432.0)
    ('262.144', '33,554,432')
    """
    return f"{value:,.0f}" if value >= 1e6 else f"{value:.6g}"
