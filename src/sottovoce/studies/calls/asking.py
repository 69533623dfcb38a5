"""Asking: actions come from what the process has in hand; when that is used up, it reserves more.

What is out of patience is given up before. A process that asks often reserves for the calls to come as well, so that
they need not ask the storage; one that asks now and then reserves what it needs, and no more.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from sottovoce.errors import HorizonReached
from sottovoce.exploration import joined
from sottovoce.learning.bandit.actions import Action, Actions, speaking
from sottovoce.studies.calls.ids import sign
from sottovoce.studies.calls.waiting import give_up
from sottovoce.studies.session.engine import Refusal
from sottovoce.studies.session.open_round import Taken
from sottovoce.studies.session.session import Session
from sottovoce.studies.session.state import Reserving

__all__ = ["Asker", "Order"]

_MOST = 1024  # actions of one part
_SOON = 0.5  # seconds: a slice that is used up within them was too small
_OFTEN = 8  # calls that came so soon one after the other, before any is reserved for
_FRESH = 1.0  # seconds for which what is in hand is handed out without a look at the storage


class Order(NamedTuple):
    """What a call wants: `size` actions, or the rest of the round, `most` at most.

    `rest` are those that later parts of the same call will want; `since` counts the events asked before its first part;
    `spare` is whether more may be reserved for calls to come.
    """

    size: int | None
    most: int | None = None
    rest: int = 0
    since: int | None = None
    spare: bool = True


class _Asked(NamedTuple):
    taken: list[Taken]
    generation: int
    before: int  # events that were asked before


class Asker:
    """Hands out the actions of a study.

    Parameters
    ----------
    session, key
        Of the study; the key signs its ids.
    tend
        What to do after events were reserved: closing rounds, and so on.
    lane
        The number of the segment, if it is of one.
    """

    def __init__(self, session: Session, key: bytes, tend: Callable[[], None], lane: int | None = None) -> None:
        self._session, self._key, self._tend, self._lane = session, key, tend, lane
        self._slice, self._soon, self._reserved_at = 1, 0, -float("inf")

    def one(self) -> Action:
        """Hand out the next action."""
        asked = self._asked(Order(1))
        (taken,) = asked.taken
        draw = taken.block.draw
        wants = draw.wants_loss is None or bool(draw.wants_loss[taken.start])
        (one,) = sign(self._key, asked.generation, taken.block.round.number, (taken.first,), self._lane)
        return speaking(self._session.state.problem.domain)(one, taken.block.row(taken.start), wants)

    def block(self, order: Order) -> Actions:
        """Hand out a block of actions."""
        return self._signed(self._asked(order))

    def in_parts(self, size: int, first: int) -> Iterator[Actions]:
        """Hand out actions part by part: `first` of them, then twice as many each time. All of it is one call."""
        done, part, since = 0, first, None
        while done < size:
            count = min(part, size - done)
            asked = self._asked(Order(count, rest=size - done - count, since=since))
            since = asked.before if since is None else since
            done, part = done + count, min(2 * part, _MOST)
            yield self._signed(asked)

    def _signed(self, asked: _Asked) -> Actions:
        ids = [
            one
            for taken in asked.taken
            for one in sign(self._key, asked.generation, taken.block.round.number, _slots(taken), self._lane)
        ]
        x = [taken.block.draw.actions[taken.start : taken.stop] for taken in asked.taken]
        wants = [taken.block.wants_loss[taken.start : taken.stop] for taken in asked.taken]
        return Actions(np.array(ids), joined(x), joined(wants), self._session.state.problem.domain)

    # ------------------------------------------------------------------ with others

    def take(self, connection: Connection, size: int) -> None:
        """Reserve as many as are not in hand, and no more, within a transaction of several segments."""
        self._take(connection, Order(size, spare=False), patient=True)

    def hand_out(self, size: int) -> Actions:
        """Hand out what is in hand; there must be as many."""
        return self._signed(self._handed_out(size))

    # ------------------------------------------------------------------ from the hand, or from the storage

    def _asked(self, order: Order) -> _Asked:
        session = self._session
        session.check_usable()
        with session.at_rest():
            plain = order.size is not None and order.since is None and not order.rest
            if plain and session.hand.count >= int(order.size or 0) and session.age < _FRESH:
                return self._handed_out(int(order.size or 0))
            return self._reserved(order)

    def _handed_out(self, size: int) -> _Asked:
        session = self._session
        before = session.position
        return _Asked(session.hand.take(size), session.state.counters.generation, before)

    def _reserved(self, order: Order) -> _Asked:
        """Reserve what is missing, and hand out. Rounds that are out of patience are closed before."""
        session, now = self._session, time.monotonic()
        self._resize(now - self._reserved_at < _SOON, order.size or 1)
        size: int | None = session.submit(lambda connection: self._take(connection, order, order.since is not None))
        if size is None:  # what is asked now shall follow from the rounds that were given up
            self._tend()
            size = session.submit(lambda connection: self._take(connection, order, True))
            assert size is not None
        self._reserved_at = now
        asked = self._handed_out(size)
        self._tend()
        return asked

    def _resize(self, soon: bool, wanted: int) -> None:
        """Reserve more at a time, or less: so much as is used up soon."""
        if not soon:
            self._slice, self._soon = max(1, self._slice // 2), 0
        elif self._soon < _OFTEN:
            self._soon += 1
        else:
            self._slice = min(2 * max(self._slice, wanted), self._session.most_in_hand)

    def _take(self, connection: Connection, order: Order, patient: bool) -> int | None:
        """Reserve actions; or give up rounds instead, and return None."""
        session, hand = self._session, self._session.hand
        state, cells = session.state, session.cells(connection)
        hand.drop(state.counters.closed)  # others have closed it without what is in hand
        before = session.position
        try:  # both refuse before they change anything
            state.check_remaining((order.size or 1) + order.rest, hand.count)
            if not patient and not session.holds_back and give_up(state, cells, before):
                return None
            size = order.size if order.size is not None else state.rest_of_round(connection, order.most, hand.count)
        except HorizonReached as refused:
            raise Refusal(refused) from None
        need = size - hand.count
        if need > 0:
            spare = max(0, self._slice - need) if order.spare else 0
            since = before if order.since is None else order.since
            now = session.storage.now(connection)
            session.fresh = state.reserve(connection, cells, Reserving(need, spare, size, since, now))
        return size


def _slots(taken: Taken) -> range:
    return range(taken.first, taken.first + taken.size)
