"""The books of a database: made, found, and counted; and their streams. Nothing here reads a loss."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sottovoce._records import Record, checksum, pack
from sottovoce.errors import StorageError, StudyDamaged, StudyNotFound
from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.sql._book_rows import BookCounters, read_counters, save_counters
from sottovoce.rounds.stores.sql._people import forget_keys, keys_of
from sottovoce.rounds.stores.sql.database import Conflict, Database
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import DROPPED, PREFIX, RELEASED, SCHEMA, TABLES, VERSION

INSERT_STREAM = "INSERT INTO sottovoce_streams (book, stream, name, begun, chain) VALUES (?, ?, ?, ?, ?)"

MOVING, MOVED, ARRIVING = "moving", "moved", "arriving"
"""Kinds of what is no book here: one that is sealed, one that has left, and a copy that nobody may open yet."""

_AWAY = {
    MOVING: "was sealed, to be moved to another storage: finish that with `sottovoce study move`, or take it back",
    MOVED: "was moved to {}: open it there",
    ARRIVING: "is on its way from {}: finish that with `sottovoce study move`",
}

_HELD = (
    ("rounds", "stream, number"),
    ("chunks", "chunk"),
    ("streams", "stream"),
    ("counting", "book"),
    ("people", "person"),
)
"""Rows of a book that others lock, in the order of those who release."""


class StoredBook(NamedTuple):
    """A book as it is stored: its number, what it was made with, and the secret that its ids are signed with."""

    book: int
    kind: str
    made: Record
    secret: bytes


def prepare(base: Database) -> None:
    """Make the tables, once; refuse those of another version."""
    if "sottovoce_schema" not in base.tables():
        base.transaction(lambda: _make_tables(base))
    found = base.run("SELECT version FROM sottovoce_schema")
    if found != [(VERSION,)] or not {PREFIX + one for one in TABLES} <= base.tables():
        shown = ", ".join(str(version) for (version,) in found) or "unknown"
        raise StorageError(
            f"{base.name} was written by another version of this library (schema {shown}, not {VERSION}): nothing was "
            "changed. Open it with the version that wrote it"
        )


def _make_tables(base: Database) -> None:
    base.one_at_a_time()
    if "sottovoce_schema" not in base.tables():
        for statement in filter(str.strip, SCHEMA.format(**base.words).split(";")):
            base.run(statement)
        base.run("INSERT INTO sottovoce_schema VALUES (?)", VERSION)


def create_book(
    base: Database,
    name: str,
    kind: str,
    made: Record,
    horizon: int | None,
    waiting: Mapping[str, Any] | None = None,
    charge: Callable[[Database, int], None] | None = None,
) -> StoredBook | None:
    """Put a new book into the storage, charged in the same transaction; None if there is one of that name."""
    secret = secrets.token_bytes(32)
    made = {**made, "secret_check": checksum(secret).hex()}

    def create() -> StoredBook:
        row = name, kind, pack(made), secret, horizon, shape_of(made).slot_bytes
        columns = "name, kind, made, secret, horizon, slot_bytes"
        ((book,),) = base.run(f"INSERT INTO sottovoce_books ({columns}) VALUES (?, ?, ?, ?, ?, ?) RETURNING book", *row)
        statement, values = save_counters(BookCounters(book, horizon=horizon, **(waiting or {})))
        base.run(statement, *values)
        if charge is not None:
            charge(base, book)
        return StoredBook(book, kind, made, secret)

    try:
        return base.transaction(create)
    except Conflict:
        return None


def shape_of(made: Record) -> Shape:
    """Return what a slot of a book holds, as it was made."""
    return Shape(*made.get("shape", ()))


def find_book(base: Database, name: str) -> StoredBook | None:
    """Return the book of a name; refuse one that has left, or has not arrived."""
    rows = base.run("SELECT book, kind, made, secret, elsewhere FROM sottovoce_books WHERE name = ?", name)
    if not rows:
        return None
    ((book, kind, made, secret, elsewhere),) = rows
    if kind in _AWAY:
        raise StudyNotFound(f"{name!r} {_AWAY[kind].format(elsewhere)}")
    stored = StoredBook(book, kind, unpacked(made, f"what {name!r} was made with"), bytes(secret))
    if stored.made.get("secret_check") != checksum(stored.secret).hex():
        raise StudyDamaged(f"the secret of {name!r} fails its checksum: restore a backup, with restored=True")
    return stored


def names_of(base: Database, kind: str) -> list[str]:
    """Return the names of all books of a kind."""
    return [name for (name,) in base.run("SELECT name FROM sottovoce_books WHERE kind = ? ORDER BY name", kind)]


def rename_book(base: Database, name: str, new: str) -> None:
    """Call a book otherwise; whoever has it open goes on."""
    try:
        base.transaction(lambda: base.run("UPDATE sottovoce_books SET name = ? WHERE name = ?", new, name))
    except Conflict:
        raise ValueError(f"to={new!r} is taken at {base.name}: choose another name") from None


def delete_book(base: Database, name: str) -> None:
    """Delete a book with all of its rows; empty logs in which its losses would linger, unless somebody reads them."""
    keys = list[Path]()

    def work() -> None:
        keys.clear()
        for (book,) in base.run("SELECT book FROM sottovoce_books WHERE name = ?", name):
            hold_rows(base, book)
            keys.extend(keys_of(base, book))
            delete_rows(base, book)

    base.transaction(work)
    forget_keys(keys)
    base.erase()


def delete_rows(base: Database, book: int, but: tuple[str, ...] = ()) -> None:
    """Delete all rows of a book, but for those in some tables."""
    for table in reversed(TABLES[1:]):  # each refers to those before it
        if table not in but:
            base.run(f"DELETE FROM {PREFIX}{table} WHERE book = ?", book)


def hold_rows(base: Database, book: int) -> None:
    """Hold all rows of a book, those that others lock first; then those that came before its own was held."""
    for held in (False, True):
        for table, order in _HELD:
            base.run(f"SELECT 1 FROM {PREFIX}{table} WHERE book = ? ORDER BY {order}{base.lock}", book)
        if not held:
            read_counters(base, book, lock=True)


def add_stream(base: Database, book: int, name: str, check: Callable[[], None] | None = None) -> int:
    """Return the number of the stream of a name; add it, unless `check` refuses it, while nobody else can."""

    def found() -> int | None:
        rows = base.run("SELECT stream FROM sottovoce_streams WHERE book = ? AND name = ?", book, name)
        if rows and type(rows[0][0]) is not int:  # a bent row: SQLite reads what is there
            raise StudyDamaged(f"a stream of book {book} is damaged: restore a backup, with restored=True")
        return rows[0][0] if rows else None

    def add() -> int:
        base.run(f"SELECT 1 FROM sottovoce_books WHERE book = ?{base.lock}", book)
        if (there := found()) is not None:
            return there
        if check is not None:
            check()
        ((count,),) = base.run("SELECT count(*) FROM sottovoce_streams WHERE book = ?", book)
        base.run(INSERT_STREAM, book, count, name, 0, b"")
        return int(count)

    there = found()  # a look without a lock: nobody who only opens it is held up
    return base.transaction(add) if there is None else there


@dataclass(frozen=True, kw_only=True)
class BookCounts:
    """Counts of a book.

    Attributes
    ----------
    incarnation
        1, unless it was restored.
    asked
        Events that were handed out, or that some process has in hand.
    rounds, released, dropped, open_rounds
        Rounds: closed; of these released, and dropped by a restoration; and open.
    told, forgotten, waiting
        Events with their loss, without it for good, and without it so far.
    overdue
        Open rounds whose deadline has passed, and that no process has closed since.
    erasure_pending
        Closed rounds whose losses are deleted, but may linger in the database's log.
    """

    incarnation: int
    asked: int
    rounds: int = 0
    released: int = 0
    dropped: int = 0
    open_rounds: int = 0
    told: int = 0
    forgotten: int = 0
    waiting: int = 0
    overdue: int = 0
    erasure_pending: int = 0


def counts_of(base: Database, book: int) -> BookCounts:
    """Count for one book."""
    return counts_of_all(base, book)[book]


def counts_of_all(base: Database, book: int | None = None) -> dict[int, BookCounts]:
    """Count for all books of a database, or for one."""
    one, values = ("", ()) if book is None else (" WHERE b.book = ?", (book,))
    counted = ", ".join(_COUNTS.values())
    rows = base.run(f"SELECT b.book, {counted} FROM sottovoce_books b{one}", base.now(), *values)
    return {number: BookCounts(**dict(zip(_COUNTS, counts, strict=True))) for number, *counts in rows}


def _of(table: str, what: str, which: str = "") -> str:
    """Return an expression for what is counted of the rows that a book has in a table."""
    return f"(SELECT CAST(coalesce({what}, 0) AS bigint) FROM sottovoce_{table} t WHERE t.book = b.book{which})"


_CLOSED, _OPEN, _WAITING = (
    _of("releases", "count(*)"),
    " AND open = 1",
    "sum(wanted - closed - length(slots) / b.slot_bytes)",
)
_COUNTS = {
    "incarnation": "b.incarnation",
    "asked": "b.clock",
    "rounds": _CLOSED,
    "released": _of("releases", "count(*)", f" AND state = {RELEASED}"),
    "dropped": _of("releases", "count(*)", f" AND state = {DROPPED}"),
    "open_rounds": _of("rounds", "count(*)", _OPEN),
    "told": f"{_of('releases', 'sum(told)')} + {_of('chunks', 'sum(closed - missing)')}",
    "forgotten": f"{_of('releases', 'sum(missing)')} + {_of('chunks', 'sum(missing)')}",
    "waiting": f"{_of('chunks', _WAITING)} + {_of('rounds', 'sum(reserved)', _OPEN)}",
    "overdue": _of("rounds", "count(*)", f"{_OPEN} AND full_time + b.deadline < ?"),
    "erasure_pending": f"{_CLOSED} - b.erased",
}
"""Of `BookCounts`."""
