"""What is outstanding: ids that were handed out and wait for their loss, as any process can list them.

Actions that another process has in hand are among them: nobody else knows which of its own it has handed out.
"""

import numpy as np
from sqlalchemy import Connection

from sottovoce._arrays import Integers
from sottovoce.learning.bandit.outstanding import Outstanding, WaitingRound
from sottovoce.studies.calls.ids import sign
from sottovoce.studies.database.cells import Cell
from sottovoce.studies.session.open_round import StudyRound
from sottovoce.studies.session.session import Session

__all__ = ["outstanding"]


def outstanding(session: Session, key: bytes, limit: int | None, lane: int | None = None) -> Outstanding:
    """Return the actions that wait for their loss, the oldest first, `limit` at most; and all rounds that wait."""

    def look(connection: Connection) -> tuple[list[Cell], list[tuple[int, ...]]]:
        cells = session.cells(connection)
        # A cell that waits has one action at least that waits; this process may have all of some in hand.
        most = None if limit is None else limit + len(list(session.hand.unused()))
        return cells.waiting(most), [*cells.counts()]

    with session.at_rest():
        found, counts = session.submit(look)
        state, hand = session.state, session.hand
        generation, asked = state.counters.generation, state.counters.asked - hand.count
        in_hand = {number: hand.slots_of(number) for number in state.rounds}
        places = _places(found, in_hand, asked if limit is None else limit)
        firsts = {number: live.first for number, live in state.rounds.items()}
        waiting = tuple(
            _waiting(session, state.rounds[number], left - free - len(in_hand[number]), asked)
            for number, _, _, left, free in counts
            if number in state.rounds and left - free > len(in_hand[number])
        )
    # Ids are signed while others work: of a million that takes seconds.
    ids = [one for number, slots in places for one in sign(key, generation, number, slots.tolist(), lane)]
    rounds = [np.full(len(slots), number) for number, slots in places]
    positions = [firsts[number] + slots for number, slots in places]
    ages = np.maximum(0, asked - _joined(positions) - 1)
    return Outstanding(np.array(ids, dtype=str), _joined(rounds), ages, waiting)


def _places(cells: list[Cell], in_hand: dict[int, Integers], limit: int) -> list[tuple[int, Integers]]:
    """Return rounds, each with slots that were asked and have no loss."""
    found: list[tuple[int, Integers]] = []
    for cell in cells:
        if limit <= 0:
            break
        slots = cell.pending()
        if cell.round in in_hand and len(in_hand[cell.round]):
            slots = np.setdiff1d(slots, in_hand[cell.round])
        slots = slots[:limit]
        limit -= len(slots)
        found.append((cell.round, slots))
    return found


def _waiting(session: Session, live: StudyRound, outstanding: int, asked: int) -> WaitingRound:
    patience, left = session.state.patience, None
    if patience is not None and live.full_after is not None:
        left = max(0, live.full_after + patience - session.position)
    return WaitingRound(live.number, outstanding, min(live.open.size, asked - live.first), live.open.size, left)


def _joined(pieces: list[Integers]) -> Integers:
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
