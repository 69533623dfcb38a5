"""Lives: a storage that was put back begins a new one. What is not released is dropped, and older ids are refused."""

import secrets

import numpy as np
from sqlalchemy import Connection, delete

from sottovoce._records import pack
from sottovoce.exploration import Record
from sottovoce.studies.database import tables
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.database.rows import epoch_row, round_row
from sottovoce.studies.database.tables import blocks, epochs, rounds
from sottovoce.studies.session.counters import Counters
from sottovoce.studies.session.following import catch_up
from sottovoce.studies.session.state import StudyState

__all__ = ["begin_new_life", "next_generation"]

_STEP = 2**24  # generations are raised by up to this much, so that two lives of one backup differ


def begin_new_life(
    state: StudyState, connection: Connection, cells: CellTable, newest: int = 0, generation: int | None = None
) -> None:
    """Drop what is not released, and raise the generation above all that were met, `newest` among them; or to one."""
    if state.right is not None:
        state.right.present_within(connection, state.counters.id)
    counters = state.counters
    counters.generation = next_generation(counters, newest) if generation is None else generation
    _drop_open_rounds(state, connection, cells)
    counters.structure += 1
    state.start_over()
    catch_up(state, connection)  # other calls of this transaction must not meet what was dropped


def next_generation(counters: Counters, newest: int) -> int:
    """Return a generation above all that were met."""
    return max(counters.generation, newest) + 1 + secrets.randbelow(_STEP)


def _drop_open_rounds(state: StudyState, connection: Connection, cells: CellTable) -> None:
    """Drop all that is not released: the losses of open rounds, and the actions that were not asked."""
    counters, counts = state.counters, {number: (told, missing) for number, told, missing, *_ in cells.counts()}
    for live in list(state.rounds.values()):
        asked = min(live.open.size, counters.asked - live.first)
        if asked <= 0:
            connection.execute(round_row(delete(rounds), counters.id, live.number))
            continue
        public = {**state.public_record(live), "size": asked, "opened": asked}
        public.pop("exploration.waiting", None)
        changes: Record = {"public": pack(public)}
        if live.number >= counters.closed:
            told, forgotten = counts.get(live.number, (0, 0))
            dropped = pack({"number": live.number, "dropped": True, "told": told, "forgotten": forgotten})
            state.chains[live.epoch] = state.chains[live.epoch].add(live.number, dropped)
            changes |= {"state": tables.DROPPED, "released": dropped, "whole": 1}
            counters.told, counters.forgotten = counters.told + told, counters.forgotten + forgotten
        connection.execute(round_row(rounds.update(), counters.id, live.number).values(**changes))
    begun = [live.number + 1 for live in state.rounds.values() if live.first < counters.asked]
    counters.closed = max([counters.closed, *begun])
    counters.returned = 0
    cells.delete()
    connection.execute(delete(blocks).where(blocks.c.study == counters.id))
    _abandon(state, connection)


def _abandon(state: StudyState, connection: Connection) -> None:
    starts = np.cumsum([0, *state.lengths])
    for number, epoch in state.epochs.items():
        epoch.abandon(int(min(max(0, state.counters.asked - starts[number]), state.lengths[number])))
        passed, opened = epoch.counts
        connection.execute(
            epoch_row(epochs.update(), state.counters.id, number).values(
                learned=state.learned_record(number), passed=passed, opened=opened
            )
        )
