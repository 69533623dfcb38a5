"""Cells: stretches of a round's events, each with what it was told so far. The one place where losses are stored.

A process that wants actions reserves cells; a call of `tell` changes the cell that its events are in, and no other row.
So processes do not meet: each commits by itself. `closed` has a bit for each event that takes no loss any more, which
makes every event count once; `losses` holds the entries of the calls one after the other, each with a checksum. A round
all of whose cells have nothing `left` cannot change any more.

Statements go to the driver itself: a call of `tell` is made of one or two of them.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import checksum
from sottovoce.errors import StudyDamaged
from sottovoce.learning.bandit.open_losses import FORGOTTEN, PENDING, TOLD, UNWANTED

__all__ = [
    "LONGEST",
    "Cell",
    "CellTable",
    "all_entries",
    "cut",
    "entries",
    "get_bit",
    "pack_losses",
    "pack_one",
    "set_bit",
]

LONGEST = 1024
"""Events of a cell at most: a row stays small, and so does what is written anew with every call."""

_RUN, _SCATTERED = 0, 1
_ENTRY = struct.Struct("<cBBII")  # told or forgotten; a run or scattered; bytes of an integer; how many; the first slot
_TOLD, _FORGOTTEN = b"t", b"f"
_WIDTHS = {1: "<i1", 2: "<i2", 4: "<i4", 8: "<i8"}
_SEAL = 16
_PUBLIC = "round, first, size, wanted, told, missing, given_back, closed"


# ---------------------------------------------------------------------- entries


def pack_one(round_number: int, slot: int, integer: int) -> bytes:
    """Return one loss in bytes, as `pack_losses` does.

    Examples
    --------
    >>> pack_one(3, 5, 70000) == pack_losses(3, np.array([5]), np.array([70000]))
    True
    """
    width = next(one for one in _WIDTHS if -(1 << 8 * one - 1) <= integer < 1 << 8 * one - 1)
    entry = _ENTRY.pack(_TOLD, _RUN, width, 1, slot) + integer.to_bytes(width, "little", signed=True)
    return entry + checksum(str(round_number).encode(), entry)


def pack_losses(round_number: int, slots: Integers, integers: Integers | None) -> bytes:
    """Return the losses of one call in bytes: slots of the round and integers, with a checksum.

    None stands for losses that will never come.

    Examples
    --------
    >>> entry = pack_losses(3, np.array([5, 6]), np.array([100, 70000]))
    >>> [(slots.tolist(), integers.tolist()) for slots, integers in entries(3, entry)]
    [([5, 6], [100, 70000])]
    """
    first, count = int(slots[0]), len(slots)
    run = count == 1 or bool((np.diff(slots) == 1).all())
    body = b"" if run else slots.astype("<u4").tobytes()
    width = 0
    if integers is not None:
        low, high = int(integers.min()), int(integers.max())
        width = next(one for one in _WIDTHS if -(1 << 8 * one - 1) <= low and high < 1 << 8 * one - 1)
        body += integers.astype(_WIDTHS[width]).tobytes()
    kind = _FORGOTTEN if integers is None else _TOLD
    entry = _ENTRY.pack(kind, _RUN if run else _SCATTERED, width, count, first) + body
    return entry + checksum(str(round_number).encode(), entry)


def entries(round_number: int, data: bytes) -> Iterator[tuple[Integers, Integers | None]]:
    """Yield the slots and integers of every entry; None for losses that will never come."""
    at = 0
    while at < len(data):
        try:
            kind, run, width, count, first = _ENTRY.unpack_from(data, at)
            start = at + _ENTRY.size
            end = start + count * (4 * (run == _SCATTERED) + width)
            if checksum(str(round_number).encode(), data[at:end]) != data[end : end + _SEAL]:
                raise ValueError
        except (struct.error, ValueError):
            raise StudyDamaged(
                f"losses of round {round_number} fail their checksum: restore a backup, restored=True"
            ) from None
        slots: Integers = np.arange(first, first + count)
        if run == _SCATTERED:
            slots = np.frombuffer(data, dtype="<u4", count=count, offset=start).astype(np.int64)
            start += 4 * count
        integers = None
        if kind == _TOLD:
            integers = np.frombuffer(data, dtype=_WIDTHS[width], count=count, offset=start).astype(np.int64)
        yield slots, integers
        at = end + _SEAL


def all_entries(round_number: int, data: bytes) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Return the slots and integers of all entries together, and which of them are of losses that never came.

    Examples
    --------
    >>> told = pack_one(3, 5, 70) + pack_losses(3, np.array([7, 9]), None)
    >>> [one.tolist() for one in all_entries(3, told)]
    [[5, 7, 9], [70, 0, 0], [False, True, True]]
    """
    found = list(entries(round_number, data))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    slots = np.concatenate([mine for mine, _ in found])
    integers = np.concatenate([np.zeros(len(mine), dtype=np.int64) if told is None else told for mine, told in found])
    return slots, integers, np.repeat([told is None for _, told in found], [len(mine) for mine, _ in found])


