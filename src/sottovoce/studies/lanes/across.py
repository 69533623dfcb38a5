"""Calls that span segments: asked in one transaction, told in one transaction, all of it or nothing."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from sottovoce._arrays import Integers
from sottovoce.errors import UNRECORDED, HorizonReached, StorageError, StudyBehind, UnknownAction
from sottovoce.learning.bandit.actions import Actions, gathered
from sottovoce.studies.calls.closing import tend_to
from sottovoce.studies.calls.ids import Place
from sottovoce.studies.calls.telling import Telling
from sottovoce.studies.calls.waiting import give_up
from sottovoce.studies.lanes.family import Family, Lane
from sottovoce.studies.lanes.member import Member
from sottovoce.studies.lanes.tending import look_around, tend_quietly
from sottovoce.studies.session.engine import CONSEQUENCES, Refusal, Told

__all__ = ["ask_across", "give_back", "tell_across", "tell_parts", "tend_told"]

_NEWER = "an id of this study is newer than its storage: the storage was restored from a backup, or has lost its latest"


# ---------------------------------------------------------------------- asking


def ask_across(family: Family, lanes: list[Lane], index: Integers) -> Actions:
    """Hand out a block in which event i is of segment `lanes[index[i]]`."""
    counts = np.bincount(index, minlength=len(lanes)).tolist()
    wanted = list(zip(lanes, counts, strict=True))
    with family.head.at_rest():
        late: list[Lane] = family.head.submit_alone(lambda now: _take(family, now, wanted, patient=False))
        if late:  # what is asked now shall follow from the rounds that were given up
            for lane in late:
                tend_quietly(family, lane.session)
            family.head.submit_alone(lambda now: _take(family, now, wanted, patient=True))
        pieces = [lane.asker.hand_out(count) for lane, count in wanted]
        for lane in lanes:
            first = lane.session.state.first_open()
            if first is not None and first.whole:
                tend_quietly(family, lane.session)
        with suppress(StorageError):
            look_around(family)
    return gathered(pieces, np.argsort(index, kind="stable"))


def _take(family: Family, connection: Connection, wanted: list[tuple[Lane, int]], *, patient: bool) -> list[Lane]:
    """Reserve events of several segments; or give up rounds of some, and return these."""
    for lane, _ in wanted:
        if behind := lane.session.join(connection):
            raise Refusal(behind)
    _check_remaining(family, wanted)
    before = family.asked - family.in_hand
    late = [] if patient else [lane for lane, _ in wanted if _give_up(lane.session, connection, before)]
    if not late:
        try:
            _reserve(family, connection, wanted)
        except Refusal as refusal:  # some may have been reserved: all of it is undone
            raise refusal.error from None
    return late


def _give_up(session: Member, connection: Connection, before: int) -> bool:
    given_up = not session.holds_back and give_up(session.state, session.cells(connection), before)
    session.write_back(connection)
    return given_up


def _reserve(family: Family, connection: Connection, wanted: list[tuple[Lane, int]]) -> None:
    family.coming = sum(count for _, count in wanted)
    for lane, count in wanted:
        family.coming -= count  # of this call, for others: rounds that become full are full from its end on
        lane.asker.take(connection, count)
        lane.session.write_back(connection)


def _check_remaining(family: Family, wanted: list[tuple[Lane, int]]) -> None:
    if family.horizon is None:
        return
    need = 0
    for lane, count in wanted:
        session = lane.session
        session.hand.drop(session.state.counters.closed)  # others have closed it without what is in hand
        need += max(0, count - session.hand.count)
    left, size = family.horizon - family.asked + family.returned, sum(count for _, count in wanted)
    if need > left:
        raise Refusal(
            HorizonReached(
                f"size={size} actions were asked for, and {left + size - need} of horizon={family.horizon} are left"
            )
        )


def give_back(family: Family, keep: Sequence[Lane] = ()) -> bool:
    """Give back what was reserved and not handed out, of all segments but some; return whether there was anything."""
    found = False
    for lane in family.lanes_here():
        if lane in keep or not lane.session.hand.count:
            continue
        lane.session.submit(lane.session.give_back)
        found = True
    return found


# ---------------------------------------------------------------------- telling


def tell_parts(places: list[tuple[int, Place]], values: NDArray[Any] | None, **choices: str) -> dict[int, Telling]:
    """Return what a call tells each segment, by number."""
    numbers = np.array([number for number, _ in places], dtype=np.int64)
    parts = {}
    for number in np.unique(numbers).tolist():
        mine = np.flatnonzero(numbers == number)
        losses = None if values is None else values[mine]
        parts[number] = Telling([places[one][1] for one in mine], losses, **choices)
    return parts


def lanes_told(family: Family, parts: dict[int, Telling]) -> dict[int, Lane]:
    """Return the segments that a call tells; refuse ids of segments that the storage does not know."""
    with family.turn:
        if any(number >= len(family.rows) for number in parts):
            behind: StudyBehind | None = family.head.submit_alone(lambda now: _missing(family, now, parts))
            if behind is not None:
                raise behind
        return {number: family.lane(family.rows[number]) for number in parts}


def _missing(family: Family, connection: Connection, parts: dict[int, Telling]) -> StudyBehind | None:
    unknown = [one for number, one in parts.items() if number >= len(family.rows)]
    if not unknown:
        return None
    newest = max(one.newest for one in unknown)
    if newest < family.counters.generation:
        why = "an id was handed out before the storage was restored; its loss is refused, as it may have been released"
        raise Refusal(UnknownAction(f"{why} already", UNRECORDED))
    family.renew(connection, newest)
    return StudyBehind(f"{_NEWER} changes. {CONSEQUENCES}")


def tell_across(family: Family, parts: dict[int, Telling]) -> dict[int, Told]:
    """Store what a call tells several segments, in one transaction: all of it or nothing."""
    lanes = lanes_told(family, parts)
    if len(parts) == 1:
        ((number, telling),) = parts.items()
        told = lanes[number].session.tell(telling)
        if isinstance(told, StudyBehind):
            raise told
        return {number: told}
    found: dict[int, Told] | StudyBehind = family.head.submit_alone(lambda now: _tell(family, now, lanes, parts))
    if isinstance(found, StudyBehind):
        raise found
    return found


def _tell(
    family: Family, connection: Connection, lanes: dict[int, Lane], parts: dict[int, Telling]
) -> dict[int, Told] | StudyBehind:
    fillings = {}
    for number, telling in parts.items():
        session = lanes[number].session
        if behind := session.join(connection):
            return behind
        try:
            fillings[number] = telling.checked(session.state, connection, session.cells(connection))
        except StudyBehind as newer:  # at once: two that notice it must not end two lives
            family.renew(connection, telling.newest)
            return newer
    return {
        number: telling.stored(lanes[number].session.cells(connection), fillings[number])
        for number, telling in parts.items()
    }


def tend_told(family: Family, told: dict[int, Told]) -> None:
    """Close rounds that have got the last of their losses: the call is on record, so what fails is tried later."""
    with suppress(StorageError):
        for number, one in told.items():
            if number < len(family.rows):
                tend_to(family.lane(family.rows[number]).session, one.filled)
        look_around(family)
