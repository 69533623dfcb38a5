"""The engine of stored evaluations: their state, and the places that a process has reserved and not handed out."""

from collections import deque

from sqlalchemy import Connection

from sottovoce.evaluations.stored._closing import begin_new_life
from sottovoce.evaluations.stored._state import EvaluationsState
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.session.counters import Counters
from sottovoce.studies.session.engine import Engine

__all__ = ["EvaluationsEngine", "Hand"]


class Hand(deque[tuple[int, int]]):
    """Places, each an evaluation and a slot, in the order in which people are to get them."""

    def slots_of(self, number: int) -> list[int]:
        """Return the slots of one evaluation."""
        return [slot for evaluation, slot in self if evaluation == number]

    def without(self, numbers: set[int]) -> "Hand":
        """Return what is left without some evaluations."""
        return Hand(place for place in self if place[0] not in numbers)


class EvaluationsEngine(Engine[EvaluationsState]):
    """The transactions of stored evaluations.

    Parameters
    ----------
    storage, state
        Where they are kept, and what this process knows of them.
    study
        Their number in the storage.
    """

    def __init__(self, storage: Storage, state: EvaluationsState, study: int) -> None:
        super().__init__(storage, state, study)
        self.hand = Hand()
        self.next_hand: Hand | None = None  # within a transaction: what is in hand once that is committed

    def hand_now(self) -> Hand:
        """What is in hand, by what this transaction has changed of it so far."""
        return self.hand if self.next_hand is None else self.next_hand

    def give_back(self, connection: Connection, cells: CellTable, numbers: set[int]) -> None:
        """Give back what is in hand of some evaluations."""
        hand = self.hand_now()
        for number in numbers:
            self.state.give_back(connection, cells, number, hand.slots_of(number))
        self.next_hand = hand.without(numbers)

    def _follow(self, connection: Connection, counters: Counters) -> None:
        self.state.follow(connection, counters, self.cells(connection))

    def _begin_new_life(self, connection: Connection, cells: CellTable, newest: int) -> None:
        begin_new_life(self.state, connection, cells, newest)

    def _committed(self) -> None:
        if self.next_hand is not None:
            self.hand, self.next_hand = self.next_hand, None

    def _undone(self) -> None:
        if self.next_hand is not None:  # whether it was committed is not known, if it was cut short
            self.hand, self.next_hand = Hand(one for one in self.hand if one in self.next_hand), None

    def _drop_hand(self) -> None:
        self.hand, self.next_hand = Hand(), None
