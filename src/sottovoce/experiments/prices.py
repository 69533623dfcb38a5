"""What privacy costs: regret relative to that of the same algorithm without it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sottovoce.experiments.algorithms import ALGORITHMS
from sottovoce.experiments.naming import read
from sottovoce.experiments.summary import Summary, standard_error

__all__ = ["Price", "price_of"]


@dataclass(frozen=True, slots=True)
class Price:
    """Regret with privacy relative to that without, its standard error, and the algorithm that it is relative to."""

    ratio: float
    error: float
    relative_to: str


def price_of(private: Summary, others: Iterable[Summary]) -> Price | None:
    """Return what privacy costs, relative to the same algorithm without it; None where it cannot be told.

    Equal seeds meet the same losses, so the two are compared seed by seed, over the seeds that both have: the error is
    that of a ratio of means, by the delta method on pairs.
    """
    free = _counterpart(private, others)
    if free is None or math.isinf(private.epsilon):
        return None
    costs = {result.cell.seed: result.regret_per_event for result in free.done}
    shared = [result for result in private.done if result.cell.seed in costs]
    if not shared:
        return None
    above = np.array([result.regret_per_event for result in shared])
    below = np.array([costs[result.cell.seed] for result in shared])
    if below.mean() <= 0:  # a ratio to nothing, or to a gain, means nothing
        return None
    ratio = float(above.mean() / below.mean())
    error = standard_error(above - ratio * below) / float(below.mean())
    return Price(ratio, error, free.algorithm)


def _counterpart(one: Summary, others: Iterable[Summary]) -> Summary | None:
    """Return the same algorithm, with the same settings, over the same horizon, without privacy."""
    wanted = [(one.problem, name, math.inf, one.horizon) for name in (one.algorithm, _without_privacy(one.algorithm))]
    return next((other for other in others if other.key in wanted), None)


def _without_privacy(written: str) -> str:
    """Return the name of an algorithm without privacy, its settings kept; an unknown one has no other name."""
    try:
        named = read(written, "algorithm")
    except ValueError:  # a table may come from anywhere
        return written
    known = ALGORITHMS.get(named.name)
    return str(replace(named, name=known.without_privacy)) if known and known.without_privacy else written
