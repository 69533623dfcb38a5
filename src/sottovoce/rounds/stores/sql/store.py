"""Open rounds in a database that processes share.

- **Asking** (`_leasing.py`) hands out leased slots from memory. A new lease is one transaction, under its book's lock.
- **Telling** (`_losses.py`) changes the row of the chunk that the slots are in: one statement, one commit.
- **Releasing** (there, too) reads, draws, erases and stores in one transaction.
- **Streams of one round**, evaluations, are opened and ended under the lock of the book.
- **A database that went back** is noticed, and a new incarnation begun (`_book_rows.py`).

How an interrupted call leaves things: a transaction is undone; a statement has happened or not. What a process holds of
leases changes after their commit, in one assignment.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import Record, checksum, pack
from sottovoce.errors import StudyDamaged
from sottovoce.rounds.round import MISSING, PENDING, PLACE, PLACES, Round, leading
from sottovoce.rounds.store import (
    BEHIND,
    EARLIER,
    LATE,
    TOLD,
    UNASKED,
    UNWANTED_LOSS,
    Begin,
    OpenRound,
    states_of,
)
from sottovoce.rounds.stores.sql._book_rows import NONE, OF_ROUND, ROUND, SUMMED, BookCounters, Steps
from sottovoce.rounds.stores.sql._losses import Losses
from sottovoce.rounds.stores.sql.books import INSERT_STREAM, add_stream
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import DROPPED

_FULL = ", (SELECT min(full_at) FROM sottovoce_rounds WHERE book = b.book AND open = 1)"
_ROUND_OF = (
    "SELECT stream, number, first, reserved, reached FROM sottovoce_rounds WHERE book = ? AND first <= ? "
    "ORDER BY first DESC LIMIT 1"
)

_CUT_CHUNK = (
    "UPDATE sottovoce_chunks SET wanted = wanted - (length(slots) - CAST(? AS int)) / CAST(? AS int), "
    f"slots = substr(slots, 1, CAST(? AS int)) WHERE {OF_ROUND} AND chunk = ?"
)
_END_ROUND = (
    "UPDATE sottovoce_rounds SET size = reserved, full_at = coalesce(full_at, ?), full_time = coalesce(full_time, ?) "
    "WHERE book = ? AND stream = ? AND number = ?"
)


class SqlStore(Losses):
    """Open rounds of one book in a database.

    Parameters
    ----------
    database
        Where it is.
    book
        The number of the book there.
    shape
        What a slot holds.
    """

    shared = True
    fresh: float | None = 1.0
    """Seconds for which leases are handed out without a look: others may have given up on them meanwhile."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._looked = time.monotonic()
        self.check()

    def check(self) -> None:
        """See how far the book has come, and what others have made of slots that are leased here."""
        (self._full_at,) = self._look_at_counters(_FULL)
        if self._own() and time.monotonic() - self._looked > (self.fresh or 0.0):
            self.renew()
        self._try_to_erase()
        self._looked = time.monotonic()

    # ------------------------------------------------------------------ streams

    def names(self) -> Sequence[str]:
        """Return the names of the streams that there are, in order."""
        select = "SELECT name FROM sottovoce_streams WHERE book = ? ORDER BY stream"
        return [name for (name,) in self._base.run(select, self._book)]

    def stream(self, name: str, check: Callable[[], None] | None = None) -> int:
        """Return the stream of a name, added if there is none; `check`, which may look at `names`, can refuse it."""
        return add_stream(self._base, self._book, name, check)

    def asked(self, stream: int) -> int:
        """How many events of a stream were asked: those that other processes have leased among them."""
        found = self._newest_stored(stream)
        return 0 if found.newest is None else found.newest.position + found.reserved - self.left(stream)

    # ------------------------------------------------------------------ settings

    def settings(self) -> tuple[int | None, float | None]:
        """Return patience and deadline, as they were when this process last looked."""
        return self._seen.patience, self._seen.deadline

    def change_settings(self, **settings: Any) -> None:
        """Change `patience` or `deadline`, for all processes."""

        def change(counters: BookCounters, steps: Steps) -> None:
            for name, value in settings.items():
                setattr(counters, name, value)

        self._locked(change)

    @property
    def common(self) -> Record:
        """What all streams have in common, as it was amended last: public."""
        ((common,),) = self._base.run("SELECT common FROM sottovoce_books WHERE book = ?", self._book)
        return {} if common is None else unpacked(common, "what all streams have in common")

    @common.setter
    def common(self, common: Record) -> None:
        self._base.run("UPDATE sottovoce_books SET common = ? WHERE book = ?", pack(common), self._book)

    def amend(self, common: Callable[[Record], Record]) -> None:
        """Replace what is common by what follows from it, while nobody else can lease; whoever leases next sees it."""

        def change(counters: BookCounters, steps: Steps) -> None:
            self.common = found = common(self.common)
            counters.changes = checksum(pack(found))

        self._locked(change)

    # ------------------------------------------------------------------ looking

    def look(self, ids: Integers) -> NDArray[np.int8]:
        """Say of each id what became of its slot; an id that the storage does not know yet begins a new incarnation."""
        self.check()
        states: NDArray[np.int8] = np.full(len(ids), EARLIER, dtype=np.int8)
        states[ids >> PLACES > self.incarnation] = BEHIND
        here = np.flatnonzero(ids >> PLACES == self.incarnation)
        for chunk in np.unique((ids[here] & PLACE) >> self._slots.bits).tolist():
            mine = here[(ids[here] & PLACE) >> self._slots.bits == chunk]
            states[mine] = self._states(chunk, ids[mine] & PLACE)
        if (states == BEHIND).any() and not self._begin_anew(int(ids.max()) >> PLACES):
            return self.look(ids)  # somebody else has
        return states

    def _states(self, chunk: int, places: Integers) -> NDArray[np.int8]:
        """Say what became of slots of one chunk."""
        states = np.full(len(places), BEHIND, dtype=np.int8)  # ids are signed: it was handed out, and is not known
        rounds = self._base.run(_ROUND_OF, self._book, chunk << self._slots.bits)
        if not rounds:
            return states
        ((stream, number, first, reserved, reached),) = rounds
        known = places < first + reached
        if not known.any():
            return states
        chunks = self._base.run("SELECT slots FROM sottovoce_chunks WHERE book = ? AND chunk = ?", self._book, chunk)
        if chunks:
            slots = leading(self._slots.unpacked(bytes(chunks[0][0])))
            found = states_of(slots[np.minimum(places & self._slots.per_chunk - 1, len(slots) - 1)], UNASKED)
            if chunk in self._leased:
                found[self._are_leased(places, chunk)] = UNASKED
        else:
            state, record = self._released(stream, number)
            late = np.isin(places - first, record["missing"]) | (state == DROPPED)
            found = np.where(late, LATE, TOLD).astype(np.int8)
            found[np.isin(places - first, record["unwanted"])] = UNWANTED_LOSS
        found[places - first >= reserved] = UNASKED  # given back
        states[known] = found[known]
        return states

    def _released(self, stream: int, number: int) -> tuple[int, Record]:
        rows = self._base.run(
            f"SELECT state, released FROM sottovoce_releases WHERE {OF_ROUND}", self._book, stream, number
        )
        if not rows:
            raise StudyDamaged(f"round {number} has neither its losses nor a release: restore a backup, restored=True")
        return rows[0][0], unpacked(rows[0][1], f"the release of round {number}")

    def open_rounds(self) -> Sequence[OpenRound]:
        """Return the rounds that are not released, in the order in which they began."""
        rows = self._base.run(
            f"SELECT {ROUND}, r.reserved, r.full_at, r.full_time, {SUMMED.format('closed')}, "
            f"{SUMMED.format('missing')} FROM sottovoce_rounds r "
            "WHERE r.book = ? AND r.open = 1 ORDER BY r.first",
            self._book,
        )
        waiting, found = self.waiting(), list[OpenRound]()
        for *row, reserved, full_at, full_time, closed, missing in rows:
            one = self._read_round(*row)
            asked = reserved - sum(lease.left for lease in self._own() if lease.round.first == one.first)
            waits = int(np.count_nonzero((one.first <= waiting) & (waiting < one.end)))
            found.append(OpenRound(one, asked, waits, full_at, full_time, closed - missing, missing))
        return found

    def waiting(self, limit: int | None = None) -> Integers:
        """Return the ids that were handed out and wait for their loss, the oldest first."""
        rows = self._base.run(
            "SELECT chunk, slots FROM sottovoce_chunks WHERE book = ? AND closed < wanted ORDER BY chunk", self._book
        )
        found = [
            (chunk << self._slots.bits) + np.flatnonzero(leading(self._slots.unpacked(bytes(data))) == PENDING)
            for chunk, data in rows
        ]
        places = np.concatenate([NONE, *found])
        for lease in self._own():
            start = lease.first & PLACE
            places = places[(places < start + lease.at) | (places >= start + lease.size)]
        return (self.incarnation << PLACES | places)[:limit]

    # ------------------------------------------------------------------ streams of one round: evaluations

    def open_stream(self, begin: Begin) -> int:
        """Add a stream, and begin its round; return its number."""

        def add(counters: BookCounters, steps: Steps) -> int:
            stream = len(self.closed())
            draft, place = begin(stream, 0, counters.clock), counters.next_place
            counters.next_place = place - (-draft.size >> self._slots.bits << self._slots.bits)
            steps.append((INSERT_STREAM, (self._book, stream, str(stream), 1, b"")))
            one = self._book, stream, place, draft.size, pack(draft.public)
            steps.append(("INSERT INTO sottovoce_rounds VALUES (?, ?, 0, 1, ?, ?, 0, 0, 0, NULL, NULL, ?)", one))
            return stream

        stream = self._locked(add)
        assert stream is not None
        return stream

    def round_of(self, stream: int) -> Round:
        """Return the newest round of a stream."""
        found = self._newest_stored(stream).newest
        assert found is not None
        return found

    def room(self) -> dict[int, int]:
        """Return how many slots this process can hand out of the newest round of each stream; of open rounds only."""
        rows = self._base.run(
            "SELECT stream, size - reserved FROM sottovoce_rounds WHERE book = ? AND open = 1 ORDER BY stream, number",
            self._book,
        )
        return {stream: free + self.left(stream) for stream, free in rows}

    # ------------------------------------------------------------------ ending

    def finish(self, stream: int) -> None:
        """End the newest round of a stream with the slots that somebody has; close those that wait for a loss.

        What this process has not handed out is given back before.
        """
        self._locked(lambda counters, steps: self._end(counters, steps, stream))
        self.retire(stream)

    def _end(self, counters: BookCounters, steps: Steps, stream: int) -> None:
        self._give_back(counters, [one for one in self.held(stream) if one.left])
        stored = self._newest_stored(stream)
        if stored.newest is not None and stored.open:
            first, size = stored.newest.first & PLACE, stored.reserved
            self._put(self._slots.by_chunk(np.arange(first, first + size)), MISSING, must_wait=False)
            last, left = first + size >> self._slots.bits, size & self._slots.per_chunk - 1
            length, of_round = left * self._slots.bytes, (self._book, stream, stored.newest.number)
            steps += [
                (_CUT_CHUNK, (length, self._slots.bytes, length, *of_round, last)),
                (f"DELETE FROM sottovoce_chunks WHERE {OF_ROUND} AND chunk >= ?", (*of_round, last + (left > 0))),
                (_END_ROUND, (counters.clock, self._base.now(), *of_round)),
            ]

    def drop(self, stream: int) -> None:
        """Close the open round of a stream without a release; erase its losses."""
        self._locked(lambda counters, steps: self._drop_open(steps, stream))
        self.retire(stream)
        self.erase()

    def retire(self, stream: int) -> None:
        """Let go of the leases of a stream whose round is closed."""
        self.give_up_leases(stream)
