"""Asking: what is out of patience is given up first, then actions are handed out; a long call perhaps in parts."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from sottovoce.errors import HorizonReached
from sottovoce.learning.bandit.rounds import Actions
from sottovoce.studies.calls.ids import sign
from sottovoce.studies.calls.waiting import give_up
from sottovoce.studies.session.session import Refusal, Session
from sottovoce.studies.session.state import Taken

__all__ = ["Order", "ask", "ask_in_parts"]

_MOST = 1024  # actions of one part


class Order(NamedTuple):
    """What a call wants: `size` actions, or the rest of the round, `most` at most.

    `rest` are those that later parts of the same call will want; `since` counts the events asked before its first part.
    """

    size: int | None
    most: int | None = None
    rest: int = 0
    since: int | None = None


class _Asked(NamedTuple):
    taken: list[Taken]
    generation: int
    before: int  # events that were asked before


def ask(session: Session, key: bytes, order: Order, tend: Callable[[], None]) -> Actions:
    """Hand out actions, once that is on record; rounds that are out of patience are closed before, by `tend`."""
    return _signed(key, _recorded(session, order, tend))


def ask_in_parts(session: Session, key: bytes, size: int, first: int, tend: Callable[[], None]) -> Iterator[Actions]:
    """Hand out actions part by part: `first` of them, then twice as many each time. All of it counts as one call."""
    done, part, since = 0, first, None
    while done < size:
        count = min(part, size - done)
        asked = _recorded(session, Order(count, rest=size - done - count, since=since), tend)
        since = asked.before if since is None else since
        done, part = done + count, min(2 * part, _MOST)
        yield _signed(key, asked)


def _recorded(session: Session, order: Order, tend: Callable[[], None]) -> _Asked:
    asked: _Asked | None = session.submit(lambda connection: _take(session, connection, order, order.since is not None))
    if asked is None:  # what is asked now shall follow from the rounds that were given up
        tend()
        asked = session.submit(lambda connection: _take(session, connection, order, True))
        assert asked is not None
    tend()
    return asked


def _take(session: Session, connection: Connection, order: Order, patient: bool) -> _Asked | None:
    """Hand out actions; or give up rounds instead, and return None."""
    state, before = session.state, session.state.counters.asked
    try:  # both refuse before they change anything
        state.check_remaining((order.size or 1) + order.rest)
        if not patient and give_up(state, connection):
            return None
        size = order.size if order.size is not None else state.rest_of_round(connection, order.most)
        taken = state.ask(connection, size, session.storage.now(connection), since=order.since)
    except HorizonReached as refused:
        raise Refusal(refused) from None
    return _Asked(taken, state.counters.generation, before)


def _signed(key: bytes, asked: _Asked) -> Actions:
    ids = [one for part in asked.taken for one in sign(key, asked.generation, part.round.number, part.slots)]
    x = [part.block.actions[part.within] for part in asked.taken]
    wants = [part.block.wants_loss[part.within] for part in asked.taken]
    return Actions(np.array(ids), _joined(x), _joined(wants))


def _joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
