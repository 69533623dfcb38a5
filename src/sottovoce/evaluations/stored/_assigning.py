"""Assigning people to stored evaluations: by coins that all processes share, or all to one of them.

Ids come from what the process has in hand; when that is used up, it reserves more. A process that assigns often
reserves for the people to come as well, so that they need not wait for the storage; one that assigns now and then
reserves what it hands out, and no more. What is out of patience is given up before.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection

from sottovoce.errors import UNRECORDED, HorizonReached
from sottovoce.evaluations.stored._closing import forget_waiting
from sottovoce.evaluations.stored._ending import Ender
from sottovoce.evaluations.stored._engine import EvaluationsEngine, Hand
from sottovoce.evaluations.stored._state import OpenEvaluation
from sottovoce.studies.calls.ids import sign
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.session.engine import Refusal

__all__ = ["Assigner"]

Value = TypeVar("Value")
_LARGEST_SLICE = 32  # places that are reserved at a time for people to come
_SOON = 0.5  # seconds: a slice that is used up within them was too small
_OFTEN = 8  # people who came so soon one after the other, before any is reserved for
_FRESH = 1.0  # seconds for which what is in hand is handed out without a look at the storage


class Assigner:
    """Hands out ids.

    Parameters
    ----------
    engine, key
        Of the evaluations; the key signs their ids.
    ender
        Is told which evaluations were given up: they are to be released.
    """

    def __init__(self, engine: EvaluationsEngine, key: bytes, ender: Ender) -> None:
        self._engine, self._key, self._ender = engine, key, ender
        self._slice, self._soon, self._dealt_at = 1, 0, -float("inf")

    def do(self, change: Callable[[Connection, CellTable], Value]) -> Value:
        """Carry out a change in a transaction that holds the lock of all evaluations."""
        value: Value = self._engine.submit(lambda connection: change(connection, self._engine.cells(connection)))
        return value

    # ------------------------------------------------------------------ by coins

    def one(self) -> tuple[int, str]:
        """Hand out the next id, for the evaluation whose turn it is: its number, and the id."""
        engine = self._engine
        engine.check_usable()
        ended: list[int] = []
        with engine.at_rest():
            if not engine.hand or engine.age >= _FRESH:
                self._resize()
                ended = self.do(self._deal)
            while not engine.hand:  # another thread's call, in the same transaction, has taken it
                ended += self.do(self._deal)
            found = self._signed(*engine.hand.popleft())
        self._ender.tend_quietly(ended)
        return found

    def several(self, size: int) -> list[tuple[int, str]]:
        """Hand out the next ids by turns, all of them or none."""
        engine = self._engine
        taken: list[tuple[int, int]] = []

        def deal(connection: Connection, cells: CellTable) -> list[int]:
            state, hand = engine.state, self._usable()
            if size > len(hand) + sum(live.room for live in state.rounds.values()):
                words = f"the evaluations that are open have fewer than {size} places left; open another"
                raise Refusal(HorizonReached(words))
            ended = self.give_up(connection, cells)
            dealt = state.deal(connection, cells, size - len(hand)) if size > len(hand) else []
            taken[:] = [*hand, *dealt][:size]
            engine.next_hand = Hand([*hand, *dealt][size:])
            return ended

        with engine.at_rest():
            ended = self.do(deal)
            found = [self._signed(*one) for one in taken]
        self._ender.tend_quietly(ended)
        return found

    def _signed(self, number: int, slot: int) -> tuple[int, str]:
        (one,) = sign(self._key, self._engine.state.counters.generation, number, (slot,))
        return number, one

    def _resize(self) -> None:
        """Reserve more at a time, or less: so much as is used up soon."""
        now = time.monotonic()
        if now - self._dealt_at >= _SOON:
            self._slice, self._soon = max(1, self._slice // 2), 0
        elif self._soon < _OFTEN:
            self._soon += 1
        else:
            self._slice = min(2 * self._slice, _LARGEST_SLICE)
        self._dealt_at = now

    def _deal(self, connection: Connection, cells: CellTable) -> list[int]:
        """See to it that there is a place in hand; return the evaluations that were out of patience."""
        engine, state = self._engine, self._engine.state
        engine.next_hand = hand = self._usable()
        if hand:
            return []
        room = sum(live.room for live in state.rounds.values())
        if not room:
            words = "no evaluation has a place left for another person; open one: open(events=...)"
            raise Refusal(HorizonReached(words))
        ended = self.give_up(connection, cells)
        patience = [state.setting.patience_of(live.size) for live in state.rounds.values()]
        # What is in hand of a process that dies is lost, and what is in hand for long may be given up by the others.
        most = min([room // 8, *(one // 8 for one in patience if one is not None)])
        engine.next_hand = Hand(state.deal(connection, cells, max(1, min(self._slice, most))))
        return ended

    # ------------------------------------------------------------------ to one evaluation

    def to(self, number: int, size: int) -> list[str]:
        """Hand out the next ids, all for one evaluation."""

        def take(connection: Connection, cells: CellTable) -> tuple[list[str], list[int]]:
            live = self.with_room(connection, cells, number, size)
            ended = self.give_up(connection, cells)
            taken = self._engine.state.take(connection, cells, live, size)
            slots = [slot for cell in taken for slot in range(cell.first, cell.end)]
            return sign(self._key, self._engine.state.counters.generation, number, slots), ended

        ids, ended = self.do(take)
        self._ender.tend_quietly(ended)
        return ids

    def with_room(self, connection: Connection, cells: CellTable, number: int, size: int) -> OpenEvaluation:
        """Return an evaluation that has so many places left, those that are in hand here among them; or refuse."""
        state, mine = self._engine.state, self._engine.hand_now().slots_of(number)
        live = state.rounds.get(number)
        room = 0 if live is None else live.room + len(mine)
        if live is None or size > room:
            left = "" if live is None else f"has {room} of {live.size} places left"
            left = left or ("was abandoned" if state.outcomes[number].mean is None else "is closed")
            refused: Any = HorizonReached(
                f"evaluation {number} {left}, and {size} more {'were' if size > 1 else 'was'} wanted; {UNRECORDED}. "
                "Losses of people who were assigned before are told by their id: tell(loss, ids=id)"
            )
            raise Refusal(refused)
        if size > live.room:
            self._engine.give_back(connection, cells, {number})
        return live

    # ------------------------------------------------------------------ what is in hand, and what is given up

    def _usable(self) -> Hand:
        """What is in hand of evaluations that are still open."""
        hand = self._engine.hand_now()
        return hand.without({number for number, _ in hand if number not in self._engine.state.rounds})

    def give_all_back(self) -> None:
        """Give back all that is in hand."""
        numbers = {number for number, _ in self._engine.hand}
        self.do(lambda connection, cells: self._engine.give_back(connection, cells, numbers))

    def give_up(self, connection: Connection, cells: CellTable) -> list[int]:
        """Count losses as missing of evaluations that are out of patience; return these."""
        state = self._engine.state
        overdue = state.overdue(state.counters.asked - len(self._engine.hand_now()))
        for live in overdue:
            forget_waiting(cells, live)
        return [live.number for live in overdue]
