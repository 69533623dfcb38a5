"""Results put together: by what they share, and in tables with a row for each seed."""

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.sweeps.cell import Result

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def gather(items: Iterable[Item], key: Callable[[Item], Key | None]) -> dict[Key, list[Item]]:
    """Return the items by their key, in the order in which they come; what has no key (None) is left out.

    Examples
    --------
    >>> gather([3, 4, 5], lambda number: "odd" if number % 2 else "even")
    {'odd': [3, 5], 'even': [4]}
    """
    groups: dict[Key, list[Item]] = {}
    for item in items:
        found = key(item)
        if found is not None:
            groups.setdefault(found, []).append(item)
    return groups


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
