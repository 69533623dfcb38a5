"""Streams of one round, which somebody ends: evaluations. All of it is done under the lock of the book."""

from collections.abc import Callable

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._records import Record, pack
from sottovoce.rounds.round import MISSING, PENDING, UNUSED, UNWANTED, Round
from sottovoce.rounds.store import Begin
from sottovoce.rounds.stores.sql._book_rows import NONE, Steps
from sottovoce.rounds.stores.sql._head import Head
from sottovoce.rounds.stores.sql._releasing import Releasing
from sottovoce.rounds.stores.sql._slots import PLACE, leading, signed
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import DROPPED
from sottovoce.rounds.stores.sql.seals import seal_of

__all__ = ["SingleRounds"]

_OF_ROUND = "book = ? AND stream = ? AND round = ?"


class SingleRounds(Releasing):
    """How streams of one round are opened, and ended before all of their slots are handed out."""

    @property
    def note(self) -> Record:
        """What is kept for all streams together: public."""
        ((note,),) = self._base.run("SELECT note FROM sottovoce_books WHERE book = ?", self._book)
        return {} if note is None else unpacked(note, "whose turn it is")

    @note.setter
    def note(self, note: Record) -> None:
        self._base.run("UPDATE sottovoce_books SET note = ? WHERE book = ?", pack(note), self._book)

    @property
    def opened(self) -> int:
        """How many streams there are."""
        return int(self._base.run("SELECT count(*) FROM sottovoce_streams WHERE book = ?", self._book)[0][0])

    @property
    def ended(self) -> int:
        """How many rounds of all streams are released, or dropped."""
        return int(self._base.run("SELECT count(*) FROM sottovoce_releases WHERE book = ?", self._book)[0][0])

    def open_stream(self, begin: Begin) -> int:
        """Add a stream, and begin its round; return its number."""

        def add(head: Head, steps: Steps) -> int:
            stream = self.opened
            draft, place = begin(stream, 0, head.clock), head.next_place
            head.next_place = place - (-draft.size >> self._slots.bits << self._slots.bits)
            row = self._book, stream, str(stream), pack({}), b""
            steps.append(("INSERT INTO sottovoce_streams VALUES (?, ?, ?, ?, 1, 0, 0, NULL, ?)", row))
            one = self._book, stream, place, draft.size, pack(draft.public)
            steps.append(("INSERT INTO sottovoce_rounds VALUES (?, ?, 0, 1, ?, ?, 0, 0, NULL, NULL, ?)", one))
            return stream

        stream = self._locked(add)
        assert stream is not None
        return stream

    def round_of(self, stream: int) -> Round:
        """Return the newest round of a stream."""
        newest = "SELECT max(number) FROM sottovoce_rounds WHERE book = ? AND stream = ?"
        return self._round(stream, self._base.run(newest, self._book, stream)[0][0])

    def room(self) -> dict[int, int]:
        """Return how many slots this process can hand out of the newest round of each stream; of open rounds only."""
        rows = self._base.run(
            "SELECT stream, CAST(size - reserved + coalesce((SELECT sum(stop - start) FROM sottovoce_spares s WHERE "
            "s.book = r.book AND s.stream = r.stream AND s.round = r.number), 0) AS bigint) FROM sottovoce_rounds r "
            "WHERE book = ? AND open = 1 ORDER BY stream, number",
            self._book,
        )
        return {stream: free + self.left(stream) for stream, free in rows}

    def overdue(self, patience: Callable[[int], int | None]) -> list[int]:
        """Return streams with a round that has been full for as many events as its size is patient for."""
        rows = self._base.run(
            "SELECT stream, size, full_at FROM sottovoce_rounds r WHERE book = ? AND open = 1 AND full_at IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM sottovoce_spares s WHERE s.book = r.book AND s.stream = r.stream "
            "AND s.round = r.number) ORDER BY stream",
            self._book,
        )
        clock = self.clock
        return [one for one, size, at in rows if (wait := patience(size)) is not None and at + wait <= clock]

    # ------------------------------------------------------------------ ending

    def finish(self, stream: int) -> None:
        """End the newest round of a stream with the slots that somebody has; close those that wait for a loss.

        What was given back, and what this process has not handed out, takes no loss.
        """
        self._locked(lambda head, steps: self._end(head, steps, stream))
        self.retire(stream)

    def _end(self, head: Head, steps: Steps, stream: int) -> None:
        found = self._newest_open(stream)
        if found is None:
            return
        one, size, _ = found
        mine, first = (self._book, stream, one.number), one.first & PLACE
        nobody = np.zeros(size, dtype=bool)
        for start, stop in self._base.run(f"SELECT start, stop FROM sottovoce_spares WHERE {_OF_ROUND}", *mine):
            nobody[start - first : stop - first] = True
            head.clock += stop - start  # they count as asked, as all that takes no loss
        for lease in self.held(stream):
            nobody[lease.start + lease.at : lease.start + lease.size] = True
        select = f"SELECT cell, seal, slots FROM sottovoce_cells WHERE {_OF_ROUND} ORDER BY cell{self._base.lock}"
        for cell, seal, data in self._base.run(select, *mine):
            start = (cell << self._slots.bits) - first
            slots = self._slots.unpacked(bytes(data))[: size - start]
            steps.append(self._closed_cell(cell, seal, slots, nobody[start : start + len(slots)]))
        steps.append((f"DELETE FROM sottovoce_spares WHERE {_OF_ROUND}", mine))
        cut = (
            "UPDATE sottovoce_rounds SET size = reserved, full_at = coalesce(full_at, ?), "
            "full_time = coalesce(full_time, ?) WHERE book = ? AND stream = ? AND number = ?"
        )
        steps.append((cut, (head.clock, self._base.now(), *mine)))

    def _closed_cell(self, cell: int, seal: int, slots: Integers, nobody: Integers) -> tuple[str, tuple[object, ...]]:
        """Return what closes a cell: slots that nobody has take no loss, those that wait will have none."""
        waits = np.isin(leading(slots), (PENDING, UNUSED))
        slots[waits & nobody], slots[waits & ~nobody] = UNWANTED, MISSING
        places = (cell << self._slots.bits) + np.flatnonzero(waits & ~nobody)
        wanted, missing = (
            int(np.count_nonzero(one)) for one in (leading(slots) != UNWANTED, leading(slots) == MISSING)
        )
        sealed = signed(seal ^ seal_of(places, slots[waits & ~nobody]))
        row = wanted, wanted, missing, sealed, self._slots.packed(slots), self._book, cell
        update = "SET wanted = ?, closed = ?, missing = ?, seal = ?, slots = ? WHERE book = ? AND cell = ?"
        return f"UPDATE sottovoce_cells {update}", row

    def drop(self, stream: int) -> None:
        """Close the open round of a stream without a release; erase its losses."""
        self._locked(lambda head, steps: self._drop(steps, stream))
        self.retire(stream)
        self.erase()

    def _drop(self, steps: Steps, stream: int) -> None:
        found = self._newest_open(stream)
        if found is None:
            return
        one, size, public = found
        mine = self._book, stream, one.number
        ((closed, missing),) = self._base.run(
            "SELECT CAST(coalesce(sum(closed), 0) AS bigint), CAST(coalesce(sum(missing), 0) AS bigint) "
            f"FROM sottovoce_cells WHERE {_OF_ROUND}",
            *mine,
        )
        chain = self._base.run("SELECT chain FROM sottovoce_streams WHERE book = ? AND stream = ?", *mine[:2])[0][0]
        ended = "SET open = 0, size = reserved WHERE book = ? AND stream = ? AND number = ?"
        steps += [(f"DELETE FROM sottovoce_{table} WHERE {_OF_ROUND}", mine) for table in ("spares", "cells")]
        steps.append((f"UPDATE sottovoce_rounds {ended}", mine))
        record, counts = pack({"missing": NONE, "unwanted": NONE}), (closed - missing, missing, DROPPED)
        self._add_release(steps, one._replace(size=size), public, counts, record, chain)

    def _newest_open(self, stream: int) -> tuple[Round, int, bytes] | None:
        """Return the newest round of a stream, how much of it is leased, and its record as stored; None if closed."""
        rows = self._base.run(
            "SELECT number, first, size, position, reserved, public FROM sottovoce_rounds WHERE book = ? "
            f"AND stream = ? AND open = 1 ORDER BY number DESC LIMIT 1{self._base.lock}",
            self._book,
            stream,
        )
        for number, first, size, position, reserved, public in rows:
            one = self._read_round(stream, number, first, size, position, public)
            return one, reserved, bytes(public)
        return None

    def retire(self, stream: int) -> None:
        """Let go of the leases of a stream whose round is closed."""
        self._waiting.pop(stream, None)
        self.leases = {one: lease for one, lease in self.leases.items() if one != stream}
