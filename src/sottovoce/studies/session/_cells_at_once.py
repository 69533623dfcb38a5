"""Losses of many calls, each cell in one statement that commits: what arrives together costs one trip to the server.

Where a cell begins and ends is remembered. That may be out of date, since what a process had in hand is given back: the
statement itself sees to it that all its slots are in the cell, and wait for their loss.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.studies.database.cells import CellTable

__all__ = ["Group", "KnownCells", "Waiting", "in_groups"]

_MOST = 64  # losses of one statement
_ROUNDS = 8  # whose cells are remembered


class Waiting(NamedTuple):
    """A loss on its grid, and where it belongs."""

    generation: int
    round: int
    slot: int
    integer: int

    def __repr__(self) -> str:
        return f"Waiting(round={self.round}, slot={self.slot})"  # losses are never in print


class Group(NamedTuple):
    """Losses of one cell, each with the number of its call."""

    generation: int
    round: int
    first: int
    slots: Integers
    integers: Integers
    calls: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Group(round={self.round}, first={self.first}, {len(self.slots)} losses)"  # never which


class KnownCells:
    """Where the cells of rounds begin, and how many events they have, as far as this process knows."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def first_of(self, one: Waiting, cells: CellTable) -> int | None:
        """Return where the cell of a loss begins; None if it has none. Looks it up at most once."""
        key = one.generation, one.round
        for attempt in (True, False):
            extents = self._rounds.get(key, [])
            place = bisect_right(extents, one.slot, key=lambda extent: extent[0]) - 1
            if place >= 0 and one.slot < sum(extents[place]):
                return extents[place][0]
            if attempt:
                self._rounds.pop(key, None)
                while len(self._rounds) >= _ROUNDS:
                    del self._rounds[next(iter(self._rounds))]
                self._rounds[key] = cells.extents(*key)
        return None

    def forget(self, group: Group) -> None:
        """Look up the cells of a round anew when they are next wanted."""
        self._rounds.pop((group.generation, group.round), None)


def in_groups(waiting: Iterable[tuple[int, Waiting]], known: KnownCells, cells: CellTable) -> list[Group]:
    """Return losses by their cells, each slot once; those that belong to no cell are left out."""
    by_cell: dict[tuple[int, int, int], dict[int, tuple[int, int]]] = {}
    for call, one in waiting:
        first = known.first_of(one, cells)
        if first is not None:
            by_cell.setdefault((one.generation, one.round, first), {}).setdefault(one.slot, (one.integer, call))
    groups = []
    for (generation, number, first), found in by_cell.items():
        slots = sorted(found)
        for start in range(0, len(slots), _MOST):
            part = slots[start : start + _MOST]
            integers, calls = zip(*(found[slot] for slot in part), strict=True)
            mine: Integers = np.array(part, dtype=np.int64)
            groups.append(Group(generation, number, first, mine, np.array(integers, dtype=np.int64), calls))
    return groups
