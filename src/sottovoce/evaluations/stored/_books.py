"""The books of stored evaluations: the same calls as in memory, each durable before it returns.

What is released, who are neighbours, the sensitivity and the proof are those of evaluations in memory (the head of
evaluations/_books.py): every event is in one place of one evaluation, and one noisy number of each is ever released.
That this holds over processes, crashes and restored backups is the storage's part: a bit for each place makes its loss
count once; a release is committed by compare-and-set, with the losses deleted in the same transaction; a storage that
went back in time begins a new life, in which whatever was not released is dropped (studies/session/engine.py,
evaluations/stored/_closing.py).

Tests: tests/evaluations/stored.
"""

from contextlib import suppress
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
    InvalidLoss,
    SottovoceError,
    StorageError,
    StudyBehind,
    UnknownAction,
)
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.evaluations.released_mean import ReleasedMean
from sottovoce.evaluations.stored._assigning import Assigner
from sottovoce.evaluations.stored._closing import begin_new_life
from sottovoce.evaluations.stored._ending import Ender
from sottovoce.evaluations.stored._engine import EvaluationsEngine
from sottovoce.evaluations.stored._opening import Found
from sottovoce.evaluations.stored._state import EvaluationsState
from sottovoce.evaluations.stored.verifying import EvaluationsVerification, verify_evaluations
from sottovoce.studies.calls.ids import Place, places_of, sign
from sottovoce.studies.calls.telling import Telling
from sottovoce.studies.calls.telling_each import Recorded
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.session.engine import Told

__all__ = ["StoredBooks", "StoredPlaces"]

Value = TypeVar("Value")
_TOLD_CELL = 64  # places of a cell that is told its losses as it is made: it is written anew with every one


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
        self._ender = Ender(self.engine)
        self._assigner = Assigner(self.engine, found.key, self._ender)
        self._places: dict[int, StoredPlaces] = {}

    def begin(self, *, restored: bool) -> None:
        """Read everything that is open; begin a new life, if the storage was put back; do what is due."""
        self._look()
        if restored:
            self._assigner.do(lambda connection, cells: begin_new_life(self.engine.state, connection, cells))
        self._ender.tend()

    def _look(self) -> None:
        """Bring what is known up to what is stored."""
        self.engine.submit(lambda connection: None)

    # ------------------------------------------------------------------ opening and assigning

    def make(self, events: int) -> StoredPlaces:
        """Begin an evaluation."""
        self.setting.check_events(events)
        number = self._assigner.do(lambda connection, cells: self.engine.state.open(connection, events))
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
        number, person = self._assigner.one()
        return self._placed(number), person

    def assign_several(self, size: int) -> list[tuple[StoredPlaces, str]]:
        """Hand out the next ids by turns, all of them or none."""
        return [(self._placed(number), person) for number, person in self._assigner.several(size)]

    def assign_to(self, one: StoredPlaces, size: int) -> list[str]:
        """Hand out the next ids, all for one evaluation."""
        return self._assigner.to(one.number, size)

    def _placed(self, number: int) -> StoredPlaces:
        return self.places(number, self.engine.state.sizes[number])

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
            live = self._assigner.with_room(connection, cells, one.number, len(integers))
            ended, at = self._assigner.give_up(connection, cells), 0
            last = cells.last_of(live.number, _TOLD_CELL - len(integers))
            for cell in self.engine.state.take(connection, cells, live, len(integers)):
                cell.fill(np.arange(cell.first, cell.end), integers[at : at + cell.size])
                if last is not None and last.end == cell.first:
                    cells.join(last, cell)  # one by one there would be a row for each
                else:
                    cells.write(cell)
                at += cell.size
            return [*ended, one.number] if live.whole else ended

        self._ender.tend_quietly(self._assigner.do(fill))

    def tell_ids(self, ids: Any, losses: NDArray[Any], late: str) -> Recorded:
        """Take in losses by their ids, of whichever evaluations; return what became of them."""
        places = places_of(self._key, ids)
        if losses.size != len(places):
            raise InvalidLoss(f"there must be a loss for each of {len(places)} ids; {UNRECORDED}")
        told = self._record(_EvaluationTelling(places, losses.ravel(), repeat=self._repeat, late=late))
        return Recorded(told.stored, told.already, told.dropped)

    def forget(self, one: StoredPlaces | None, ids: Any) -> int:
        """Close places without their losses, of one evaluation or of whichever; return how many."""
        places = places_of(self._key, ids) if one is None else self._places_of(one, ids)
        return self._record(_EvaluationTelling(places, None, repeat="ignore", late="drop")).stored

    def _places_of(self, one: StoredPlaces, ids: Any) -> list[Place]:
        places = places_of(self._key, ids)
        for place in places:
            if place.round != one.number:
                raise UnknownAction(f"an id was not handed out for evaluation {one.number}", UNRECORDED)
        return places

    def _record(self, telling: Telling) -> Told:
        told = self.engine.tell(telling)
        if isinstance(told, StudyBehind):
            raise told
        self._ender.tend_quietly(told.filled)
        return told

    def close(self, one: StoredPlaces) -> None:
        """Close an evaluation with what it has."""
        self._ender.close(one.number)

    def abandon(self, one: StoredPlaces) -> None:
        """Drop an evaluation: nothing of it is ever released."""
        self._ender.abandon(one.number)

    # ------------------------------------------------------------------ looking

    def result(self, one: StoredPlaces) -> ReleasedMean | None:
        """Return what an evaluation has released; None if it is open, or was dropped."""
        engine = self.engine
        known = engine.state.outcomes.get(one.number)
        if known is None and not engine.closed:
            self._look()
            self._ender.tend_quietly([one.number])
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
            self._ender.tend()
        with self.engine.at_rest():
            found = sorted(self.engine.state.outcomes.values(), key=lambda one: one.order)
        return tuple(one.mean for one in found if one.mean is not None)

    def waiting(self, one: StoredPlaces) -> NDArray[Any]:
        """Return the ids of an evaluation that were handed out, by any process, and have no loss."""

        def look(connection: Connection, cells: CellTable) -> list[int]:
            found = [cell for cell in cells.waiting() if cell.round == one.number]
            in_hand = set(self.engine.hand_now().slots_of(one.number))
            return [slot for cell in found for slot in cell.pending().tolist() if slot not in in_hand]

        with self.engine.at_rest():
            slots = self._assigner.do(look)
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

    def verify(self) -> EvaluationsVerification:
        """Check all that is stored."""
        engine = self.engine
        with engine.at_rest(), engine.storage.unwinding():
            engine.check_usable()
            with engine.storage.transaction() as connection:
                return verify_evaluations(connection, engine.study, self.setting)

    # ------------------------------------------------------------------ the end

    def leave(self) -> None:
        """Give back what is in hand, and close the connection; everything else is on record already."""
        engine = self.engine
        with suppress(ForkRefused), engine.at_rest():  # a child leaves alone what is its parent's
            if not engine.closed:
                with suppress(SottovoceError):  # it is closed, whatever is wrong with what is stored
                    if engine.hand:
                        self._assigner.give_all_back()
                    engine.note_erasure()
                engine.storage.close()
                engine.closed = True

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise CopyRefused(
            "stored evaluations cannot be copied or pickled: open them again, by URL and name, where they are needed"
        )