# ---------------------------------------------------------------------- cells


@dataclass(slots=True, eq=False)
class Cell:
    """Events `first` to before `first + size` of a round.

    Attributes
    ----------
    wanted, told, missing
        Events that take a loss; of these, those that were told, and those that were given up.
    given_back
        Whether it was reserved, and given back unused: nobody has its actions.
    closed
        Which events take no loss, or none any more.
    losses
        Private: what was told.
    """

    round: int
    first: int
    size: int
    wanted: int
    told: int
    missing: int
    given_back: bool
    closed: NDArray[np.bool_]
    losses: bytes

    @property
    def end(self) -> int:
        """The slot after its last."""
        return self.first + self.size

    @property
    def left(self) -> int:
        """Events that wait for their loss."""
        return self.wanted - self.told - self.missing

    def pending(self) -> Integers:
        """Return the slots, counted from the round's first, that wait for their loss."""
        return self.first + np.flatnonzero(~self.closed)

    def states(self, slots: Integers) -> NDArray[np.uint8]:
        """Return PENDING, TOLD, UNWANTED or FORGOTTEN for each of these slots of the round."""
        states: NDArray[np.uint8] = np.where(self.closed, UNWANTED, PENDING).astype(np.uint8)
        if states[slots - self.first].any():
            for mine, integers in entries(self.round, self.losses):
                states[mine - self.first] = FORGOTTEN if integers is None else TOLD
        return np.asarray(states[slots - self.first])

    def fill(self, slots: Integers, integers: Integers | None) -> None:
        """Take in the losses of slots that wait for them; None for losses that will never come."""
        self.closed[slots - self.first] = True
        self.losses += pack_losses(self.round, slots, integers)
        if integers is None:
            self.missing += len(slots)
        else:
            self.told += len(slots)

    def __repr__(self) -> str:
        return f"Cell(round={self.round}, first={self.first}, size={self.size}, left={self.left})"


