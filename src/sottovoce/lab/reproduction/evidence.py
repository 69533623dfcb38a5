"""What runs say about a claim: a row of numbers, and a verdict that follows from them."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from sottovoce._arrays import Vector
from sottovoce.lab.grouping import seed_table
from sottovoce.lab.slopes import Fit, fit
from sottovoce.lab.summary import standard_error
from sottovoce.lab.sweeps.cell import Result

HOLDS = "holds here"
"""The verdict on a claim that what was measured agrees with."""

FAILS = "does not hold here"
"""The verdict on a claim that what was measured contradicts."""

UNSEEN = "cannot be seen here"
"""The verdict where nothing is learned: regret is then about as large as it can be."""

BestBySeed = Mapping[int, Mapping[int, float]]
"""By horizon and seed: a regret per event."""

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

    def level_at(self, place: int) -> str:
        """Regret in units of that of never learning, at one value."""
        return f"{self.regrets[:, place].mean() / self.never[:, place].mean():.2g}"

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
    results: Iterable[Result],
    who: str,
    axis: str,
    fits: Callable[[Result], bool],
    *,
    group: str = "",
    every: bool = False,
) -> Series:
    """Gather the finished runs that `fits` picks, along an axis; seeds that lack a value are left out.

    Values with no more than half as many seeds as others have are left out themselves, unless `every` value is wanted.
    """
    picked = [result for result in results if fits(result) and result.status == "done"]
    if not every:
        counts = Counter(AXES[axis](result) for result in picked)
        picked = [result for result in picked if 2 * counts[AXES[axis](result)] > max(counts.values())]
    table = seed_table(picked, AXES[axis])
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


def judge_power(found: Series, allowed: float, *, claimed: float, far: Series | None = None) -> Evidence:
    """Judge a claim that regret grows no faster than a power: by the fit, where something is learned.

    Parameters
    ----------
    found
        What was measured.
    allowed
        The power that the bound has over the measured range, its logarithms included.
    claimed
        The power that the claim names.
    far
        The same with values beyond, which have too few seeds for an interval: they are reported, not judged.
    """
    if far is not None and not (found.values.size and far.regrets.size and far.values[-1] > found.values[-1]):
        far = None
    level = found.level if far is None else f"{found.level}; {far.level_at(-1)} at {far.values[-1]:,.0f}"
    unseen = _unseen(found)
    if unseen is not None:
        return replace(unseen, level=level)
    kept = found.where(found.learns)
    slope = fit(kept.values, kept.regrets)
    bound = f"{claimed:g}" if abs(allowed - claimed) < 0.005 else f"{claimed:g} ({allowed:.2f} here, with logarithms)"
    verdict, why = _compare(slope, allowed, bound)
    if len(kept.values) < len(found.values):
        why += f", over the {len(kept.values)} of {len(found.values)} values at which it learns"
    return replace(_evidence(found, power_in_words(slope), verdict, why + _beyond(far)), level=level)


def power_in_words(slope: Fit) -> str:
    """Return a fitted power with its standard error and its interval, as far as there are any.

    Examples
    --------
    >>> power_in_words(Fit(0.75, 0.01, 0.72, 0.78)), power_in_words(Fit(0.75, math.nan, math.nan, math.nan))
    ('0.750 ± 0.010 [0.72, 0.78]', '0.750')
    """
    spread = "" if math.isnan(slope.error) else f" ± {slope.error:.3f} [{slope.low:.2f}, {slope.high:.2f}]"
    return f"{slope.slope:.3f}{spread}"


def _beyond(far: Series | None) -> str:
    """Say what the fit is with values that have few seeds; its standard error rests on these."""
    if far is None:
        return ""
    kept = far.where(far.learns)
    if len(kept.values) < 2 or kept.values[-1] < far.values[-1] or (kept.regrets <= 0).any():
        return ""
    slope = fit(kept.values, kept.regrets)
    spread = "" if math.isnan(slope.error) else f" ± {slope.error:.3f}"
    return f"; to {far.values[-1]:,.0f}, on {len(far.seeds)} seeds, {slope.slope:.3f}{spread}"


def judge_match(ours: Series, theirs: Series, *, allowed: float, best: BestBySeed | None = None) -> Evidence:
    """Judge a claim that one algorithm matches the order of another: their ratio must not grow with the horizon.

    Parameters
    ----------
    ours, theirs
        Both against the horizon, with the same seeds.
    allowed
        The power of the horizon that logarithms may add to the ratio over the measured range.
    best
        By horizon and seed, the other's regret per event with its best constant in hindsight.
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
    begin = f"at {ours.values[-1]:,.0f} events; the ratio grows as T to the power of {power_in_words(growth)},"
    verdict, why = _compare(growth, allowed, f"{allowed:.2f}", begin)
    if not theirs.learns[-1]:
        why += f"; {theirs.who}, does not learn there"
    why += _in_hindsight(ours, best or {})
    return replace(_evidence(whole, measured, verdict, why), who=who)


def _in_hindsight(ours: Series, best: BestBySeed) -> str:
    """Compare with the other's best constant, at the longest horizon where that was looked up, on the seeds of both."""
    known = [(place, int(value)) for place, value in enumerate(ours.values.tolist()) if int(value) in best]
    if not known:
        return ""
    place, horizon = known[-1]
    rows = [row for row, seed in enumerate(ours.seeds) if seed in best[horizon]]
    if not rows:
        return ""
    others = sum(best[horizon][ours.seeds[row]] for row in rows)
    ratio = float(ours.regrets[rows, place].sum()) / horizon / others
    return f"; {ratio:.2f} times its best constant in hindsight, at {horizon:,} events"


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
        why = f"it learns at {count} of {len(learns)} values"
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
