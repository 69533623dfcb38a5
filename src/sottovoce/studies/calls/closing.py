"""Closing rounds: at most one noisy value per round is ever committed, and nothing uncommitted is used.

One process at a time closes rounds. It takes a lease, which is committed; draws the noise; and commits the numbers with
noise by compare-and-set: the lease must still be its own, and the round still open. A process that dies in between
leaves nothing behind, for what it drew was neither stored nor shown; the next one draws afresh. A process that was
asleep for longer than its lease finds it gone, and throws its draw away.

In the same transaction the round's losses are deleted, and what follows from the release is written down.
"""

import time

from sqlalchemy import Connection

from sottovoce.studies.session.open_round import StudyRound
from sottovoce.studies.session.session import Session

__all__ = ["LEASE_SECONDS", "tend"]

LEASE_SECONDS = 30.0


def tend(session: Session) -> None:
    """Do what is due: close rounds that are complete or overdue, and erase what they leave behind."""
    with session.committer.turn:  # the state stands still meanwhile
        forget_overdue(session)
        close_complete_rounds(session)
        erase(session)


def forget_overdue(session: Session) -> None:
    """Count losses as missing whose round was asked to its end longer ago than the study's deadline."""
    deadline = session.state.counters.deadline
    if deadline is None:
        return
    guess = time.time()  # looks only whether to look closer; the storage's own clock decides
    waiting = (live for live in session.state.rounds.values() if not live.closed and not live.complete)
    first = next(waiting, None)  # rounds become full in order: later ones need no look before this one is overdue
    if first is not None and _overdue(first, guess, deadline):
        session.submit(lambda connection: _forget_overdue(session, connection))


def _overdue(live: StudyRound, now: float, deadline: float) -> bool:
    return not live.closed and live.full_at is not None and not live.complete and now > live.full_at + deadline


def _forget_overdue(session: Session, connection: Connection) -> None:
    now, deadline = session.storage.now(connection), session.state.counters.deadline
    for live in list(session.state.rounds.values()):
        if deadline is not None and _overdue(live, now, deadline):  # another process may have lifted it
            session.state.tell(connection, live, live.pending(), None)


def close_complete_rounds(session: Session) -> None:
    """Close rounds whose losses are all in, in order, unless another process is at it."""
    while _is_due(session) and _close_next(session):
        pass


def _is_due(session: Session) -> bool:
    live = session.state.first_open()
    return live is not None and live.complete and not session.state.stale


def _close_next(session: Session) -> bool:
    """Close one round; return whether that has succeeded."""
    fence = session.submit_alone(lambda connection: _take_lease(session, connection))
    live = session.state.first_open()
    if fence is None or live is None or session.state.stale or not live.complete:
        return False
    number, generation = live.number, session.state.counters.generation
    # The last round's sum would shape no action, so it is never released.
    released = None if live.open.last else live.open.epoch.draw(live.open)

    def commit(connection: Connection) -> bool:
        counters, current = session.state.counters, session.state.first_open()
        mine = counters.closer == session.owner and counters.fence == fence and counters.generation == generation
        if not mine or session.storage.now(connection) > counters.lease:
            return False
        if current is None or current.number != number or not current.complete:
            return False
        session.state.close(connection, current, released)
        counters.closer, counters.lease = None, 0.0
        return True

    return bool(session.submit_alone(commit))


def _take_lease(session: Session, connection: Connection) -> int | None:
    """Return a fence: a number that nobody else has for this turn; None if another process holds the lease."""
    counters, live = session.state.counters, session.state.first_open()
    now = session.storage.now(connection)
    if live is None or not live.complete:
        return None
    # A lease that ends later than any that could be taken now is from before the clock was set back.
    runs = now < counters.lease <= now + LEASE_SECONDS
    if (
        counters.closer is not None
        and counters.closer != session.owner
        and runs
        and not session.is_dead(counters.closer)
    ):
        return None
    counters.closer, counters.lease, counters.fence = session.owner, now + LEASE_SECONDS, counters.fence + 1
    return counters.fence


def erase(session: Session) -> None:
    """See to it that deleted losses are gone from the log as well; tried again with every call until it succeeds."""
    closed = session.state.counters.closed
    if session.state.counters.erased >= closed or session.state.stale or not session.storage.erase():
        return

    def note(connection: Connection) -> None:
        session.state.counters.erased = max(session.state.counters.erased, closed)

    session.submit_alone(note)
