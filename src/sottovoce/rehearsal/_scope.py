"""How much is rehearsed: lengths of runs and worlds that fit a budget of work.

Work is counted, not timed, so that the same plan is rehearsed in the same way on every call. One unit is about a
millisecond on the machine that it was measured on. Only whether an oracle is slow has to be tried, because it may be a
solver of the caller's: it is called a few times, and told apart by tens of times, not by less.
"""

import math
import time
from functools import lru_cache

import numpy as np

from sottovoce.domains import Domain
from sottovoce.learning import Plan
from sottovoce.learning.epoch import FIRST_EPOCH
from sottovoce.plans.problem import Problem
from sottovoce.rehearsal._worlds import WORLDS

WORK = 10_000.0
"""Units that a rehearsal may take, about."""

LONGEST_RUN = 250_000
"""Events of a run that is simulated; what is longer is extrapolated."""

SHORTEST_RUN = 150
STEP = 8  # a run is so many times as long as the next shorter one
_PER_COORDINATE = 2.5e-5  # of an event
_CALLS = 15.0  # of the oracle, in a round
_SLOW = ((3e-2, 300.0), (3e-3, 20.0), (4e-4, 2.0))  # seconds of a call, and the work that it is then taken for


def lengths(horizon: int, longest: int = LONGEST_RUN) -> tuple[int, ...]:
    """Return lengths of runs up to the horizon, or some quarter of it that can be simulated.

    Examples
    --------
    >>> lengths(1_000_000)
    (488, 3906, 31250, 250000)
    >>> lengths(100)
    (100,)
    """
    while horizon > longest:
        horizon = max(1, horizon // 4)
    found = [horizon]
    while found[-1] // STEP >= SHORTEST_RUN:
        found.append(found[-1] // STEP)
    return tuple(reversed(found))


def scope_of(works: dict[int, float], budget: float) -> tuple[tuple[int, ...], int] | None:
    """Return lengths of runs, ascending, and in how many worlds: what fits a budget of work; None if nothing does.

    Runs are as long as possible first.

    Parameters
    ----------
    works
        By length, what runs of it take.
    budget
        In units of work.
    """
    known = tuple(sorted(works))
    while known:
        for count, kept in ((WORLDS, known), (3, known), (2, known), (2, known[-2:]), (1, known[-2:])):
            if count * sum(works[length] for length in kept) <= budget:
                return kept, count
        known = known[:-1]
    return None


@lru_cache(maxsize=32)
def oracle_work(domain: Domain) -> float:
    """Return how much work a call of the oracle is: nothing that counts, unless it is slow."""
    rng, least = np.random.default_rng(0), np.inf
    for _ in range(4):
        cost = rng.standard_normal(domain.dimension)
        started = time.perf_counter()
        domain.extreme_point(cost)
        least = min(least, time.perf_counter() - started)  # the least: a busy machine makes no oracle slow
    return next((work for seconds, work in _SLOW if least >= seconds), 0.0)


def work_of(problem: Problem, plan: Plan, *, endless: bool = False) -> float:
    """Return about how much work a run is, of one epoch or of many."""
    dimension, events = problem.domain.dimension, plan.horizon
    formula = problem.domain.nearest(problem.domain.middle) is not None
    if plan.options.steps:
        rounds, each = float(plan.rounds), 0.3 + dimension / 300 + (0.0 if formula else 2.0)
    else:
        rounds = min(plan.rounds, 5 + 12 * math.log2(1 + events / 200))
        if endless:  # each epoch begins with short rounds
            rounds *= max(1.0, math.log2(events / FIRST_EPOCH) / 2)
        linear = getattr(plan.options, "model", "") == "linear"
        each = 1.3 + min(dimension / 15, 40) + dimension / 1000 if linear else 3.5 + dimension / 80
        each += 0.0 if linear or formula else 6.0
    each += _CALLS * oracle_work(problem.domain)
    return rounds * each + events * dimension * _PER_COORDINATE
