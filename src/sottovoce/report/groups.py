"""Results that differ by their seed alone, and what privacy costs them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sottovoce.experiments import Result
from sottovoce.experiments.summary import standard_error

__all__ = ["COUNTERPARTS", "Group", "Price", "group", "price_of"]

Key = tuple[str, str, float, int]
COUNTERPARTS = {
    "default": "no-privacy",
    "local": "no-privacy",
    "paper-laplace": "paper-no-noise",
    "paper-gaussian": "paper-no-noise",
}
"""Which algorithm is the same one without privacy, where that has a name of its own."""


@dataclass(frozen=True)
class Group:
    """Finished cells with one problem, algorithm, epsilon and horizon.

    Examples
    --------
    >>> from sottovoce.experiments import Cell
    >>> done = [Result(Cell("ball", "default", 1.0, 100, seed), "done", regret=1.0 + seed) for seed in range(3)]
    >>> one = group(done)[0]
    >>> one.mean, round(one.error, 6)
    (0.02, 0.005774)
    """

    problem: str
    algorithm: str
    epsilon: float
    horizon: int
    results: tuple[Result, ...]

    @cached_property
    def mean(self) -> float:
        """Mean regret per event."""
        return float(np.mean([result.regret_per_event for result in self.results]))

    @cached_property
    def error(self) -> float:
        """Standard error of the mean over seeds; NaN for a single seed."""
        return standard_error(np.array([result.regret_per_event for result in self.results]))

    @property
    def never_learning(self) -> float:
        """Mean regret per event of never learning."""
        return float(np.mean([result.never_learning_per_event for result in self.results]))

    @property
    def predicted(self) -> float:
        """The plan's bound per event, on average; NaN where there is none."""
        return float(np.mean([result.predicted for result in self.results])) / self.horizon

    @property
    def key(self) -> Key:
        """What its cells share."""
        return self.problem, self.algorithm, self.epsilon, self.horizon


def group(results: Iterable[Result]) -> list[Group]:
    """Gather finished results, in the order of the grid."""
    found: dict[Key, list[Result]] = {}
    for result in results:
        if result.status == "done":
            cell = result.cell
            found.setdefault((cell.problem, cell.algorithm, cell.epsilon, cell.horizon), []).append(result)
    return [Group(*key, tuple(members)) for key, members in found.items()]


@dataclass(frozen=True, slots=True)
class Price:
    """Regret with privacy relative to that without, its standard error, and the algorithm that it is relative to."""

    ratio: float
    error: float
    relative_to: str


def price_of(private: Group, groups: Iterable[Group]) -> Price | None:
    """Return what privacy costs a group, relative to the same algorithm without it; None where it cannot be told.

    Equal seeds meet the same losses, so the two are compared seed by seed, over the seeds that both have: the error is
    that of a ratio of means, by the delta method on pairs.
    """
    free = _counterpart(private, groups)
    if free is None or math.isinf(private.epsilon):
        return None
    costs = {result.cell.seed: result.regret_per_event for result in free.results}
    shared = [result for result in private.results if result.cell.seed in costs]
    if not shared:
        return None
    above = np.array([result.regret_per_event for result in shared])
    below = np.array([costs[result.cell.seed] for result in shared])
    if below.mean() <= 0:  # a ratio to nothing, or to a gain, means nothing
        return None
    ratio = float(above.mean() / below.mean())
    error = standard_error(above - ratio * below) / float(below.mean())
    return Price(ratio, error, free.algorithm)


def _counterpart(one: Group, groups: Iterable[Group]) -> Group | None:
    """Return the same algorithm, with the same settings, over the same horizon, without privacy."""
    name, colon, settings = one.algorithm.partition(":")
    names = (one.algorithm, COUNTERPARTS.get(name, name) + colon + settings)
    wanted = [(one.problem, name, math.inf, one.horizon) for name in names]
    return next((other for other in groups if other.key in wanted), None)
