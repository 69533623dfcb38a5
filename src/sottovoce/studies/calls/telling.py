"""Telling: where each loss of a call belongs, what is refused, and why. A call is stored as a whole or not at all."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from sottovoce._arrays import Integers
from sottovoce._losses import as_float, as_floats
from sottovoce.errors import UNRECORDED, AlreadyTold, InvalidLoss, RoundClosed, StudyBehind, UnknownAction
from sottovoce.learning.bandit.open_losses import FORGOTTEN, PENDING, TOLD, UNWANTED, already_told, too_late
from sottovoce.studies.calls.ids import Place
from sottovoce.studies.database.cells import Cell, CellTable, pack_losses, pack_one
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.tables import DROPPED, rounds
from sottovoce.studies.session.engine import (
    CONSEQUENCES,
    NOWHERE,
    AtOnce,
    Following,
    LastTold,
    NotHere,
    Receiving,
    Refusal,
    Told,
    Waiting,
)

__all__ = ["Filling", "Telling"]

Filling = tuple[Cell, Integers, Integers | None]
"""A cell, the slots of it that are filled, and their losses: PRIVATE; None where they are given up."""


class Telling:
    """One call of tell, or of forget.

    Parameters
    ----------
    places, values
        Where losses belong, and the losses; None closes actions without them.
    repeat
        Whether a second loss for one action is an "error", or one to "ignore".
    late
        Whether a loss for an action that was given up is an "error", or one to "drop".
    """

    part = "round"  # what a place is in, in words

    def __init__(self, places: list[Place], values: NDArray[Any] | None, *, repeat: str, late: str) -> None:
        self._places, self._values, self._repeat, self._late = places, values, repeat, late
        self._already = self._dropped = 0  # losses that were passed over
        self._parts: list[int] | None = None  # how many losses each call has, of those that were put together

    @property
    def newest(self) -> int:
        """The newest generation that its ids are of."""
        return max(place.generation for place in self._places)

    # ------------------------------------------------------------------ several calls as one

    def waiting(self, state: Following) -> Waiting | None:
        """Return the loss of a call that has a single one, on its grid, if nothing is known to speak against it."""
        if self._values is None or len(self._places) != 1:
            return None
        place = self._places[0]
        live = state.rounds.get(place.round)
        if live is None or place.generation != state.counters.generation:
            return None
        try:
            return Waiting(*place, live.quantise_one(as_float(self._values[0])))
        except InvalidLoss:
            return None  # it may not be wanted: then it is dropped unread

    def joined(self, others: Sequence["Telling"]) -> "Telling | None":
        """Return one that stores the losses of all calls, or refuses where anything speaks against one of them."""
        calls = [self, *others]
        values = [call._values for call in calls if call._values is not None and call._values.dtype.kind in "fiu"]
        if len(values) < len(calls):
            return None
        places = [place for call in calls for place in call._places]
        one = type(self)(places, np.concatenate(values), repeat="error", late="error")
        one._parts = [len(call._places) for call in calls]
        return one

    def divided(self, told: Told) -> list[Told]:
        """Return what came of each call: all of its losses are stored."""
        assert self._parts is not None
        return [Told(part, told.last, told.filled) for part in self._parts]

    # ------------------------------------------------------------------ in one statement

    def at_once(self, state: Following, cells: CellTable, last: LastTold | None) -> AtOnce | None:
        """Store one loss, or those of a whole cell, if nothing speaks against it; None if that is not plain."""
        places, values = self._places, self._values
        if values is None or not places:
            return None
        generation, number, first = places[0]
        live, count = state.rounds.get(number), len(places)
        if live is None or generation != state.counters.generation:
            return None
        if count == 1:
            return self._one_at_once(live, cells, last)
        slots: Integers = np.arange(first, first + count)
        if places != [Place(generation, number, slot) for slot in range(first, first + count)]:
            return None
        try:
            integers = live.quantise(as_floats(values))
        except InvalidLoss:
            return None  # it may not be wanted: then it is dropped unread
        entry, before = pack_losses(number, slots, integers), NOWHERE if last is None else last[:2]
        found = cells.tell_run(generation, number, first, count, entry, before)
        return None if found is None else _at_once(count, number, *found)

    def _one_at_once(self, live: Receiving, cells: CellTable, last: LastTold | None) -> AtOnce | None:
        assert self._values is not None
        generation, number, slot = self._places[0]
        try:
            integer = live.quantise_one(as_float(self._values[0]))
        except InvalidLoss:
            return None
        entry = pack_one(number, slot, integer)
        if last is not None and last.round == number and last.first <= slot < last.first + last.size:  # the usual case
            found = cells.tell_there(generation, number, last.first, slot, entry)
            if found is None:
                return None
            first, left, size = found
            # It waited for one more before this: if that is more than it then did, something was lost since.
            return _at_once(1, number, first, left, size, None, left + 1)
        found = cells.tell_one(generation, number, slot, entry, NOWHERE if last is None else last[:2])
        return None if found is None else _at_once(1, number, *found)

    # ------------------------------------------------------------------ cell by cell

    def within(self, state: Following, cells: CellTable) -> Told:
        """Check everything, then store: all of the call or nothing."""
        self._already = self._dropped = 0
        try:
            if any(place.generation != state.counters.generation for place in self._places):
                raise NotHere
            fillings: list[Filling] = []
            for number, chosen in self._by_round():
                fillings += self._fillings(state, cells, number, chosen)
        except (UnknownAction, AlreadyTold, RoundClosed, InvalidLoss) as refused:
            raise Refusal(refused) from None
        if self._parts is not None and self._dropped:
            raise NotHere  # whose it was is found out call by call
        return self.stored(cells, fillings)

    def _by_round(self) -> Iterator[tuple[int, Integers]]:
        """Yield rounds in order, each with the places in the call that are its own."""
        numbers = np.array([place.round for place in self._places], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        ends = np.flatnonzero(np.diff(numbers[order])) + 1
        for chosen in np.split(order, ends) if len(order) else []:
            yield int(numbers[chosen[0]]), chosen

    def _slots(self, chosen: Integers) -> Integers:
        return np.array([self._places[one].slot for one in chosen], dtype=np.int64)

    def _fillings(self, state: Following, cells: CellTable, number: int, chosen: Integers) -> Iterator[Filling]:
        """Yield what is to be put into the cells of an open round."""
        live, slots = state.rounds.get(number), self._slots(chosen)
        if live is None:
            raise NotHere
        found = cells.covering(state.counters.generation, number, slots)
        starts = np.array([cell.first for cell in found], dtype=np.int64)
        whose = np.searchsorted(starts, slots, side="right") - 1
        if (whose < 0).any() or any(slots[whose == place].max() >= found[place].end for place in np.unique(whose)):
            raise NotHere
        for place in np.unique(whose):
            cell, mine = found[place], whose == place
            if cell.given_back and not cell.missing:
                self._refuse_given_back(number, slots[mine])
                continue
            waiting = self._fillable(number, slots[mine], cell.states(slots[mine]))
            wanted, inside = chosen[mine][waiting], slots[mine][waiting]
            integers = None if self._values is None else live.quantise(as_floats(self._values[wanted]))
            if len(inside):
                yield cell, inside, integers

    def _fillable(self, number: int, slots: Integers, states: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mark the slots that wait for their loss; what is not wanted is dropped unread."""
        self._refuse_late(number, slots[states == FORGOTTEN])
        self._dropped += int((states == UNWANTED).sum())
        waiting = states == PENDING
        first = np.zeros(len(slots), dtype=bool)
        first[np.unique(slots, return_index=True)[1]] = True
        self._refuse_repeated(number, slots[(states == TOLD) | (waiting & ~first)])
        return np.asarray(waiting & first)

    def _named(self, number: int, slot: int) -> str:
        return f"action {slot} of {self.part} {number}"

    def _refuse_late(self, number: int, given_up: Integers) -> None:
        if self._late == "error" and len(given_up):
            raise too_late(self._named(number, int(given_up[0])))
        self._dropped += len(given_up)

    def _refuse_given_back(self, number: int, slots: Integers) -> None:
        """Refuse losses of actions that nobody has: another process had them in hand, and gave them back unused."""
        if self._values is not None:
            raise UnknownAction(f"{self._named(number, int(slots[0]))} was given back unused: nobody has it")
        self._dropped += len(slots)

    def _refuse_dropped(self, number: int, slots: Integers) -> None:
        raise UnknownAction(f"round {number} was dropped when the storage was restored; its losses are refused")

    def _refuse_repeated(self, number: int, told: Integers) -> None:
        if self._repeat == "error" and len(told):
            raise already_told(self._named(number, int(told[0])))
        self._already += len(told)

    # ------------------------------------------------------------------ with the study's lock

    def with_the_lock(self, state: Following, connection: Connection, cells: CellTable) -> Told:
        """Do the same where the state is in step, so that it can be said why events have no cell."""
        return self.stored(cells, self.checked(state, connection, cells))

    def checked(self, state: Following, connection: Connection, cells: CellTable) -> list[Filling]:
        """Return what is to be put into cells, with the lock held; refuse all of it if anything speaks against one."""
        self._already = self._dropped = 0
        try:
            self._check_life(state)
            fillings: list[Filling] = []
            for number, chosen in self._by_round():
                if state.is_closed(number, state.counters, cells):
                    self._check_closed(state, connection, number, self._slots(chosen))
                else:
                    fillings += self._fillings(state, cells, number, chosen)
        except (UnknownAction, AlreadyTold, RoundClosed, InvalidLoss) as refused:
            raise Refusal(refused) from None
        return fillings

    def _check_life(self, state: Following) -> None:
        """Refuse ids of an earlier life; notice ids that the storage should know and does not."""
        if any(_is_newer(state, place) for place in self._places):
            raise StudyBehind(
                "an id of this study is newer than its storage: the storage was restored from a backup, or has "
                f"lost its latest changes. {CONSEQUENCES}"
            )
        if any(place.generation < state.counters.generation for place in self._places):
            raise UnknownAction(
                "an id was handed out before the storage was restored; its loss is refused, as it may have been "
                "released already",
                UNRECORDED,
            )

    def _check_closed(self, state: Following, connection: Connection, number: int, slots: Integers) -> None:
        """Tell a repetition from a loss that comes too late, and refuse either unless it is to be passed over."""
        where = (rounds.c.study == state.counters.id, rounds.c.number == number)
        row = connection.execute(select(rounds.c.state, rounds.c.released).where(*where)).one()
        if row.state == DROPPED:
            self._refuse_dropped(number, slots)
            return
        closed = read(f"round {number}", row.released)
        wanted = slots if "wanted" not in closed else slots[np.isin(slots, closed["wanted"])]
        given_up = np.isin(wanted, closed["missing"])
        self._dropped += len(slots) - len(wanted)
        self._refuse_late(number, wanted[given_up])
        self._refuse_repeated(number, wanted[~given_up])

    def stored(self, cells: CellTable, fillings: list[Filling]) -> Told:
        """Write down what cells are told."""
        last, filled = None, set()
        for cell, slots, integers in fillings:
            cell.fill(slots, integers)
            cells.write(cell)
            last = LastTold(cell.round, cell.first, cell.left, cell.size)
            if not cell.left:
                filled.add(cell.round)
        stored = sum(len(slots) for _, slots, _ in fillings)
        return Told(stored, last, frozenset(filled), self._already, self._dropped)


def _at_once(
    count: int, number: int, first: int, left: int, size: int, version: int | None, left_before: int | None
) -> AtOnce:
    told = Told(count, LastTold(number, int(first), int(left), size), frozenset(() if left else (number,)))
    return AtOnce(told, version, left_before)


def _is_newer(state: Following, place: Place) -> bool:
    """Say whether the study has signed an id that its storage does not know of yet."""
    counters = state.counters
    if place.generation != counters.generation:
        return place.generation > counters.generation
    if place.round >= state.rounds_opened:
        return True
    return not state.is_reserved(place.round, place.slot)
