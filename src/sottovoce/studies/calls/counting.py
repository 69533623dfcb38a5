"""Where a study stands, or a segment of one: counts alone."""

from typing import NamedTuple

from sqlalchemy import Connection

from sottovoce.studies.calls.waiting import Waiting, first_waiting
from sottovoce.studies.session.session import Session

__all__ = ["Counts", "counted"]


class Counts(NamedTuple):
    """Rounds and events; see `Status`, whose names these are."""

    round: int
    open_rounds: int
    asked: int
    told: int
    forgotten: int
    outstanding: int
    erasure_pending: int
    waiting: Waiting | None


def counted(session: Session, connection: Connection) -> Counts:
    """Count, within a transaction. Nothing reads a loss."""
    cells, state, counters, hand = session.cells(connection), session.state, session.state.counters, session.hand
    counts, first = cells.counts(), state.first_open()
    waiting = None
    if first is not None:
        now = session.storage.now(connection)
        waiting = first_waiting(state, cells, hand.slots_of(first.number), session.position, now)
    return Counts(
        counters.closed,
        state.rounds_opened - counters.closed,
        counters.asked - counters.returned - hand.count,
        counters.told + sum(told for _, told, *_ in counts),
        counters.forgotten + sum(missing for _, _, missing, *_ in counts),
        sum(left - free for *_, left, free in counts) - hand.wanted(),
        max(0, counters.closed - max(counters.erased, session.erased)),
        waiting,
    )
