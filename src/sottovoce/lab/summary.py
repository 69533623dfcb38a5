"""Runs that differ in their seed alone, together: means, standard errors, and what privacy costs."""

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._written import read
from sottovoce.lab.algorithms import ALGORITHMS
from sottovoce.lab.sweeps.cell import Cell, Result

Item = TypeVar("Item")
Group = TypeVar("Group", bound=Hashable)
Key = tuple[str, str, float, int]


def gather(items: Iterable[Item], key: Callable[[Item], Group | None]) -> dict[Group, list[Item]]:
    """Return the items by their key, in the order in which they come; what has no key (None) is left out.

    Examples
    --------
    >>> gather([3, 4, 5], lambda number: "odd" if number % 2 else "even")
    {'odd': [3, 5], 'even': [4]}
    """
    groups: dict[Group, list[Item]] = {}
    for item in items:
        found = key(item)
        if found is not None:
            groups.setdefault(found, []).append(item)
    return groups


@dataclass(frozen=True)
class Summary:
    """What runs with different seeds gave on average.

    Attributes
    ----------
    problem, algorithm, epsilon, horizon
        What they share.
    results
        All of them, the failed ones too.

    Examples
    --------
    >>> results = [
    ...     Result(Cell("ball", "default", 1.0, 100, seed), "done", regret=10.0 + seed, never_learning=40.0)
    ...     for seed in range(3)
    ... ]
    >>> (summary,) = summarise(results)
    >>> summary.regret, round(summary.regret_error, 5), round(summary.ratio, 5)
    (0.11, 0.00577, 0.275)
    """

    problem: str
    algorithm: str
    epsilon: float
    horizon: int
    results: tuple[Result, ...]

    @cached_property
    def done(self) -> tuple[Result, ...]:
        """Those that were finished."""
        return tuple(result for result in self.results if result.status == "done")

    @property
    def runs(self) -> int:
        """How many were finished."""
        return len(self.done)

    @property
    def failed(self) -> int:
        """How many failed."""
        return len(self.results) - len(self.done)

    @property
    def dimension(self) -> int:
        """Of the set's affine hull; 0 if all failed."""
        return self.done[0].dimension if self.done else 0

    @property
    def privacy(self) -> str:
        """As the runs say."""
        return self.done[0].privacy if self.done else ""

    @cached_property
    def regret(self) -> float:
        """Mean regret per event; NaN if all failed."""
        return float(np.mean([one.regret_per_event for one in self.done])) if self.done else math.nan

    @cached_property
    def regret_error(self) -> float:
        """Standard error of the regret; NaN for fewer than two runs."""
        return standard_error(np.array([one.regret_per_event for one in self.done]))

    @cached_property
    def never_learning(self) -> float:
        """Mean regret per event of playing the centre for ever."""
        return float(np.mean([one.never_learning_per_event for one in self.done])) if self.done else math.nan

    @property
    def ratio(self) -> float:
        """Regret in units of that of never learning; NaN if nothing can be learned."""
        return self.regret / self.never_learning if self.never_learning > 0 else math.nan


def failures(results: Iterable[Result]) -> list[str]:
    """Return why cells failed: each reason once, with how many it took."""
    failed = [result for result in results if result.status != "done"]
    reasons = gather(failed, lambda result: (result.cell.problem, result.cell.algorithm, result.error))
    return [f"{problem} / {name}, {len(ones)} cells: {why}" for (problem, name, why), ones in reasons.items()]


def summarise(results: Iterable[Result]) -> tuple[Summary, ...]:
    """Return one summary for each problem, algorithm, epsilon and horizon, in the order in which they first occur."""
    groups = gather(results, lambda result: _shared(result.cell))
    return tuple(Summary(*key, tuple(members)) for key, members in groups.items())


def standard_error(values: Floats) -> float:
    """Return the standard error of the mean; NaN for fewer than two values."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _shared(cell: Cell) -> Key:
    return cell.problem, cell.algorithm, cell.epsilon, cell.horizon


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
    return next((one for one in others if (one.problem, one.algorithm, one.epsilon, one.horizon) in wanted), None)


def _without_privacy(written: str) -> str:
    """Return the name of an algorithm without privacy, its settings kept; an unknown one has no other name."""
    try:
        named = read(written, "algorithm")
    except ValueError:  # a table may come from anywhere
        return written
    known = ALGORITHMS.get(named.name)
    return str(replace(named, name=known.without_privacy)) if known and known.without_privacy else written
