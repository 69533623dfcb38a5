"""What runs say about a claim: a row of numbers, and a verdict that follows from them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from sottovoce._arrays import Vector
from sottovoce.experiments.grouping import seed_table
from sottovoce.experiments.slopes import Fit, fit
from sottovoce.experiments.summary import standard_error
from sottovoce.experiments.sweeps.cell import Result

__all__ = ["FAILS", "HOLDS", "UNSEEN", "Evidence", "Series", "judge_match", "judge_power", "series"]

HOLDS, FAILS, UNSEEN = "holds here", "does not hold here", "cannot be seen here"
"""The verdicts. A claim cannot be seen where nothing is learned: regret is then about as large as it can be."""

AXES: dict[str, Callable[[Result], float]] = {
    "horizon": lambda result: float(result.cell.horizon),
    "dimension": lambda result: float(result.dimension),
    "1/epsilon": lambda result: 1 / result.cell.epsilon,
}


@dataclass(frozen=True, slots=True)
class Series:
    """Regret of one algorithm along one axis: a row per seed, a column per value.

    Attributes
    ----------
    who, group
        The algorithm, in words; and "paper", "here" or nothing: on which side of the verdict it counts.
    axis, values
        "horizon", "dimension" or "1/epsilon", and its values, ascending.
    seeds, regrets, never, bounds
        Seeds; for each and each value the cumulative regret, that of never learning, and the plan's bound on it.

    Examples
    --------
    >>> regrets = np.array([[9.0, 30.0], [11.0, 34.0]])
    >>> found = Series("it", "", "horizon", np.array([1e2, 1e3]), (0, 1), regrets, 4 * regrets, 8 * regrets)
    >>> found.learns, found.level, judge_power(found, 0.75, claimed=0.75).verdict
    ([True, True], '0.25 to 0.25', 'holds here')
    """

    who: str
    group: str
    axis: str
    values: Vector
    seeds: tuple[int, ...]
    regrets: Vector
    never: Vector
    bounds: Vector

    @property
    def learns(self) -> list[bool]:
        """Whether, at each value, regret is below that of never learning by two standard errors or more."""
        saved = self.never - self.regrets
        return [bool(column.mean() > 2 * (standard_error(column) if len(column) > 1 else 0.0)) for column in saved.T]

    @property
    def level(self) -> str:
        """Regret in units of that of never learning, at the first value and the last."""
        return self._span(self.never)

    @property
    def share_of_bound(self) -> str:
        """Regret in units of the plan's bound, at the first value and the last; nothing where there is no bound."""
        return self._span(self.bounds)

    def _span(self, unit: Vector) -> str:
        if not self.regrets.size or np.isnan(unit).any():
            return ""
        ratios = self.regrets.mean(axis=0) / unit.mean(axis=0)
        return f"{ratios[0]:.2g} to {ratios[-1]:.2g}" if len(ratios) > 1 else f"{ratios[0]:.2g}"

    def where(self, kept: list[bool]) -> "Series":
        """Return the series at some of its values."""
        return self._cut(lambda table: table[:, kept], values=self.values[kept])

    def among(self, seeds: set[int]) -> "Series":
        """Return the series of some of its seeds."""
        rows = [seed in seeds for seed in self.seeds]
        return self._cut(lambda table: table[rows], seeds=tuple(seed for seed in self.seeds if seed in seeds))

    def _cut(self, cut: Callable[[Vector], Vector], **changed: Any) -> "Series":
        return replace(self, regrets=cut(self.regrets), never=cut(self.never), bounds=cut(self.bounds), **changed)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row of a claim's table.

    Attributes
    ----------
    who, group
        As in `Series`.
    level, share_of_bound
        Regret in units of that of never learning, and of the plan's bound, at the first value and the last.
    measured
        What was measured, in words; empty if nothing could be.
    verdict
        `HOLDS`, `FAILS` or `UNSEEN`.
    why
        In one sentence.

    Examples
    --------
    >>> Evidence("it", "", "0.5 to 0.2", "", "0.60 [0.55, 0.65]", HOLDS, "the power is below 0.75").verdict
    'holds here'
    """

    who: str
    group: str
    level: str
    share_of_bound: str
    measured: str
    verdict: str
    why: str


def series(
    results: Iterable[Result], who: str, axis: str, fits: Callable[[Result], bool], *, group: str = ""
) -> Series:
    """Gather the finished runs that `fits` picks, along an axis; seeds that lack a value are left out."""
    table = seed_table(filter(fits, results), AXES[axis])
    return Series(
        who,
        group,
        axis,
        np.array(table.values),
        table.seeds,
        table.of(lambda result: result.regret),
        table.of(lambda result: result.never_learning),
        table.of(lambda result: result.predicted),
    )


def judge_power(found: Series, allowed: float, *, claimed: float) -> Evidence:
    """Judge a claim that regret grows no faster than a power: by the fit, where something is learned.

    Parameters
    ----------
    found
        What was measured.
    allowed
        The power that the bound has over the measured range, its logarithms included.
    claimed
        The power that the claim names.
    """
    unseen = _unseen(found)
    if unseen is not None:
        return unseen
    kept = found.where(found.learns)
    slope = fit(kept.values, kept.regrets)
    bound = f"{claimed:g}" if abs(allowed - claimed) < 0.005 else f"{claimed:g} ({allowed:.2f} here, with logarithms)"
    verdict, why = _compare(slope, allowed, bound)
    if len(kept.values) < len(found.values):
        why += f", over the {len(kept.values)} of {len(found.values)} values at which it learns"
    return _evidence(found, str(slope), verdict, why)


def judge_match(ours: Series, theirs: Series, *, allowed: float) -> Evidence:
    """Judge a claim that one algorithm matches the order of another: their ratio must not grow with the horizon.

    Parameters
    ----------
    ours, theirs
        Both against the horizon, with the same seeds.
    allowed
        The power of the horizon that logarithms may add to the ratio over the measured range.
    """
    who, (ours, theirs) = f"{ours.who}, against {theirs.who}", _in_common(ours, theirs)
    unseen = _unseen(ours)
    if unseen is not None:
        return replace(unseen, who=who)
    whole, kept = ours, ours.learns
    ours, theirs = ours.where(kept), theirs.where(kept)
    if (theirs.regrets <= 0).any():
        return replace(_evidence(whole, "", UNSEEN, f"the regret of {theirs.who} is not positive"), who=who)
    ratios = ours.regrets / theirs.regrets
    growth = fit(ours.values, ratios)
    low, mean, high = _geometric_mean(ratios[:, -1])
    measured = f"{mean:.2f} [{low:.2f}, {high:.2f}] times"
    begin = f"at {ours.values[-1]:,.0f} events; the ratio grows as T to the power of {growth},"
    verdict, why = _compare(growth, allowed, f"{allowed:.2f}", begin)
    if not theirs.learns[-1]:
        why += f"; {theirs.who}, does not learn there"
    return replace(_evidence(whole, measured, verdict, why), who=who)


def _evidence(found: Series, measured: str, verdict: str, why: str) -> Evidence:
    return Evidence(found.who, found.group, found.level, found.share_of_bound, measured, verdict, why)


def _in_common(ours: Series, theirs: Series) -> tuple[Series, Series]:
    values = set(ours.values.tolist()) & set(theirs.values.tolist())
    seeds = set(ours.seeds) & set(theirs.seeds)
    ours, theirs = (
        one.where([value in values for value in one.values.tolist()]).among(seeds) for one in (ours, theirs)
    )
    return ours, theirs


def _unseen(found: Series) -> Evidence | None:
    """Return the verdict where fewer than two values say anything."""
    if not found.regrets.size:
        return _evidence(found, "", UNSEEN, "no runs were finished")
    learns = found.learns
    if sum(learns) < 2:
        count = "none" if not any(learns) else "one"
        why = f"it learns at {count} of {len(learns)} values: regret is {found.level} times that of never learning"
        return _evidence(found, "", UNSEEN, why)
    if (found.where(learns).regrets <= 0).any():
        return _evidence(found, "", UNSEEN, "regret is not positive in some runs, so it has no logarithm")
    return None


def _compare(slope: Fit, allowed: float, bound: str, begin: str = "the power is") -> tuple[str, str]:
    """A bound is broken if the whole interval lies above it; a slope without an interval stands for itself."""
    low, high = (slope.slope, slope.slope) if math.isnan(slope.low) else (slope.low, slope.high)
    if low > allowed:
        return FAILS, f"{begin} above {bound}"
    if high < allowed:
        return HOLDS, f"{begin} below {bound}"
    return HOLDS, f"{begin} not to be told apart from {bound}"


def _geometric_mean(ratios: Vector) -> tuple[float, float, float]:
    logs = np.log(ratios)
    error = standard_error(logs)
    reach = float(stdtrit(len(logs) - 1, 0.975)) * error if len(logs) > 1 else math.nan
    middle = float(logs.mean())
    return math.exp(middle - reach), math.exp(middle), math.exp(middle + reach)
