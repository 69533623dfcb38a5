"""Ending stored evaluations: what is complete is released, what was given up is dropped, and what is over is erased."""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

import numpy as np
from sqlalchemy import Connection

from sottovoce.errors import StorageError
from sottovoce.evaluations.stored._closing import abandon, forget_waiting, release
from sottovoce.evaluations.stored._engine import EvaluationsEngine
from sottovoce.privacy.noise import Sampler
from sottovoce.studies.calls.closing import erase
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.session.engine import Refusal

__all__ = ["Ender"]


class Ender:
    """Ends evaluations, and releases those that have all of their losses.

    Parameters
    ----------
    engine
        Of the evaluations.
    """

    def __init__(self, engine: EvaluationsEngine) -> None:
        self._engine = engine
        self._sampler: Sampler | None = None

    # ------------------------------------------------------------------ by whoever conducts them

    def close(self, number: int) -> None:
        """Close an evaluation with those who were assigned so far."""
        engine = self._engine

        def end(connection: Connection) -> None:
            state, cells = engine.state, engine.cells(connection)
            live = state.rounds.get(number)
            if live is None and state.outcomes[number].mean is not None:
                return
            if live is None:
                raise Refusal(ValueError(f"evaluation {number} cannot be closed: it was abandoned"))
            if not live.reserved - live.returned - len(engine.hand_now().slots_of(number)):
                words = f"evaluation {number} cannot be closed: nobody was assigned to it, so it has no mean"
                raise Refusal(ValueError(words))
            engine.give_back(connection, cells, {number})
            if not live.whole:
                state.end(connection, cells, live)
            forget_waiting(cells, live)

        engine.submit(end)
        self._tend_to([number])

    def abandon(self, number: int) -> None:
        """Drop an evaluation: nothing of it is ever released. What is closed stays as it is."""
        engine = self._engine

        def drop(connection: Connection) -> None:
            state = engine.state
            live = state.rounds.get(number)
            if live is not None:
                engine.next_hand = engine.hand_now().without({number})
                abandon(state, connection, engine.cells(connection), live)
                self._note_erased()

        engine.submit(drop)
        self.tend_quietly(())

    # ------------------------------------------------------------------ as they are complete

    def tend(self) -> None:
        """Release all that is complete, whoever has completed it; and erase what it leaves behind."""
        engine = self._engine
        with engine.at_rest(), engine.storage.unwinding():
            with engine.storage.briefly(begin=False) as raw:
                complete = CellTable(raw, engine.study, engine.storage.is_sqlite).complete()
            self._tend_to(complete)

    def tend_quietly(self, numbers: Iterable[int]) -> None:
        """Do so for some, after a call that is on record: should this fail, the call has not, and it is tried again."""
        with suppress(StorageError):
            self._tend_to(numbers)

    def _tend_to(self, numbers: Iterable[int]) -> None:
        engine = self._engine
        with engine.at_rest(), engine.storage.unwinding():  # the state stands still meanwhile
            for number in numbers:
                if self._is_complete(number):
                    engine.submit_alone(partial(self._release, number))
            erase(engine)

    def _is_complete(self, number: int) -> bool:
        """Look, without a lock: what is complete stays so until it is closed."""
        with self._engine.storage.briefly(begin=False) as raw:
            return CellTable(raw, self._engine.study, self._engine.storage.is_sqlite).is_complete(number)

    def _release(self, number: int, connection: Connection) -> None:
        if release(self._engine.state, connection, self._engine.cells(connection), number, self._noised):
            self._note_erased()

    def _note_erased(self) -> None:
        if not self._engine.storage.is_sqlite:  # a server's log is not ours to empty
            self._engine.state.counters.erased = self._engine.state.counters.closed

    def _noised(self, total: int) -> int:
        """Return a sum with its noise: drawn for it alone, and shown to nobody before it is committed."""
        setting = self._engine.state.setting
        if self._sampler is None:
            self._sampler = setting.sampler()
        stream = setting.stream(self._sampler)
        return int(stream.release(np.array([total], dtype=np.int64))[0])
