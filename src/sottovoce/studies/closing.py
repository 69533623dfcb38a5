"""Closing rounds: at most one noisy value per round is ever committed, and nothing uncommitted is used.

One process at a time closes rounds. It takes a lease, which is committed; draws the noise; and commits the numbers with
noise by compare-and-set: the lease must still be its own, and the round still open. A process that dies in between
leaves nothing behind, for what it drew was neither stored nor shown; the next one draws afresh. A process that was
asleep for longer than its lease finds it gone, and throws its draw away.

In the same transaction the round's losses are deleted, and what follows from the release is written down.
"""

import time

from sqlalchemy import Connection

from sottovoce.studies.core import Core
from sottovoce.studies.live import LiveRound

__all__ = ["LEASE_SECONDS", "tend"]

LEASE_SECONDS = 30.0


def tend(core: Core) -> None:
    """Do what is due: close rounds that are complete or overdue, and erase what they leave behind."""
    with core.committer.turn:  # the replica stands still meanwhile
        forget_overdue(core)
        close_complete_rounds(core)
        erase(core)


def forget_overdue(core: Core) -> None:
    """Count losses as missing whose round was asked to its end longer ago than the study's deadline."""
    deadline = core.replica.head.deadline
    if deadline is None:
        return
    guess = time.time()  # looks only whether to look closer; the storage's own clock decides
    waiting = (live for live in core.replica.rounds.values() if not live.closed and not live.complete)
    first = next(waiting, None)  # rounds become full in order: later ones need no look before this one is overdue
    if first is not None and _overdue(first, guess, deadline):
        core.submit(lambda connection: _forget_overdue(core, connection))


def _overdue(live: LiveRound, now: float, deadline: float) -> bool:
    return not live.closed and live.full_at is not None and not live.complete and now > live.full_at + deadline


def _forget_overdue(core: Core, connection: Connection) -> None:
    now, deadline = core.storage.now(connection), core.replica.head.deadline
    for live in list(core.replica.rounds.values()):
        if deadline is not None and _overdue(live, now, deadline):  # another process may have lifted it
            core.replica.tell(connection, live, live.pending(), None)


def close_complete_rounds(core: Core) -> None:
    """Close rounds whose losses are all in, in order, unless another process is at it."""
    while _is_due(core) and _close_next(core):
        pass


def _is_due(core: Core) -> bool:
    live = core.replica.first_open()
    return live is not None and live.complete and not core.replica.stale


def _close_next(core: Core) -> bool:
    """Close one round; return whether that has succeeded."""
    fence = core.submit_alone(lambda connection: _take_lease(core, connection))
    live = core.replica.first_open()
    if fence is None or live is None or core.replica.stale or not live.complete:
        return False
    number, generation = live.number, core.replica.head.generation
    # The last round's sum would shape no action, so it is never released.
    released = None if live.open.last else live.open.epoch.draw(live.open)

    def commit(connection: Connection) -> bool:
        head, current = core.replica.head, core.replica.first_open()
        mine = head.closer == core.owner and head.fence == fence and head.generation == generation
        if not mine or core.storage.now(connection) > head.lease:
            return False
        if current is None or current.number != number or not current.complete:
            return False
        core.replica.close(connection, current, released)
        head.closer, head.lease = None, 0.0
        return True

    return bool(core.submit_alone(commit))


def _take_lease(core: Core, connection: Connection) -> int | None:
    """Return a fence: a number that nobody else has for this turn; None if another process holds the lease."""
    head, live = core.replica.head, core.replica.first_open()
    now = core.storage.now(connection)
    if live is None or not live.complete:
        return None
    # A lease that ends later than any that could be taken now is from before the clock was set back.
    runs = now < head.lease <= now + LEASE_SECONDS
    if head.closer is not None and head.closer != core.owner and runs and not core.is_dead(head.closer):
        return None
    head.closer, head.lease, head.fence = core.owner, now + LEASE_SECONDS, head.fence + 1
    return head.fence


def erase(core: Core) -> None:
    """See to it that deleted losses are gone from the log as well; tried again with every call until it succeeds."""
    closed = core.replica.head.closed
    if core.replica.head.erased >= closed or core.replica.stale or not core.storage.erase():
        return

    def note(connection: Connection) -> None:
        core.replica.head.erased = max(core.replica.head.erased, closed)

    core.submit_alone(note)
