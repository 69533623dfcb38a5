"""Closing stored evaluations: at most one noisy number of each is ever committed, and nothing uncommitted is used.

Whoever closes an evaluation holds the lock of all of them while it reads the losses, draws the noise, and commits the
number with its noise, by compare-and-set: the evaluation must still be open. In the same transaction the losses are
deleted. A process that dies in between leaves nothing behind: what it drew was neither stored nor shown, and the next
one draws afresh. No lock against those who tell is needed: an evaluation all of whose places have their losses takes no
more. (As studies do it: studies/calls/closing.py.)
"""

from collections.abc import Callable

import numpy as np
from sqlalchemy import Connection

from sottovoce._arrays import Integers
from sottovoce.errors import StudyDamaged
from sottovoce.evaluations.stored._state import EvaluationsState, OpenEvaluation
from sottovoce.studies.database.cells import Cell, CellTable, all_entries
from sottovoce.studies.database.tables import DROPPED, RELEASED
from sottovoce.studies.session.restoration import next_generation

__all__ = ["abandon", "begin_new_life", "forget_waiting", "release"]


def forget_waiting(cells: CellTable, live: OpenEvaluation) -> None:
    """Count all losses as missing that an evaluation still waits for."""
    for cell in cells.of_round(live.number):
        if cell.left:
            cell.fill(cell.pending(), None)
            cells.write(cell)


def release(
    state: EvaluationsState,
    connection: Connection,
    cells: CellTable,
    number: int,
    noised: Callable[[int], int],
) -> bool:
    """Release an evaluation, if it is open and complete; return whether it was."""
    live = state.rounds.get(number)
    if live is None or not live.whole or not cells.is_complete(number):
        return False
    found = cells.of_round(number)
    summed = [_summed(live, cell) for cell in found]
    missing = np.concatenate([np.empty(0, dtype=np.int64), *(gone for _, gone in summed)])
    told, events = sum(cell.told for cell in found), sum(cell.size for cell in found)
    if not events or events != told + len(missing) or events != (live.size if live.counted is None else live.counted):
        raise StudyDamaged(f"places of evaluation {number} are gone: restore a backup")
    total = noised(sum(total for total, _ in summed))
    state.counters.told += told
    state.counters.forgotten += len(missing)
    outcome = {"state": RELEASED, "events": events, "total": total, "missing": missing}
    state.close(connection, cells, live, outcome)
    return True


def _summed(live: OpenEvaluation, cell: Cell) -> tuple[int, Integers]:
    """Return the sum of a cell, private and un-noised, and the slots without a loss; refuse what does not fit."""
    slots, integers, given_up = all_entries(live.number, cell.losses)
    inside = not len(slots) or (cell.first <= int(slots.min()) and int(slots.max()) < cell.end)
    if not inside or len(np.unique(slots)) < len(slots) or cell.left or cell.given_back or cell.wanted != cell.size:
        raise StudyDamaged(f"evaluation {live.number} was told a loss twice, or in a wrong place: restore a backup")
    if len(slots) != cell.size or int(given_up.sum()) != cell.missing:
        raise StudyDamaged(f"losses of evaluation {live.number} are gone: restore a backup")
    total = int(np.where(given_up, live.grid.middle, integers).sum())
    integers[:] = 0  # private values are not left lying about
    return total, slots[given_up]


def abandon(state: EvaluationsState, connection: Connection, cells: CellTable, live: OpenEvaluation) -> None:
    """Drop an evaluation with its losses: nothing of it is ever released."""
    told, forgotten, *_ = cells.counts_of(live.number)
    state.counters.told += told
    state.counters.forgotten += forgotten
    state.close(connection, cells, live, {"state": DROPPED, "told": told, "forgotten": forgotten})


def begin_new_life(state: EvaluationsState, connection: Connection, cells: CellTable, newest: int = 0) -> None:
    """Drop what is not released, and raise the generation above all that were met, `newest` among them."""
    if state.right is not None:
        state.right.present_within(connection, state.counters.id)
    counters = state.counters
    counters.generation = next_generation(counters, newest)
    for live in list(state.rounds.values()):
        abandon(state, connection, cells, live)
    cells.delete()
    state.start_over()
    state.catch_up(connection, cells)  # other calls of this transaction must not meet what was dropped
