"""The books of stored evaluations: the same calls as in memory, each durable before it returns.

What is released, who are neighbours, the sensitivity and the proof are those of evaluations in memory (the head of
evaluations/_books.py): every event is in one place of one evaluation, and one noisy number of each is ever released.
That this holds over processes, crashes and restored backups is the storage's part: a bit for each place makes its loss
count once; a release is committed by compare-and-set, with the losses deleted in the same transaction; a storage that
went back in time begins a new life, in which whatever was not released is dropped (studies/session/engine.py,
evaluations/stored/_closing.py).

Which person meets what is decided by public coins that all processes share: they are kept with the counters, and dealt
in the order in which processes come for them. A process that assigns often takes the places of the next people along.

Tests: tests/evaluations/stored.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from sottovoce._arrays import Integers
from sottovoce._losses import as_floats
from sottovoce.errors import (
    UNRECORDED,
    CopyRefused,
    ForkRefused,
    HorizonReached,
    StorageError,
    StudyBehind,
    UnknownAction,
)
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.evaluations.released_mean import ReleasedMean
from sottovoce.evaluations.stored._closing import abandon, begin_new_life, forget_waiting, release
from sottovoce.evaluations.stored._engine import EvaluationsEngine, Hand
from sottovoce.evaluations.stored._opening import Found
from sottovoce.evaluations.stored._state import EvaluationsState, OpenEvaluation
from sottovoce.privacy.noise import Sampler
from sottovoce.studies.calls.closing import erase
from sottovoce.studies.calls.ids import Place, places_of, sign
from sottovoce.studies.calls.telling import Telling
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.session.engine import Refusal

__all__ = ["StoredBooks", "StoredPlaces"]

Value = TypeVar("Value")
_TOLD_CELL = 64  # places of a cell that is told its losses as it is made: it is written anew with every one
_LARGEST_SLICE = 32  # places that are reserved at a time for people to come
_SOON = 0.5  # seconds: a slice that is used up within them was too small
_OFTEN = 8  # people who came so soon one after the other, before any is reserved for
_FRESH = 1.0  # seconds for which what is in hand is handed out without a look at the storage


class _EvaluationTelling(Telling):
    part = "evaluation"

    def _refuse_dropped(self, number: int, slots: Integers) -> None:
        self._refuse_late(number, slots)  # it was abandoned; ids of an earlier life are refused before


class StoredPlaces:
    """The places of one stored evaluation, as the storage has them now."""

    def __init__(self, books: "StoredBooks", number: int, size: int) -> None:
        self.number, self.size = number, size
        self._books = books
        self.handle: Any = Evaluation(books, self)

    @property
    def assigned(self) -> int:
        """How many of them are taken."""
        return self._books.counts(self.number)[0]

    @property
    def room(self) -> int:
        """How many are left to take."""
        return self._books.counts(self.number)[1]

    @property
    def abandoned(self) -> bool:
        """Whether nothing of it will ever be released: it was abandoned, or its storage was put back."""
        return self._books.is_abandoned(self.number)

    def __repr__(self) -> str:
        return f"StoredPlaces({self.number}, size={self.size})"


class StoredBooks:
    """All evaluations of one name in a storage.

    Parameters
    ----------
    storage, found
        Where they are, and what they were made with.
    repeat
        What a second loss for one id does: "error" or "ignore".
    """

    def __init__(self, storage: Storage, found: Found, repeat: str) -> None:
        self.setting = found.setting
        self._key, self._repeat = found.key, repeat
        self.engine = EvaluationsEngine(storage, EvaluationsState(found.setting, found.right), found.study)
        self._places: dict[int, StoredPlaces] = {}
        self._sampler: Sampler | None = None
        self._slice, self._soon, self._dealt_at = 1, 0, -float("inf")

    def begin(self, *, restored: bool) -> None:
        """Read everything that is open; begin a new life, if the storage was put back; do what is due."""
        self._look()
        if restored:
            self._do(lambda connection, cells: begin_new_life(self.engine.state, connection, cells))
        self._tend()

    def _do(self, change: Callable[[Connection, CellTable], Value]) -> Value:
        """Carry out a change in a transaction that holds the lock of all evaluations."""
        value: Value = self.engine.submit(lambda connection: change(connection, self.engine.cells(connection)))
        return value

    def _look(self) -> None:
        """Bring what is known up to what is stored."""
        self.engine.submit(lambda connection: None)

    # ------------------------------------------------------------------ opening and assigning

    def make(self, events: int) -> StoredPlaces:
        """Begin an evaluation."""
        self.setting.check_events(events)
        number = self._do(lambda connection, cells: self.engine.state.open(connection, events))
        return self.places(number, events)

    def places(self, number: int, size: int) -> StoredPlaces:
        """Return the places of an evaluation: always the same object."""
        with self.engine.at_rest():
            found = self._places.get(number)
            if found is None:
                found = self._places[number] = StoredPlaces(self, number, size)
            return found

    def find(self, number: int) -> StoredPlaces | None:
        """Return the places of the evaluation of this number; None if there is none."""
        self._look()
        size = self.engine.state.sizes.get(number)
        return None if size is None else self.places(number, size)

    def assign(self) -> tuple[StoredPlaces, str]:
        """Hand out the next id, for the evaluation whose turn it is."""
        engine = self.engine
        engine.check_usable()
        ended: list[int] = []
        with engine.at_rest():
            if not engine.hand or engine.age >= _FRESH:
                self._resize()
                ended = self._do(self._deal)
            while not engine.hand:  # another thread's call, in the same transaction, has taken it
                ended += self._do(self._deal)
            number, slot = engine.hand.popleft()
            (one,) = sign(self._key, engine.state.counters.generation, number, (slot,))
            mine = self.places(number, engine.state.sizes[number])
        self._tend_quietly(ended)
        return mine, one

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
        engine, state = self.engine, self.engine.state
        hand = self._hand().without({number for number, _ in self._hand() if number not in state.rounds})
        if hand:
            engine.next_hand = hand
            return []
        room = sum(live.room for live in state.rounds.values())
        if not room:
            raise Refusal(
                HorizonReached("no evaluation has a place left for another person; open one: open(events=...)")
            )
        ended = self._give_up(connection, cells)
        patience = [self.setting.patience_of(live.size) for live in state.rounds.values()]
        # What is in hand of a process that dies is lost, and what is in hand for long may be given up by the others.
        most = min([room // 8, *(one // 8 for one in patience if one is not None)])
        engine.next_hand = Hand(state.deal(connection, cells, max(1, min(self._slice, most))))
        return ended

    def _hand(self) -> Hand:
        """What is in hand, by what this transaction has changed of it so far."""
        return self.engine.hand if self.engine.next_hand is None else self.engine.next_hand

    def assign_to(self, one: StoredPlaces, size: int) -> list[str]:
        """Hand out the next ids, all for one evaluation."""

        def take(connection: Connection, cells: CellTable) -> tuple[list[str], list[int]]:
            live = self._with_room(connection, cells, one.number, size)
            ended = self._give_up(connection, cells)
            taken = self.engine.state.take(connection, cells, live, size)
            slots = [slot for cell in taken for slot in range(cell.first, cell.end)]
            return sign(self._key, self.engine.state.counters.generation, one.number, slots), ended

        ids, ended = self._do(take)
        self._tend_quietly(ended)
        return ids

    def _with_room(self, connection: Connection, cells: CellTable, number: int, size: int) -> OpenEvaluation:
        """Return an evaluation that has so many places left, those that are in hand here among them; or refuse."""
        state, mine = self.engine.state, self._hand().slots_of(number)
        live = state.rounds.get(number)
        room = 0 if live is None else live.room + len(mine)
        if live is None or size > room:
            left = "" if live is None else f"has {room} of {live.size} places left"
            left = left or ("was abandoned" if state.outcomes[number].mean is None else "is closed")
            refused = HorizonReached(
                f"evaluation {number} {left}, and {size} more {'were' if size > 1 else 'was'} wanted; {UNRECORDED}. "
                "Losses of people who were assigned before are told by their id: tell(loss, ids=id)"
            )
            raise Refusal(refused)
        if size > live.room:
            self._give_back(connection, cells, {number})
        return live

    def _give_back(self, connection: Connection, cells: CellTable, numbers: set[int]) -> None:
        """Give back what is in hand of some evaluations."""
        hand = self._hand()
        for number in numbers:
            self.engine.state.give_back(connection, cells, number, hand.slots_of(number))
        self.engine.next_hand = hand.without(numbers)

    def _give_up(self, connection: Connection, cells: CellTable) -> list[int]:
        """Count losses as missing of evaluations that are out of patience; return these."""
        state = self.engine.state
        overdue = state.overdue(state.counters.asked - len(self._hand()))
        for live in overdue:
            forget_waiting(cells, live)
        return [live.number for live in overdue]

    # ------------------------------------------------------------------ telling

    def tell(self, one: StoredPlaces, ids: Any, losses: NDArray[Any], late: str) -> None:
        """Take in losses, for ids or for the next places; they are on disk when this returns."""
        if ids is None:
            self._tell_next(one, losses.ravel())
            return
        places = self._places_of(one, ids)
        if losses.shape != np.shape(ids):
            raise ValueError(f"losses must have the shape of ids, {np.shape(ids)}, got {losses.shape}")
        self._record(_EvaluationTelling(places, losses.ravel(), repeat=self._repeat, late=late))

    def _tell_next(self, one: StoredPlaces, losses: NDArray[Any]) -> None:
        integers = np.asarray(self.setting.grid.quantise(as_floats(losses)), dtype=np.int64)
        if not len(integers):
            return

        def fill(connection: Connection, cells: CellTable) -> list[int]:
            live = self._with_room(connection, cells, one.number, len(integers))
            ended, at = self._give_up(connection, cells), 0
            last = cells.last_of(live.number, _TOLD_CELL - len(integers))
            for cell in self.engine.state.take(connection, cells, live, len(integers)):
                cell.fill(np.arange(cell.first, cell.end), integers[at : at + cell.size])
                if last is not None and last.end == cell.first:
                    cells.join(last, cell)  # one by one there would be a row for each
                else:
                    cells.write(cell)
                at += cell.size
            return [*ended, one.number] if live.whole else ended

        self._tend_quietly(self._do(fill))

    def forget(self, one: StoredPlaces, ids: Any) -> int:
        """Close places without their losses; return how many."""
        return self._record(_EvaluationTelling(self._places_of(one, ids), None, repeat="ignore", late="drop"))

    def _places_of(self, one: StoredPlaces, ids: Any) -> list[Place]:
        places = places_of(self._key, ids)
        for place in places:
            if place.round != one.number:
                raise UnknownAction(f"an id was not handed out for evaluation {one.number}", UNRECORDED)
        return places

    def _record(self, telling: Telling) -> int:
        told = self.engine.tell(telling)
        if isinstance(told, StudyBehind):
            raise told
        self._tend_quietly(told.filled)
        return told.stored

    # ------------------------------------------------------------------ closing

    def close(self, one: StoredPlaces) -> None:
        """Close an evaluation with what it has."""

        def end(connection: Connection, cells: CellTable) -> None:
            state = self.engine.state
            live = state.rounds.get(one.number)
            if live is None and state.outcomes[one.number].mean is not None:
                return
            if live is None:
                raise Refusal(ValueError(f"evaluation {one.number} cannot be closed: it was abandoned"))
            if not live.reserved - live.returned - len(self._hand().slots_of(one.number)):
                raise Refusal(
                    ValueError(
                        f"evaluation {one.number} cannot be closed: nobody was assigned to it, so it has no mean"
                    )
                )
            self._give_back(connection, cells, {one.number})
            if not live.whole:
                state.end(connection, cells, live)
            forget_waiting(cells, live)

        self._do(end)
        self._tend_to([one.number])

    def abandon(self, one: StoredPlaces) -> None:
        """Drop an evaluation: nothing of it is ever released."""

        def drop(connection: Connection, cells: CellTable) -> None:
            state = self.engine.state
            live = state.rounds.get(one.number)
            if live is not None:
                self.engine.next_hand = self._hand().without({one.number})
                abandon(state, connection, cells, live)
                if not self.engine.storage.is_sqlite:
                    state.counters.erased = state.counters.closed

        self._do(drop)
        self._tend_quietly(())

    def _tend(self) -> None:
        with self.engine.storage.briefly(begin=False) as raw:
            complete = CellTable(raw, self.engine.study, self.engine.storage.is_sqlite).complete()
        self._tend_to(complete)

    def _tend_to(self, numbers: Iterable[int]) -> None:
        """Release evaluations that have all of their losses; and erase these from the log as well."""
        engine = self.engine
        with engine.at_rest():  # the state stands still meanwhile
            for number in numbers:
                if self._is_complete(number):
                    engine.submit_alone(partial(self._release, number))
            erase(engine)

    def _tend_quietly(self, numbers: Iterable[int]) -> None:
        """After a call that is on record: should this fail, the call has not; what is due is tried again later."""
        with suppress(StorageError):
            self._tend_to(numbers)

    def _is_complete(self, number: int) -> bool:
        """Look, without a lock: what is complete stays so until it is closed."""
        with self.engine.storage.briefly(begin=False) as raw:
            return CellTable(raw, self.engine.study, self.engine.storage.is_sqlite).is_complete(number)

    def _release(self, number: int, connection: Connection) -> None:
        state, cells = self.engine.state, self.engine.cells(connection)
        if release(state, connection, cells, number, self._noised) and not self.engine.storage.is_sqlite:
            state.counters.erased = state.counters.closed  # a server's log is not ours to empty

    def _noised(self, total: int) -> int:
        """Return a sum with its noise: drawn for it alone, and shown to nobody before it is committed."""
        if self._sampler is None:
            self._sampler = self.setting.sampler()
        stream = self.setting.stream(self._sampler)
        return int(stream.release(np.array([total], dtype=np.int64))[0])

    # ------------------------------------------------------------------ looking

    def result(self, one: StoredPlaces) -> ReleasedMean | None:
        """Return what an evaluation has released; None if it is open, or was dropped."""
        engine = self.engine
        known = engine.state.outcomes.get(one.number)
        if known is None and not engine.closed:
            self._look()
            self._tend_quietly([one.number])
            known = engine.state.outcomes.get(one.number)
        return None if known is None else known.mean

    def is_abandoned(self, number: int) -> bool:
        """Whether an evaluation was given up without a release."""
        if not self.engine.closed and number in self.engine.state.rounds:
            self._look()
        known = self.engine.state.outcomes.get(number)
        return known is not None and known.mean is None

    def results(self) -> tuple[ReleasedMean, ...]:
        """Return what was released, in the order in which it was."""
        self._look()
        with suppress(StorageError):
            self._tend()
        with self.engine.at_rest():
            found = sorted(self.engine.state.outcomes.values(), key=lambda one: one.order)
        return tuple(one.mean for one in found if one.mean is not None)

    def waiting(self, one: StoredPlaces) -> NDArray[Any]:
        """Return the ids of an evaluation that were handed out, by any process, and have no loss."""

        def look(connection: Connection, cells: CellTable) -> list[int]:
            found = [cell for cell in cells.waiting() if cell.round == one.number]
            in_hand = set(self._hand().slots_of(one.number))
            return [slot for cell in found for slot in cell.pending().tolist() if slot not in in_hand]

        with self.engine.at_rest():
            slots = self._do(look)
            generation = self.engine.state.counters.generation
        return np.array(sign(self._key, generation, one.number, slots), dtype=str)

    def counts(self, number: int) -> tuple[int, int]:
        """Return how many places of an evaluation are taken, and how many are left."""
        engine = self.engine
        if not engine.closed:
            self._look()
        live, known = engine.state.rounds.get(number), engine.state.outcomes.get(number)
        if live is None:
            return (0 if known is None or known.mean is None else known.mean.events), 0
        in_hand = len(engine.hand.slots_of(number))
        return live.reserved - live.returned - in_hand, live.room + in_hand

    @property
    def still_open(self) -> tuple[StoredPlaces, ...]:
        """The places of the evaluations that are open."""
        if not self.engine.closed:
            self._look()
        with self.engine.committer.turn:
            return tuple(self.places(number, live.size) for number, live in self.engine.state.rounds.items())

    @property
    def assigned(self) -> int:
        """Ids that were handed out, or are in another process's hand."""
        counters = self.engine.state.counters
        return counters.asked - counters.returned - len(self.engine.hand)

    # ------------------------------------------------------------------ the end

    def leave(self) -> None:
        """Give back what is in hand, and close the connection; everything else is on record already."""
        engine = self.engine
        with suppress(ForkRefused), engine.at_rest():  # a child leaves alone what is its parent's
            if not engine.closed:
                with suppress(StorageError):
                    if engine.hand:
                        numbers = {number for number, _ in engine.hand}
                        self._do(lambda connection, cells: self._give_back(connection, cells, numbers))
                    engine.note_erasure()
                engine.closed = True
                engine.storage.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise CopyRefused(
            "stored evaluations cannot be copied or pickled: open them again, by URL and name, where they are needed"
        )
