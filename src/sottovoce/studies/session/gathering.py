"""Gathering a round: its losses are read from their cells, and added up, for its release and for nothing else."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from sottovoce._arrays import Integers
from sottovoce.errors import StudyDamaged
from sottovoce.learning.bandit.open_losses import FORGOTTEN, TOLD, UNWANTED
from sottovoce.learning.bandit.rounds import OpenRound
from sottovoce.studies.database.cells import Cell, all_entries
from sottovoce.studies.database.rows import read, weights_from_record
from sottovoce.studies.database.tables import blocks
from sottovoce.studies.session.open_round import StudyRound

__all__ = ["Gathered", "gather"]


@dataclass(frozen=True, eq=False)
class Gathered:
    """A complete round with its sums, which are private; and which losses it had, which is not.

    Attributes
    ----------
    sums
        The round, with all of its losses added up: to be drawn for, once, and erased.
    told, missing, wanted
        How many losses there are; the slots without; the slots whose loss was wanted, None for all of them.
    """

    sums: OpenRound
    told: int
    missing: Integers
    wanted: Integers | None


def gather(connection: Connection, study: int, live: StudyRound, cells: list[Cell]) -> Gathered:
    """Add up the losses of a complete round; refuse cells that do not fit together."""
    values: Integers = np.zeros(live.open.size, dtype=np.int64)
    try:
        states = _states(live, cells, values)
        sums = _summed(connection, study, live, values, states)
    finally:
        values[:] = 0  # private values are not left lying about
    wanted = np.flatnonzero(states != UNWANTED)
    told = int((states == TOLD).sum())
    return Gathered(sums, told, np.flatnonzero(states == FORGOTTEN), None if len(wanted) == len(states) else wanted)


def _states(live: StudyRound, cells: list[Cell], values: Integers) -> NDArray[np.uint8]:
    """Put losses in their places; return what became of each event."""
    states: NDArray[np.uint8] = np.full(len(values), UNWANTED, dtype=np.uint8)
    at, middle = 0, live.open.epoch.grid.middle
    for cell in cells:
        if cell.first != at or cell.end > len(values) or cell.left:
            raise StudyDamaged(f"the stretches of round {live.number} do not fit together: restore a backup")
        at = cell.end
        slots, integers, given_up = all_entries(live.number, cell.losses)
        inside = not len(slots) or (cell.first <= int(slots.min()) and int(slots.max()) < cell.end)
        if not inside or len(np.unique(slots)) < len(slots):
            raise StudyDamaged(f"round {live.number} was told a loss twice, or in a wrong place: restore a backup")
        values[slots] = np.where(given_up, middle, integers)
        states[slots] = np.where(given_up, FORGOTTEN, TOLD)
        integers[:] = 0
        found = states[cell.first : cell.end]
        if int((found == TOLD).sum()) != cell.told or int((found == FORGOTTEN).sum()) != cell.missing:
            raise StudyDamaged(f"losses of round {live.number} are gone from their stretch: restore a backup")
    return states


def _summed(
    connection: Connection, study: int, live: StudyRound, values: Integers, states: NDArray[np.uint8]
) -> OpenRound:
    opened = live.open
    sums = OpenRound(opened.epoch, opened.point, opened.exploration, opened.size, opened.last)
    mine = blocks.c.study == study, blocks.c.round == live.number
    for row in connection.execute(select(blocks).where(*mine).order_by(blocks.c.first)):
        record = read(f"actions of round {live.number}", row.draw)
        weights = weights_from_record(record)
        start = row.first - live.first
        size = len(record["rows"] if "rows" in record else record["index"])
        wants = record.get("wants", np.ones(size, dtype=bool))
        if not np.array_equal(wants, states[start : start + size] != UNWANTED):
            raise StudyDamaged(f"round {live.number} lacks losses that it wants: restore a backup")
        sums.absorb(row.first, values[start : start + size], weights)
    if sums.outstanding:
        raise StudyDamaged(f"actions of round {live.number} are gone: restore a backup")
    return sums
