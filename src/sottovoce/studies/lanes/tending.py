"""Seeing to what is due of any segment, whoever is asked for: rounds that are complete, or out of patience or time."""

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, case, exists, or_, select

from sottovoce.errors import StorageError
from sottovoce.studies.calls.closing import tend
from sottovoce.studies.calls.waiting import give_up
from sottovoce.studies.database.tables import OPEN, cells, heads, lanes, rounds
from sottovoce.studies.lanes.member import Member
from sottovoce.studies.opening.withheld import WithheldNoise

if TYPE_CHECKING:
    from sottovoce.studies.lanes.family import Family

__all__ = ["Due", "tend_all", "tend_quietly"]

_OFTEN = 1.0  # seconds after which the clock is looked at again


@dataclass
class Due:
    """When to look around next: nothing is due before so many positions were asked, or that time has come."""

    position: int = 0
    moment: float = 0.0


def tend_quietly(family: "Family", session: Member) -> None:
    """See to a segment after a call that is on record, and to others where it is time: should it fail, it can wait."""
    with suppress(StorageError):
        if isinstance(family.source, WithheldNoise) or session.retired:
            return
        first = session.state.first_open()
        if first is not None and (first.whole or session.state.deadline is not None):
            tend(session)
            share_erasure(family)
        look_around(family)


def look_around(family: "Family") -> None:
    """See to segments that nobody asks for: they lose patience as others are asked."""
    with family.turn:
        patience, position = family.patience, family.asked - family.in_hand
        by_position = patience is not None and position >= family.due.position
        by_time = family.counters.deadline is not None and time.monotonic() >= family.due.moment
        if by_position or by_time:
            _tend_where(family, give_up_at=position)


def tend_all(family: "Family") -> None:
    """See to all segments, whatever the time: complete rounds are closed."""
    if not isinstance(family.source, WithheldNoise):
        with family.turn:
            _tend_where(family, give_up_at=None)


def _tend_where(family: "Family", give_up_at: int | None) -> None:
    found: list[int] = family.head.submit(lambda connection: _due(family, connection, give_up_at))
    for number in found:
        session = family.lane(family.rows[number]).session
        if session.hand.count:  # nobody has them: their round need not be given up for them
            session.submit(session.give_back)

        def follow(connection: Connection, session: Member = session) -> None:
            if give_up_at is not None:
                give_up(session.state, session.cells(connection), session.position)

        session.submit(follow)
        tend(session)
    share_erasure(family)


def _due(family: "Family", connection: Connection, position: int | None) -> list[int]:
    """Return the segments whose first open round is complete, or out of patience or time; rounds close in order."""
    patience, deadline = family.patience, family.counters.deadline
    first = rounds.join(heads, (rounds.c.study == heads.c.id) & (rounds.c.number == heads.c.closed)).join(
        lanes, lanes.c.study == heads.c.id
    )
    mine = (cells.c.study == rounds.c.study) & (cells.c.round == rounds.c.number)
    waiting = exists().where(mine, cells.c.told + cells.c.missing < cells.c.wanted)
    ways: list[Any] = [(rounds.c.whole == 1) & ~waiting]
    if deadline is not None:
        ways.append(rounds.c.full_at + deadline < family.storage.now(connection))
    if position is not None and patience is not None:
        ways.append(rounds.c.full_after + patience <= position)
    is_due = case((or_(*ways), 1), else_=0)
    wanted = select(lanes.c.number, rounds.c.full_after, is_due).select_from(first)
    rows = connection.execute(wanted.where(lanes.c.parent == family.found.study, rounds.c.state == OPEN)).all()
    if patience is not None:  # what becomes full from now on has patience from now on
        later = [int(row[1]) for row in rows if row[1] is not None and not row[2]]
        family.due.position = patience + min([family.asked, *later])
    family.due.moment = time.monotonic() + _OFTEN
    return [int(row[0]) for row in rows if row[2]]


def share_erasure(family: "Family") -> None:
    """See to it that losses of all segments are gone from the log, whosever round was closed: there is one log."""
    pending = [row for row in family.rows if row.closed > row.erased]
    sessions = [(family.lane(row).session, row.closed) for row in pending]
    waiting = [(one, closed) for one, closed in sessions if one.erased < closed]
    if waiting and family.storage.erase():
        for one, closed in waiting:
            one.erased = closed
