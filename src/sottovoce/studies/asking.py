"""Asking: what is out of patience is given up first, then actions are handed out; a long call perhaps in parts."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from sottovoce.errors import HorizonReached
from sottovoce.learning.bandit.rounds import Actions
from sottovoce.studies.core import Core, Refusal
from sottovoce.studies.ids import sign
from sottovoce.studies.replica import Taken
from sottovoce.studies.waiting import give_up

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


def ask(core: Core, key: bytes, order: Order, tend: Callable[[], None]) -> Actions:
    """Hand out actions, once that is on record; rounds that are out of patience are closed before, by `tend`."""
    return _signed(key, _recorded(core, order, tend))


def ask_in_parts(core: Core, key: bytes, size: int, first: int, tend: Callable[[], None]) -> Iterator[Actions]:
    """Hand out actions part by part: `first` of them, then twice as many each time. All of it counts as one call."""
    done, part, since = 0, first, None
    while done < size:
        count = min(part, size - done)
        asked = _recorded(core, Order(count, rest=size - done - count, since=since), tend)
        since = asked.before if since is None else since
        done, part = done + count, min(2 * part, _MOST)
        yield _signed(key, asked)


def _recorded(core: Core, order: Order, tend: Callable[[], None]) -> _Asked:
    asked: _Asked | None = core.submit(lambda connection: _take(core, connection, order, order.since is not None))
    if asked is None:  # what is asked now shall follow from the rounds that were given up
        tend()
        asked = core.submit(lambda connection: _take(core, connection, order, True))
        assert asked is not None
    tend()
    return asked


def _take(core: Core, connection: Connection, order: Order, patient: bool) -> _Asked | None:
    """Hand out actions; or give up rounds instead, and return None."""
    replica, before = core.replica, core.replica.head.asked
    try:  # both refuse before they change anything
        replica.check_remaining((order.size or 1) + order.rest)
        if not patient and give_up(replica, connection):
            return None
        size = order.size if order.size is not None else replica.rest_of_round(connection, order.most)
        taken = replica.ask(connection, size, core.storage.now(connection), since=order.since)
    except HorizonReached as refused:
        raise Refusal(refused) from None
    return _Asked(taken, replica.head.generation, before)


def _signed(key: bytes, asked: _Asked) -> Actions:
    ids = [one for part in asked.taken for one in sign(key, asked.generation, part.round.number, part.slots)]
    x = [part.block.actions[part.within] for part in asked.taken]
    wants = [part.block.wants_loss[part.within] for part in asked.taken]
    return Actions(np.array(ids), _joined(x), _joined(wants))


def _joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
