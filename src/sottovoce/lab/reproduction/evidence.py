"""What runs say about a claim: a row of numbers, and a verdict that follows from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.lab.reproduction.tables import Fit, SeedTable, fit, mean_fit, seed_table
from sottovoce.lab.summary import gather, standard_error
from sottovoce.lab.sweeps.cell import Result

HOLDS = "holds here"
"""The verdict on a claim that what was measured agrees with."""

FAILS = "does not hold here"
"""The verdict on a claim that what was measured contradicts."""

UNSEEN = "cannot be seen here"
"""The verdict where nothing is learned: regret is then about as large as it can be."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row of a claim's table.

    Attributes
    ----------
    who
        The algorithm, in words.
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
    >>> Evidence("it", "0.5 to 0.2", "", "0.60 [0.55, 0.65]", HOLDS, "the power is below 0.75").verdict
    'holds here'
    """

    who: str
    level: str
    share_of_bound: str
    measured: str
    verdict: str
    why: str


def judge_power(who: str, table: SeedTable, allowed: float, *, claimed: float) -> Evidence:
    """Judge a claim that regret grows no faster than a power: by the fit, where something is learned.

    Parameters
    ----------
    who
        The algorithm, in words.
    table
        What was measured.
    allowed
        The power that the bound has over the measured range, its logarithms included.
    claimed
        The power that the claim names.
    """
    reason = _unseen(table)
    if reason:
        return _evidence(who, table, "", UNSEEN, reason)
    learned = _where_it_learns(table)
    slope = fit(np.array(learned.values), learned.regrets)
    bound = f"{claimed:g}" if abs(allowed - claimed) < 0.005 else f"{claimed:g} ({allowed:.2f} here, with logarithms)"
    verdict, why = _compare(slope, allowed, bound)
    if len(learned.values) < len(table.values):
        why += f", over the {len(learned.values)} of {len(table.values)} values at which it learns"
    return _evidence(who, table, power_in_words(slope), verdict, why)


def judge_match(who: str, ours: SeedTable, whose: str, theirs: SeedTable, *, allowed: float) -> Evidence:
    """Judge a claim that one algorithm matches the order of another: their ratio must not grow with the horizon.

    Parameters
    ----------
    who, ours, whose, theirs
        Both, in words, and what was measured of them against the horizon.
    allowed
        The power of the horizon that logarithms may add to the ratio over the measured range.
    """
    both = f"{who}, against {whose}"
    ours = ours.only(theirs.values, theirs.seeds)
    reason = _unseen(ours)
    learned = ours if reason else _where_it_learns(ours)
    theirs = theirs.only(learned.values, learned.seeds)
    if not reason and (theirs.regrets <= 0).any():
        reason = f"the regret of {whose} is not positive"
    if reason:
        return _evidence(both, ours, "", UNSEEN, reason)
    ratios = learned.regrets / theirs.regrets
    growth, last = fit(np.array(learned.values), ratios), mean_fit(np.log(ratios[:, -1]))
    low, mean, high = (math.exp(one) for one in (last.low, last.slope, last.high))
    begin = f"at {learned.values[-1]:,.0f} events; the ratio grows as T to the power of {power_in_words(growth)},"
    verdict, why = _compare(growth, allowed, f"{allowed:.2f}", begin)
    if not learning(theirs)[-1]:
        why += f"; {whose}, does not learn there"
    return _evidence(both, ours, f"{mean:.2f} [{low:.2f}, {high:.2f}] times", verdict, why)


def judge_calls(who: str, results: Sequence[Result]) -> Evidence:
    """Judge the claim that each oracle call can be charged to one event: in no run are there more calls than events.

    Parameters
    ----------
    who
        The algorithm, in words.
    results
        Of one algorithm on one problem, at several horizons.

    Examples
    --------
    >>> from sottovoce.lab import Cell
    >>> results = [Result(Cell("ball", "it", 1.0, T, 0), "done", oracle_calls=T // 10) for T in (1_000, 10_000)]
    >>> row = judge_calls("it", results)
    >>> row.measured, row.verdict
    ('0.1 to 0.1 calls an event', 'holds here')
    """
    done = [result for result in results if result.status == "done"]
    if not done:
        return Evidence(who, "", "", "", UNSEEN, "no runs were finished")
    each = {
        horizon: [one.oracle_calls / horizon for one in runs]
        for horizon, runs in sorted(gather(done, lambda one: one.cell.horizon).items())
    }
    worst = max(each, key=lambda horizon: max(each[horizon]))
    most = max(each[worst])
    measured = f"{_ends([float(np.mean(one)) for one in each.values()])} calls an event"
    why = f"at most {most:.2g} calls an event in any run, of {worst:,} events"
    table = seed_table(done, lambda result: float(result.cell.horizon))
    calls = table.of(lambda result: float(result.oracle_calls))
    if len(each) > 1 and calls.size and (calls > 0).all():
        why += f"; they grow as T to the power of {power_in_words(fit(np.array(table.values), calls))}"
    elif not most:
        why = "the point of this set has a formula, and the oracle is not asked"
    return Evidence(who, "", "", measured, HOLDS if most <= 1 else FAILS, why)


def power_in_words(slope: Fit) -> str:
    """Return a fitted power with its standard error and its interval, as far as there are any.

    Examples
    --------
    >>> power_in_words(Fit(0.75, 0.01, 0.72, 0.78)), power_in_words(Fit(0.75, math.nan, math.nan, math.nan))
    ('0.750 ± 0.010 [0.72, 0.78]', '0.750')
    """
    spread = "" if math.isnan(slope.error) else f" ± {slope.error:.3f} [{slope.low:.2f}, {slope.high:.2f}]"
    return f"{slope.slope:.3f}{spread}"


def learning(table: SeedTable) -> list[bool]:
    """Say whether, at each value, regret is below that of never learning by two standard errors or more."""
    saved = table.never - table.regrets
    return [bool(column.mean() > 2 * (standard_error(column) if len(column) > 1 else 0.0)) for column in saved.T]


def _where_it_learns(table: SeedTable) -> SeedTable:
    return table.only([value for value, learns in zip(table.values, learning(table), strict=True) if learns])


def _evidence(who: str, table: SeedTable, measured: str, verdict: str, why: str) -> Evidence:
    level, share = _level(table, table.never), _level(table, table.of(lambda result: result.predicted))
    return Evidence(who, level, share, measured, verdict, why)


def _level(table: SeedTable, unit: Vector) -> str:
    """Regret in some unit, at the first value and the last; nothing where there is no unit."""
    if not unit.size or np.isnan(unit).any():
        return ""
    return _ends((table.regrets.mean(axis=0) / unit.mean(axis=0)).tolist())


def _ends(values: Sequence[float]) -> str:
    return f"{values[0]:.2g} to {values[-1]:.2g}" if len(values) > 1 else f"{values[0]:.2g}"


def _unseen(table: SeedTable) -> str:
    """Return why a claim cannot be seen, where fewer than two values say anything."""
    if not table.seeds:
        return "no runs were finished"
    learns = learning(table)
    if sum(learns) < 2:
        return f"it learns at {'one' if any(learns) else 'none'} of {len(learns)} values"
    negative = (_where_it_learns(table).regrets <= 0).any()
    return "regret is not positive in some runs, so it has no logarithm" if negative else ""


def _compare(slope: Fit, allowed: float, bound: str, begin: str = "the power is") -> tuple[str, str]:
    """A bound is broken if the whole interval lies above it; a slope without an interval stands for itself."""
    low, high = (slope.slope, slope.slope) if math.isnan(slope.low) else (slope.low, slope.high)
    if low > allowed:
        return FAILS, f"{begin} above {bound}"
    return HOLDS, f"{begin} below {bound}" if high < allowed else f"{begin} not to be told apart from {bound}"
