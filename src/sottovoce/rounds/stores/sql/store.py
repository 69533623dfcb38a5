"""Open rounds in a database that processes share.

- **Asking** (`_leasing.py`) hands out leased slots from memory. A new lease is one transaction, under its book's lock.
- **Telling** (`_telling.py`) changes the row of the cell that the slots are in: one statement, one commit.
- **Releasing** (`_releasing.py`) reads, draws, erases and stores in one transaction.
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
from sottovoce._records import Record
from sottovoce.errors import StudyDamaged
from sottovoce.rounds.round import MISSING, PENDING, PLACES, UNUSED, UNWANTED
from sottovoce.rounds.store import BEHIND, EARLIER, LATE, TOLD, UNASKED, UNWANTED_LOSS, WAITING, OpenRound
from sottovoce.rounds.stores.sql._book_rows import NONE, Steps
from sottovoce.rounds.stores.sql._head import Head
from sottovoce.rounds.stores.sql._single_rounds import SingleRounds
from sottovoce.rounds.stores.sql._slots import PLACE, leading
from sottovoce.rounds.stores.sql.books import add_stream, streams_of
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import DROPPED

__all__ = ["SqlStore"]

_FULL = ", (SELECT min(full_at) FROM sottovoce_rounds WHERE book = b.book AND open = 1)"
_ROUND_OF = (
    "SELECT stream, number, first, reserved FROM sottovoce_rounds WHERE book = ? AND first <= ? "
    "ORDER BY first DESC LIMIT 1"
)


class SqlStore(SingleRounds):
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
        (self._full_at,) = self._look_at_head(_FULL)
        if self._own() and time.monotonic() - self._looked > (self.fresh or 0.0):
            self._renew()
        self._try_to_erase()
        self._looked = time.monotonic()

    # ------------------------------------------------------------------ streams

    def names(self) -> Sequence[str]:
        """Return the names of the streams that there are, in order."""
        return streams_of(self._base, self._book)

    def stream(self, name: str, check: Callable[[], None] | None = None) -> int:
        """Return the stream of a name, added if there is none; `check`, which may look at `names`, can refuse it."""
        return add_stream(self._base, self._book, name, check)

    def asked(self, stream: int) -> int:
        """How many events of a stream were asked: those that other processes have leased among them."""
        rows = self._base.run(
            "SELECT r.position + r.reserved, (SELECT CAST(coalesce(sum(stop - start), 0) AS bigint) "
            "FROM sottovoce_spares s WHERE s.book = r.book AND s.stream = r.stream) FROM sottovoce_rounds r "
            "WHERE r.book = ? AND r.stream = ? ORDER BY r.number DESC LIMIT 1",
            self._book,
            stream,
        )
        return rows[0][0] - rows[0][1] - self.left(stream) if rows else 0

    # ------------------------------------------------------------------ settings

    def settings(self) -> tuple[int | None, float | None]:
        """Return patience and deadline, as they were when this process last looked."""
        return self._seen.patience, self._seen.deadline

    def set_patience(self, patience: int | None, deadline: float | None) -> None:
        """Change both, for all processes."""

        def change(head: Head, steps: Steps) -> None:
            head.patience, head.deadline = patience, None if deadline is None else float(deadline)

        self._locked(change)

    # ------------------------------------------------------------------ looking

    def look(self, ids: Integers) -> NDArray[np.int8]:
        """Say of each id what became of its slot; an id that the storage does not know yet begins a new incarnation."""
        self.check()
        states: NDArray[np.int8] = np.full(len(ids), EARLIER, dtype=np.int8)
        states[ids >> PLACES > self.incarnation] = BEHIND
        here = np.flatnonzero(ids >> PLACES == self.incarnation)
        for cell in np.unique((ids[here] & PLACE) >> self._slots.bits).tolist():
            mine = here[(ids[here] & PLACE) >> self._slots.bits == cell]
            states[mine] = self._states(cell, ids[mine] & PLACE)
        if (states == BEHIND).any() and not self._begin_anew(int(ids.max()) >> PLACES):
            return self.look(ids)  # somebody else has
        return states

    def _states(self, cell: int, places: Integers) -> NDArray[np.int8]:
        """Say what became of slots of one cell."""
        states = np.full(len(places), BEHIND, dtype=np.int8)  # ids are signed: it was handed out, and is not known
        rounds = self._base.run(_ROUND_OF, self._book, cell << self._slots.bits)
        if not rounds:
            return states
        ((stream, number, first, reserved),) = rounds
        known = places < first + reserved
        if not known.any():
            return states
        cells = self._base.run("SELECT slots FROM sottovoce_cells WHERE book = ? AND cell = ?", self._book, cell)
        if cells:
            slots = leading(self._slots.unpacked(bytes(cells[0][0])))
            marks = slots[np.minimum(places & self._slots.per_cell - 1, len(slots) - 1)]
            found = np.full(len(places), TOLD, dtype=np.int8)
            for mark, state in ((PENDING, WAITING), (MISSING, LATE), (UNWANTED, UNWANTED_LOSS), (UNUSED, UNASKED)):
                found[marks == mark] = state
            if cell in self._leased:
                found[self._are_leased(places, cell)] = UNASKED
        else:
            state, record = self._released(stream, number)
            late = np.isin(places - first, record["missing"]) | (state == DROPPED)
            found = np.where(late, LATE, TOLD).astype(np.int8)
            found[np.isin(places - first, record["unwanted"])] = UNWANTED_LOSS
        states[known] = found[known]
        return states

    def _released(self, stream: int, number: int) -> tuple[int, Record]:
        rows = self._base.run(
            "SELECT state, released FROM sottovoce_releases WHERE book = ? AND stream = ? AND round = ?",
            self._book,
            stream,
            number,
        )
        if not rows:
            raise StudyDamaged(f"round {number} has neither its losses nor a release: restore a backup, restored=True")
        return rows[0][0], unpacked(rows[0][1], f"the release of round {number}")

    def open_rounds(self) -> Sequence[OpenRound]:
        """Return the rounds that are not released, in the order in which they began."""
        rows = self._base.run(
            "SELECT r.stream, r.number, r.first, r.size, r.position, r.public, r.reserved, r.full_at, r.full_time, "
            "(SELECT CAST(coalesce(sum(stop - start), 0) AS bigint) FROM sottovoce_spares s WHERE s.book = r.book "
            "AND s.stream = r.stream AND s.round = r.number), CAST(coalesce(sum(c.wanted), 0) AS bigint), "
            "CAST(coalesce(sum(c.closed), 0) AS bigint), CAST(coalesce(sum(c.missing), 0) AS bigint), count(c.cell) "
            "FROM sottovoce_rounds r LEFT JOIN sottovoce_cells c ON c.book = r.book AND c.stream = r.stream "
            "AND c.round = r.number WHERE r.book = ? AND r.open = 1 GROUP BY r.book, r.stream, r.number, r.first, "
            "r.size, r.position, r.public, r.reserved, r.full_at, r.full_time ORDER BY r.first",
            self._book,
        )
        return [self._described(*row) for row in rows]

    def _described(
        self, stream: int, number: int, first: int, size: int, position: int, public: Any, *facts: Any
    ) -> OpenRound:
        reserved, full_at, full_time, spare, wanted, closed, missing, cells = facts
        one = self._read_round(stream, number, first, size, position, public)
        unused = min(size, cells << self._slots.bits) - reserved + spare  # in cells, and nobody's
        own = [lease for lease in self._own() if (lease.round.stream, lease.round.number) == (stream, number)]
        left = sum(lease.left for lease in own)
        useless = sum(
            lease.left - int(np.count_nonzero(lease.draw.wanted[lease.at :]))
            for lease in own
            if lease.draw.wanted is not None
        )
        waiting = wanted - closed - unused - (left - useless)
        return OpenRound(one, reserved - spare - left, waiting, full_at, full_time, closed - missing, missing)

    def waiting(self, limit: int | None = None) -> Integers:
        """Return the ids that were handed out and wait for their loss, the oldest first."""
        rows = self._base.run(
            "SELECT cell, slots FROM sottovoce_cells WHERE book = ? AND closed < wanted ORDER BY cell", self._book
        )
        found = [
            (cell << self._slots.bits) + np.flatnonzero(leading(self._slots.unpacked(bytes(data))) == PENDING)
            for cell, data in rows
        ]
        places = np.concatenate([NONE, *found])
        for lease in self._own():
            start = lease.first & PLACE
            places = places[(places < start + lease.at) | (places >= start + lease.size)]
        return (self.incarnation << PLACES | places)[:limit]
