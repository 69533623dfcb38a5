"""Results along one quantity, a row for each seed, and how fast they grow.

Every seed gives a slope of its own on logarithmic scales, by least squares over its points. Seeds are independent,
whatever the points of one seed have in common, so the mean of these slopes has a Student interval.
"""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sottovoce._arrays import Floats, Vector
from sottovoce.lab.summary import gather, standard_error
from sottovoce.lab.sweeps.cell import Result

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class SeedTable:
    """Results along one quantity: a row for each seed that was finished at every value, a column for each value.

    Examples
    --------
    >>> from sottovoce.lab import Cell
    >>> results = [Result(Cell("ball", "default", 1.0, horizon, 0), "done", regret=3.0) for horizon in (20, 10)]
    >>> found = seed_table(results, lambda result: float(result.cell.horizon))
    >>> found.values, found.seeds, found.regrets
    ((10.0, 20.0), (0,), array([[3., 3.]]))
    """

    values: tuple[float, ...]
    seeds: tuple[int, ...]
    rows: tuple[tuple[Result, ...], ...]

    def of(self, figure: Callable[[Result], float]) -> Floats:
        """Return one figure of all results, as an array."""
        every = [figure(result) for row in self.rows for result in row]
        return np.array(every, dtype=np.float64).reshape(len(self.seeds), len(self.values))

    @property
    def regrets(self) -> Floats:
        """The cumulative regret of each."""
        return self.of(lambda result: result.regret)

    @property
    def never(self) -> Floats:
        """That of never learning."""
        return self.of(lambda result: result.never_learning)

    def only(self, values: Collection[float], seeds: Collection[int] | None = None) -> "SeedTable":
        """Return the table at some of its values, of some of its seeds."""
        kept = [(seed, row) for seed, row in zip(self.seeds, self.rows, strict=True) if seeds is None or seed in seeds]
        rows = tuple(
            tuple(one for value, one in zip(self.values, row, strict=True) if value in values) for _, row in kept
        )
        return SeedTable(tuple(one for one in self.values if one in values), tuple(seed for seed, _ in kept), rows)


def seed_table(results: Iterable[Result], value: Callable[[Result], float]) -> SeedTable:
    """Return the table of finished results along a quantity, ascending."""
    columns = gather((result for result in results if result.status == "done"), value)
    by_seed = {place: {result.cell.seed: result for result in column} for place, column in columns.items()}
    values = sorted(by_seed)
    seeds = sorted(set.intersection(*(set(by_seed[place]) for place in values))) if values else []
    return SeedTable(
        tuple(values), tuple(seeds), tuple(tuple(by_seed[place][seed] for place in values) for seed in seeds)
    )


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


def fit(values: Vector, regrets: Vector) -> Fit:
    """Fit log regret against log value, one row of `regrets` per seed and one column per value.

    Examples
    --------
    >>> str(fit(np.array([1.0, 10.0]), np.array([[1.0, 10.0], [1.0, 12.0], [1.0, 8.0]])))
    '0.99 [0.78, 1.21]'
    """
    x = np.log(values) - np.log(values).mean()
    return mean_fit(np.log(regrets) @ x / (x @ x))


def mean_fit(each: Vector) -> Fit:
    """Return the mean of what each seed gave, with its Student interval."""
    slope, error = float(each.mean()), standard_error(each)
    reach = float(stdtrit(len(each) - 1, (1 + _CONFIDENCE) / 2)) * error if len(each) > 1 else math.nan
    return Fit(slope, error, slope - reach, slope + reach)
