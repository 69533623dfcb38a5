"""Runs that differ in their seed alone, together: means and standard errors."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sottovoce._checks import Vector
from sottovoce.experiments.cell import Result

__all__ = ["Summary", "standard_error", "summarise"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What runs with different seeds gave on average.

    Attributes
    ----------
    problem, algorithm, epsilon, horizon
        What they share.
    dimension
        Of the set's affine hull; 0 if all failed.
    runs, failed
        How many were finished, and how many failed.
    errors
        Why they failed, each reason once.
    regret, regret_error
        Regret per event: mean and standard error (NaN for fewer than two runs).
    never_learning
        Mean regret per event of playing the centre for ever.
    ratio, ratio_error
        The first divided by the second, and its standard error by the delta method; NaN if nothing can be learned.
    privacy
        As the runs say.

    Examples
    --------
    >>> from sottovoce.experiments import Cell
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
    dimension: int
    runs: int
    failed: int
    errors: tuple[str, ...]
    regret: float
    regret_error: float
    never_learning: float
    ratio: float
    ratio_error: float
    privacy: str


def summarise(results: Iterable[Result]) -> tuple[Summary, ...]:
    """Return one summary for each problem, algorithm, epsilon and horizon, in the order in which they first occur."""
    groups: dict[tuple[str, str, float, int], list[Result]] = {}
    for result in results:
        cell = result.cell
        groups.setdefault((cell.problem, cell.algorithm, cell.epsilon, cell.horizon), []).append(result)
    return tuple(_summary(*key, group) for key, group in groups.items())


def standard_error(values: Vector) -> float:
    """Return the standard error of the mean; NaN for fewer than two values."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _summary(problem: str, algorithm: str, epsilon: float, horizon: int, group: list[Result]) -> Summary:
    done = [result for result in group if result.status == "done"]
    regrets = np.array([result.regret_per_event for result in done])
    never = np.array([result.never_learning_per_event for result in done])
    ratio = ratio_error = math.nan
    if done and never.mean() > 0:
        ratio = float(regrets.mean() / never.mean())
        ratio_error = standard_error(regrets - ratio * never) / float(never.mean())
    return Summary(
        problem,
        algorithm,
        epsilon,
        horizon,
        dimension=done[0].dimension if done else 0,
        runs=len(done),
        failed=len(group) - len(done),
        errors=tuple(dict.fromkeys(result.error for result in group if result.status != "done")),
        regret=float(regrets.mean()) if done else math.nan,
        regret_error=standard_error(regrets),
        never_learning=float(never.mean()) if done else math.nan,
        ratio=ratio,
        ratio_error=ratio_error,
        privacy=done[0].privacy if done else "",
    )