def cut(first: int, count: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield (first, size) of the cells that a stretch of events is cut into.

    Examples
    --------
    >>> list(cut(100, 70, 32))
    [(100, 32), (132, 32), (164, 6)]
    """
    for start in range(first, first + count, length):
        yield start, min(length, first + count - start)


def bits(marks: NDArray[np.bool_]) -> bytes:
    """Return marks as bytes, the first one in the lowest bit: as PostgreSQL's get_bit counts."""
    return np.packbits(marks, bitorder="little").tobytes()


def get_bit(data: bytes, place: int) -> int:
    """Return a bit, as PostgreSQL does: SQLite has no such function."""
    return data[place >> 3] >> (place & 7) & 1


def set_bit(data: bytes, place: int, bit: int) -> bytes:
    """Return bytes with one bit changed, likewise.

    Examples
    --------
    >>> get_bit(set_bit(bytes(2), 9, 1), 9), set_bit(bytes(2), 9, 1).hex()
    (1, '0002')
    """
    changed = bytearray(data)
    changed[place >> 3] = changed[place >> 3] & ~(1 << (place & 7)) | bit << (place & 7)
    return bytes(changed)


def marks(data: bytes, size: int) -> NDArray[np.bool_]:
    """Return the marks that `bits` made bytes of."""
    return np.unpackbits(np.frombuffer(bytes(data), dtype=np.uint8), count=size, bitorder="little").astype(bool)


class CellTable:
    """The cells of a study, by a driver's own connection.

    Parameters
    ----------
    raw
        The driver's connection, within a transaction; `tell_one` and `tell_run` commit by themselves outside of one.
    study
        Its number in the storage.
    is_sqlite
        Whose dialect to speak.
    """

    def __init__(self, raw: Any, study: int, is_sqlite: bool) -> None:
        self._raw, self._study, self._is_sqlite = raw, study, is_sqlite

    def _execute(self, statement: str, values: tuple[Any, ...]) -> Any:
        return self._raw.execute(statement if self._is_sqlite else _for_server(statement), values)

    # ------------------------------------------------------------------ reserving

    def insert(self, generation: int, cells: Iterable[Cell]) -> None:
        """Add cells that nobody has told anything."""
        rows = [
            (self._study, one.round, one.first, generation, one.size, one.wanted, int(one.given_back), bits(one.closed))
            for one in cells
        ]
        statement = (
            "INSERT INTO sottovoce_cells (study, round, first, generation, size, wanted, given_back, closed, told, "
            f"missing, losses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, {_EMPTY[self._is_sqlite]})"
        )
        if self._is_sqlite:
            self._raw.executemany(statement, rows)
        else:
            with self._raw.cursor() as cursor:
                cursor.executemany(_for_server(statement), rows)

    def given_back(self) -> list[Cell]:
        """Return the cells that are to be had again, in order; the caller holds the study's lock.

        What patience or a deadline has given up on meanwhile is not among them.
        """
        return self._read("AND given_back = 1 AND missing = 0", ())

    def take_again(self, cell: Cell) -> None:
        """Note that somebody has a cell again that was given back."""
        self._execute(
            "UPDATE sottovoce_cells SET given_back = 0 WHERE study = ? AND round = ? AND first = ?",
            (self._study, cell.round, cell.first),
        )

    def shorten(self, round_number: int, first: int, size: int, wants: NDArray[np.bool_]) -> Cell | None:
        """Cut the unused end off a cell: keep `size` events; return the end as a cell.

        Return None if the cell is gone, or somebody has given up on its end meanwhile.
        """
        found = self._read("AND round = ? AND first = ?", (round_number, first), lock=True)
        if not found or (found[0].closed[size:] & wants[size:]).any():
            return None
        whole = found[0]
        rest = whole.size - size
        unused = Cell(round_number, first + size, rest, int(wants[size:].sum()), 0, 0, True, ~wants[size:], b"")
        self._execute(
            "UPDATE sottovoce_cells SET size = ?, wanted = ?, closed = ? WHERE study = ? AND round = ? AND first = ?",
            (size, whole.wanted - unused.wanted, bits(whole.closed[:size]), self._study, round_number, first),
        )
        if not size:
            self._execute(
                "DELETE FROM sottovoce_cells WHERE study = ? AND round = ? AND first = ?",
                (self._study, round_number, first),
            )
        return unused

    # ------------------------------------------------------------------ telling

    def tell_there(
        self, generation: int, round_number: int, first: int, slot: int, entry: bytes
    ) -> tuple[Any, ...] | None:
        """Store one loss in a cell that is known, in one statement; None if it has to be looked at more closely.

        Return the cell's first slot, what is left of it, and its size.
        """
        return self._fetched(
            "UPDATE sottovoce_cells SET closed = set_bit(closed, %s, 1), told = told + 1, losses = losses || %s WHERE "
            "study = %s AND round = %s AND first = %s AND generation = %s AND given_back = 0 AND CASE "
            "WHEN size > %s THEN get_bit(closed, %s) = 0 ELSE FALSE END RETURNING first, wanted - told - missing, size",
            (slot - first, entry, self._study, round_number, first, generation, slot - first, slot - first),
        )

    def tell_one(
        self, generation: int, round_number: int, slot: int, entry: bytes, last: tuple[int, int]
    ) -> tuple[Any, ...] | None:
        """Store one loss likewise, in whichever cell it belongs to.

        Return the same, the study's version, and what is left of the cell `last`.
        """
        cell = self._study, round_number
        values = slot, entry, *cell, generation, *cell, slot, slot, slot, self._study, self._study, *last
        return self._fetched(
            "UPDATE sottovoce_cells SET closed = set_bit(closed, %s - first, 1), told = told + 1, losses = "
            "losses || %s WHERE study = %s AND round = %s AND generation = %s AND given_back = 0 AND first = (SELECT "
            "max(first) FROM sottovoce_cells WHERE study = %s AND round = %s AND first <= %s) AND CASE WHEN %s < first "
            f"+ size THEN get_bit(closed, %s - first) = 0 ELSE FALSE END {_RETURNING}",
            values,
        )

    def tell_several(
        self, generation: int, round_number: int, first: int, slots: Integers, entry: bytes, last: tuple[int, int]
    ) -> tuple[Any, ...] | None:
        """Store losses of one cell that all wait for theirs, likewise; `entry` holds those of all slots."""
        places = (slots - first).tolist()
        closed = "set_bit(" * len(places) + "closed" + ", %s, 1)" * len(places)
        waiting = " AND ".join(["get_bit(closed, %s) = 0"] * len(places))
        return self._fetched(
            f"UPDATE sottovoce_cells SET closed = {closed}, told = told + %s, losses = losses || %s WHERE study = %s "
            "AND round = %s AND first = %s AND generation = %s AND given_back = 0 AND CASE WHEN size > %s THEN "
            f"{waiting} ELSE FALSE END {_RETURNING}",
            (
                *places,
                len(places),
                entry,
                self._study,
                round_number,
                first,
                generation,
                max(places),
                *places,
                self._study,
                self._study,
                *last,
            ),
        )

    def extents(self, generation: int, round_number: int) -> list[tuple[int, int]]:
        """Return (first, size) of the cells of a round, in order, as they are now."""
        found = self._execute(
            "SELECT first, size FROM sottovoce_cells WHERE study = ? AND round = ? AND generation = ? ORDER BY first",
            (self._study, round_number, generation),
        ).fetchall()
        return [(int(first), int(size)) for first, size in found]

    def tell_run(
        self, generation: int, round_number: int, first: int, count: int, entry: bytes, last: tuple[int, int]
    ) -> tuple[Any, ...] | None:
        """Store the losses of a whole cell that was told nothing yet, likewise."""
        untouched, full = bits(np.zeros(count, dtype=bool)), bits(np.ones(count, dtype=bool))
        return self._fetched(
            "UPDATE sottovoce_cells SET closed = %s, told = size, losses = %s WHERE study = %s AND round = %s AND "
            f"first = %s AND generation = %s AND given_back = 0 AND size = %s AND closed = %s {_RETURNING}",
            (
                full,
                entry,
                self._study,
                round_number,
                first,
                generation,
                count,
                untouched,
                self._study,
                self._study,
                *last,
            ),
        )

    def _fetched(self, statement: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if self._is_sqlite:  # which makes a text of two blobs
            statement = statement.replace("losses || %s", "CAST(losses || %s AS BLOB)").replace("%s", "?")
        found: list[tuple[Any, ...]] = self._raw.execute(statement, values).fetchall()
        return found[0] if found else None

    def covering(self, generation: int, round_number: int, slots: Integers) -> list[Cell]:
        """Return the cells that hold these slots, in order, losses and all; held until the transaction ends."""
        low, high = int(slots.min()), int(slots.max())
        begin = (
            "SELECT first FROM sottovoce_cells WHERE study = ? AND round = ? AND generation = ? AND first <= ? AND "
            "first >= coalesce((SELECT max(first) FROM sottovoce_cells WHERE study = ? AND round = ? AND first <= ?), "
            "?) ORDER BY first"
        )
        mine = self._study, round_number
        starts = np.array(
            [one for (one,) in self._execute(begin, (*mine, generation, high, *mine, low, low)).fetchall()],
            dtype=np.int64,
        )
        # Others may have cells in between: theirs are left alone.
        places = np.unique(np.searchsorted(starts, slots, side="right") - 1)
        used = starts[places[places >= 0]].tolist()
        if not used:
            return []
        marks_of = ", ".join("?" * len(used))
        where = f"AND round = ? AND generation = ? AND first IN ({marks_of})"
        return self._read(where, (round_number, generation, *used), losses=True, lock=True)

    def write(self, cell: Cell) -> None:
        """Write down what a cell was told."""
        self._execute(
            "UPDATE sottovoce_cells SET closed = ?, told = ?, missing = ?, losses = ? "
            "WHERE study = ? AND round = ? AND first = ?",
            (bits(cell.closed), cell.told, cell.missing, cell.losses, self._study, cell.round, cell.first),
        )

    def last_of(self, round_number: int, most: int) -> Cell | None:
        """Return the last cell of a round, without its losses, if it waits for none and has `most` events at most."""
        where = "AND round = ? AND first = (SELECT max(first) FROM sottovoce_cells WHERE study = ? AND round = ?)"
        found = self._read(where, (round_number, self._study, round_number), lock=True)
        return found[0] if found and not found[0].left and found[0].size <= most else None

    def join(self, before: Cell, after: Cell) -> None:
        """Put a cell that is stored into the one before it: neither waits for a loss."""
        closed = np.concatenate((before.closed, after.closed))
        losses = "CAST(losses || ? AS BLOB)" if self._is_sqlite else "losses || ?"
        self._execute(
            f"UPDATE sottovoce_cells SET size = ?, wanted = wanted + ?, told = told + ?, missing = missing + ?, "
            f"closed = ?, losses = {losses} WHERE study = ? AND round = ? AND first = ?",
            (
                before.size + after.size,
                after.wanted,
                after.told,
                after.missing,
                bits(closed),
                after.losses,
                self._study,
                before.round,
                before.first,
            ),
        )
        self._execute(
            "DELETE FROM sottovoce_cells WHERE study = ? AND round = ? AND first = ?",
            (self._study, after.round, after.first),
        )

    def version(self) -> int:
        """Return the version of the study's counters, without waiting for whoever changes them; -1 if it is gone."""
        found = self._execute("SELECT version FROM sottovoce_heads WHERE id = ?", (self._study,)).fetchone()
        return -1 if found is None else int(found[0])

    def left_of(self, round_number: int, first: int) -> int | None:
        """Return how many losses a cell waits for; None if there is none."""
        found = self._execute(
            "SELECT wanted - told - missing FROM sottovoce_cells WHERE study = ? AND round = ? AND first = ?",
            (self._study, round_number, first),
        ).fetchone()
        return None if found is None else int(found[0])

    # ------------------------------------------------------------------ closing

    def is_complete(self, round_number: int) -> bool:
        """Whether a round has all losses that it will have, and is not closed yet."""
        waiting = (
            "SELECT 1 FROM sottovoce_rounds r WHERE study = ? AND number = ? AND state = 'open' AND whole = 1 AND NOT "
            "EXISTS (SELECT 1 FROM sottovoce_cells c WHERE c.study = r.study AND c.round = r.number "
            "AND c.wanted > c.told + c.missing)"
        )
        return self._execute(waiting, (self._study, round_number)).fetchone() is not None

    def complete(self) -> list[int]:
        """Return all rounds that have all losses that they will have, and are not closed yet, in order."""
        waiting = (
            "SELECT number FROM sottovoce_rounds r WHERE study = ? AND state = 'open' AND whole = 1 AND NOT EXISTS "
            "(SELECT 1 FROM sottovoce_cells c WHERE c.study = r.study AND c.round = r.number "
            "AND c.wanted > c.told + c.missing) ORDER BY number"
        )
        return [int(number) for (number,) in self._execute(waiting, (self._study,)).fetchall()]

    def state_of(self, round_number: int) -> str | None:
        """Return the state of a round as it is stored; None if there is none of this number."""
        found = self._execute(
            "SELECT state FROM sottovoce_rounds WHERE study = ? AND number = ?", (self._study, round_number)
        ).fetchone()
        return None if found is None else str(found[0])

    def end_of(self, round_number: int) -> int:
        """Return the slot after the last of a round that was reserved."""
        last = "SELECT first + size FROM sottovoce_cells WHERE study = ? AND round = ? ORDER BY first DESC LIMIT 1"
        found = self._execute(last, (self._study, round_number)).fetchone()
        return 0 if found is None else int(found[0])

    def returned(self) -> dict[int, int]:
        """Return, by round, how many events were given back, and are to be had again."""
        found = self._execute(
            "SELECT round, sum(size) FROM sottovoce_cells WHERE study = ? AND given_back = 1 GROUP BY round",
            (self._study,),
        )
        return {int(number): int(count) for number, count in found.fetchall()}

    def of_round(self, round_number: int) -> list[Cell]:
        """Return all cells of a round, losses and all, in order; held until the transaction ends."""
        return self._read("AND round = ?", (round_number,), losses=True, lock=True)

    def waiting(self, limit: int | None = None) -> list[Cell]:
        """Return the cells that wait for losses, in order, `limit` at most."""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        return self._read("AND wanted > told + missing AND given_back = 0", (), most=most)

    def counts(self) -> list[tuple[int, int, int, int, int]]:
        """Return for each round its number, its losses told, missing, and left; and how many of those given back."""
        found = self._execute(
            "SELECT round, sum(told), sum(missing), sum(wanted - told - missing), "
            "sum((wanted - told - missing) * given_back) FROM sottovoce_cells WHERE study = ? GROUP BY round "
            "ORDER BY round",
            (self._study,),
        )
        return [tuple(int(one) for one in row) for row in found.fetchall()]  # type: ignore[misc]

    def counts_of(self, round_number: int) -> tuple[int, int, int, int]:
        """Return losses told, missing, and left of a round; and how many of those left are where it was given back."""
        return next((row[1:] for row in self.counts() if row[0] == round_number), (0, 0, 0, 0))

    def delete(self, round_number: int | None = None) -> None:
        """Delete the cells of a round, or of all of them."""
        if round_number is None:
            self._execute("DELETE FROM sottovoce_cells WHERE study = ?", (self._study,))
        else:
            self._execute("DELETE FROM sottovoce_cells WHERE study = ? AND round = ?", (self._study, round_number))

    def delete_given_back(self, round_number: int) -> None:
        """Delete the cells of a round that were given back, and that nobody will take."""
        self._execute(
            "DELETE FROM sottovoce_cells WHERE study = ? AND round = ? AND given_back = 1", (self._study, round_number)
        )

    def _read(
        self, where: str, values: tuple[Any, ...], *, losses: bool = False, lock: bool = False, most: str = ""
    ) -> list[Cell]:
        columns = f"{_PUBLIC}, losses" if losses else _PUBLIC
        end = " FOR UPDATE" if lock and not self._is_sqlite else ""
        found = self._execute(
            f"SELECT {columns} FROM sottovoce_cells WHERE study = ? {where} ORDER BY round, first{most}{end}",
            (self._study, *values),
        )
        return [cell_of(*row) for row in found.fetchall()]


_EMPTY = {True: "x''", False: "''"}
_RETURNING = (
    "RETURNING first, wanted - told - missing, size, (SELECT version FROM sottovoce_heads WHERE id = %s), "
    "(SELECT wanted - told - missing FROM sottovoce_cells WHERE study = %s AND round = %s AND first = %s)"
)


def cell_of(
    round_number: int,
    first: int,
    size: int,
    wanted: int,
    told: int,
    missing: int,
    given_back: int,
    closed: bytes,
    losses: bytes = b"",
) -> Cell:
    """Return a cell from its row."""
    if len(closed) != -(-size // 8):
        raise StudyDamaged(f"a stretch of round {round_number} is not as long as it should be: restore a backup")
    return Cell(round_number, first, size, wanted, told, missing, bool(given_back), marks(closed, size), bytes(losses))


def _for_server(statement: str) -> str:
    return statement.replace("?", "%s")
