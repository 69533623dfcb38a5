"""How regret grows: slopes on logarithmic scales, with intervals that rest on the seeds alone.

Every seed gives a slope of its own, by least squares over its points. Seeds are independent, whatever the points of one
seed have in common, so the mean of these slopes has a Student interval.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sottovoce._arrays import Vector
from sottovoce._checks import number
from sottovoce._written import read
from sottovoce.lab.grouping import SeedTable, gather, seed_table
from sottovoce.lab.summary import standard_error
from sottovoce.lab.sweeps.cell import Cell, Result


@dataclass(frozen=True, slots=True)
class Fit:
    """A slope, its standard error, and its confidence interval (NaN for fewer than two seeds).

    Examples
    --------
    >>> print(Fit(0.75, 0.01, 0.72, 0.78))
    0.75 [0.72, 0.78]
    """

    slope: float
    error: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.slope:.2f}" + ("" if math.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]")


@dataclass(frozen=True, slots=True)
class Slope:
    """How the regret of an algorithm on a problem grows with one quantity, everything else fixed.

    Attributes
    ----------
    against
        "horizon", "dimension" or "1/epsilon": regret grows as this to the power of the slope.
    problem, algorithm, epsilon, horizon
        What is fixed; None for what varies, and the bare name of the problem where its size varies.
    values
        The quantity, ascending.
    seeds
        How many there are of each.
    fit
        The slope; None if none can be fitted.
    reason
        Why not.

    Examples
    --------
    >>> results = [
    ...     Result(Cell("ball", "default", 1.0, horizon, seed), "done", regret=(1 + 0.1 * seed) * horizon**0.75)
    ...     for horizon in (100, 1_000, 10_000) for seed in range(3)
    ... ]
    >>> (slope,) = slopes(results)
    >>> slope.against, str(slope.fit)
    ('horizon', '0.75 [0.75, 0.75]')
    """

    against: str
    problem: str
    algorithm: str
    epsilon: float | None
    horizon: int | None
    values: tuple[float, ...]
    seeds: int
    fit: Fit | None
    reason: str = ""


def fit(values: Vector, regrets: Vector, *, confidence: float = 0.95) -> Fit:
    """Fit log regret against log value, one row of `regrets` per seed and one column per value.

    Examples
    --------
    >>> str(fit(np.array([1.0, 10.0]), np.array([[1.0, 10.0], [1.0, 12.0], [1.0, 8.0]])))
    '0.99 [0.78, 1.21]'
    """
    x = np.log(values) - np.log(values).mean()
    return mean_fit(np.log(regrets) @ x / (x @ x), confidence)


def mean_fit(each: Vector, confidence: float = 0.95) -> Fit:
    """Return the mean of what each seed gave, with its Student interval."""
    number("confidence", confidence, above=0.0, at_most=1.0)
    slope, error = float(each.mean()), standard_error(each)
    reach = float(stdtrit(len(each) - 1, (1 + confidence) / 2)) * error if len(each) > 1 else math.nan
    return Fit(slope, error, slope - reach, slope + reach)


def slopes(results: Iterable[Result], *, confidence: float = 0.95) -> tuple[Slope, ...]:
    """Return every slope that the grid of `results` allows: two values or more, everything else equal."""
    done = [result for result in results if result.status == "done"]
    return (
        *_grouped(done, "horizon", _without_horizon, lambda result: float(result.cell.horizon), confidence),
        *_grouped(done, "dimension", _without_size(done), lambda result: float(result.dimension), confidence),
        *_grouped(done, "1/epsilon", _without_epsilon, lambda result: 1 / result.cell.epsilon, confidence),
    )


_Fixed = tuple[str, str, float | None, int | None]


def _without_horizon(cell: Cell) -> _Fixed:
    return cell.problem, cell.algorithm, cell.epsilon, None


def _without_epsilon(cell: Cell) -> _Fixed | None:
    return None if math.isinf(cell.epsilon) else (cell.problem, cell.algorithm, None, cell.horizon)


def _without_size(results: list[Result]) -> Callable[[Cell], _Fixed | None]:
    """Group problems of one name whose settings differ in a single one: that is their size."""
    sized = set()
    for name in {read(result.cell.problem).name for result in results}:
        texts = {result.cell.problem for result in results if read(result.cell.problem).name == name}
        settings = [dict(read(text).settings) for text in texts]
        keys = {key for one in settings for key in one}
        if sum(len({repr(one.get(key)) for one in settings}) > 1 for key in keys) == 1:
            sized |= texts
    return lambda cell: (
        (read(cell.problem).name, cell.algorithm, cell.epsilon, cell.horizon) if cell.problem in sized else None
    )


def _grouped(
    results: list[Result],
    against: str,
    fixed: Callable[[Cell], _Fixed | None],
    value: Callable[[Result], float],
    confidence: float,
) -> Iterator[Slope]:
    for key, members in gather(results, lambda result: fixed(result.cell)).items():
        table = seed_table(members, value)
        if len(table.values) > 1:
            yield _slope(against, key, table, confidence)


def _slope(against: str, fixed: _Fixed, table: SeedTable, confidence: float) -> Slope:
    regrets = table.regrets
    found, reason = None, ""
    if not table.seeds:
        reason = "no seed was finished at every value"
    elif (regrets <= 0).any():
        reason = f"regret is not positive in {int((regrets <= 0).sum())} of {regrets.size} runs"
    else:
        found = fit(np.array(table.values), regrets, confidence=confidence)
    return Slope(against, *fixed, table.values, len(table.seeds), found, reason)
