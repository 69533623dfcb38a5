"""How many events the explicit bounds ask for, before they promise more than never learning."""

import math
from collections.abc import Callable
from dataclasses import replace

from sottovoce.lab.problems.naming import make_problem
from sottovoce.plans.outlook import horizon_that_learns
from sottovoce.plans.paper import paper_draft
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Guarantee

READINGS: dict[str, Callable[[int], float]] = {
    "binary logarithms of the events": lambda events: 1.0,
    "natural logarithms of the events": lambda events: math.log(2),
    "binary logarithms of the rounds": lambda events: math.log2(math.ceil(math.sqrt(events))) / math.log2(events),
}
"""What "log T" may mean in the noise of Lemmas 5.1 and 5.4, relative to the reading that `plan="paper"` takes, which is
the largest of them. Privacy needs less than any."""


def events_needed(problem: str, privacy: Guarantee, reading: str) -> int | None:
    """Return from how many events the explicit bound with the paper's noise promises anything; None if never.

    None also stands for more events than can be planned for.

    Parameters
    ----------
    problem
        By name.
    privacy
        The guarantee.
    reading
        One of `READINGS`.
    """

    def plan_for(one: Problem) -> Plan:
        draft = paper_draft(one)
        return replace(draft, least_noise=draft.least_noise * READINGS[reading](max(4, one.horizon))).finish()

    return _least(problem, privacy, plan_for)


def events_needed_with_needed_noise(problem: str, privacy: Guarantee) -> int | None:
    """Return the same for the paper's parameters with the noise that privacy needs."""
    return _least(problem, privacy, lambda one: paper_draft(one, needed_noise=True).finish())


def _least(name: str, privacy: Guarantee, plan_for: Callable[[Problem], Plan]) -> int | None:
    made = make_problem(name, seed=0)
    known = made.settings()
    problem = Problem(made.domain, 10_000, known.pop("loss_range"), privacy, **known)
    try:
        return horizon_that_learns(plan_for, problem)
    except ValueError:  # sums that would leave 64 bits
        return None
