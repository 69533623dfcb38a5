"""Closing rounds: at most one noisy value per round is ever committed, and nothing uncommitted is used.

Whoever closes a round holds the study's lock while it reads the losses, draws the noise, and commits the numbers with
noise, by compare-and-set: the round must still be open. A process that dies in between leaves nothing behind, for what
it drew was neither stored nor shown; the next one draws afresh. No lock against those who tell is needed: a round all
of whose cells have their losses takes no more.

In the same transaction the round's losses are deleted, and what follows from the release is written down.
"""

import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from sottovoce.studies.calls.waiting import forget
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.session.engine import Engine
from sottovoce.studies.session.gathering import gather
from sottovoce.studies.session.session import Session

__all__ = ["erase", "tend", "tend_to"]


def tend(session: Session) -> None:
    """Do what is due: close rounds that are complete or overdue, and erase what they leave behind."""
    with session.committer.turn, session.storage.unwinding():  # the state stands still meanwhile
        forget_overdue(session)
        close_complete_rounds(session, [session.state.counters.closed])
        erase(session)


def tend_to(session: Session, filled: Iterable[int]) -> None:
    """Do the same where cells of some rounds have just got the last of their losses."""
    with session.committer.turn, session.storage.unwinding():
        forget_overdue(session)
        close_complete_rounds(session, filled)
        erase(session)


def forget_overdue(session: Session) -> None:
    """Count losses as missing whose round was asked to its end longer ago than the study's deadline."""
    deadline, first = session.state.deadline, session.state.first_open()
    # This looks only whether to look closer; the storage's own clock decides. Rounds become full in order: later ones
    # need no look before the first is overdue.
    if deadline is None or first is None or first.full_at is None or time.time() <= first.full_at + deadline:
        return
    session.submit(lambda connection: _forget_overdue(session, connection))


def _forget_overdue(session: Session, connection: Connection) -> None:
    now, state, cells = session.storage.now(connection), session.state, session.cells(connection)
    deadline = state.deadline
    for live in list(state.rounds.values()):
        if deadline is None or live.full_at is None or now <= live.full_at + deadline:  # another may have lifted it
            break
        if live.number >= state.counters.closed:
            forget(state, cells, live)


def close_complete_rounds(session: Session, numbers: Iterable[int]) -> None:
    """Close rounds whose losses are all in, in order, if any of these is such a round."""
    if session.state.stale or not any(_is_complete(session, number) for number in numbers):
        return
    while session.submit_alone(lambda connection: _close_next(session, connection)):
        after = session.state.first_open()
        if after is None or not after.whole:  # as of just now: whoever reserves the rest of it will see to it
            break


def _is_complete(session: Session, number: int) -> bool:
    """Look, without a lock: what is complete stays so until it is closed."""
    with session.storage.briefly(begin=False) as raw:
        return CellTable(raw, session.study, session.storage.is_sqlite).is_complete(number)


def _close_next(session: Session, connection: Connection) -> bool:
    """Close the first open round, if it is complete; return whether it was."""
    state, cells = session.state, session.cells(connection)
    live = state.first_open()
    if live is None or not live.whole or not cells.is_complete(live.number):
        return False
    gathered = gather(connection, session.study, live, cells.of_round(live.number))
    try:
        # The last round's sum would shape no action, so it is never released.
        released = None if live.open.last else live.open.epoch.draw(gathered.sums)
    finally:
        gathered.sums.erase()
    state.close(connection, cells, live, gathered, released)
    if not session.storage.is_sqlite:  # a server's log is not ours to empty
        state.counters.erased = state.counters.closed
    return True


def erase(session: Engine[Any]) -> None:
    """See to it that deleted losses are gone from the log as well; tried again with every call until it succeeds."""
    counters = session.state.counters
    if max(counters.erased, session.erased) < counters.closed and not session.state.stale and session.storage.erase():
        session.erased = counters.closed  # on record with the next change
