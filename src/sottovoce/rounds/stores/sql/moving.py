"""Books that leave a database: deleted, or moved to another one without a loss that is lost, or a round that is twice.

A move is seal, copy, leave, activate, each one transaction:

1. **Seal**: the book gets another number, and is `MOVING`. Whoever has it open, and goes by its number, finds nothing
   from then on: nothing is asked, told or released. What was acknowledged before is in what is copied.
2. **Copy**: all of its rows are put into the other database, `ARRIVING`, which nobody can open.
3. **Leave**: its rows are deleted here; what stays is `MOVED`, and names the copy.
4. **Activate**: that copy, and no other, becomes a book like any other.

Killed between any two of them, at most one of the databases holds a book that can be opened, and whoever says the same
again goes on where it stopped. Until `leave` it can be taken back: what was copied by then is of a seal that is broken,
and is never activated.
"""

import secrets
from pathlib import Path
from typing import Any, NamedTuple

from sottovoce._records import Record, pack
from sottovoce.errors import StorageError, StudyNotFound
from sottovoce.rounds.stores.sql._book_rows import CLOSED, BookCounters, read_counters, save_counters
from sottovoce.rounds.stores.sql._people import carried, forget_keys, keys_of
from sottovoce.rounds.stores.sql.books import ARRIVING, MOVED, MOVING
from sottovoce.rounds.stores.sql.database import Conflict, Database
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import COLUMNS, PREFIX

_PARTS = ("ledger_tokens", "streams", "rounds", "chunks", "releases", "returned", "counting", "people")
"""Tables, each of which refers to those before it."""


_HELD = (
    ("rounds", "stream, number"),
    ("chunks", "chunk"),
    ("streams", "stream"),
    ("counting", "book"),
    ("people", "person"),
)


def _columns(table: str) -> tuple[str, ...]:
    """Return the columns of a table, but for the number of the book."""
    return tuple(name for name in COLUMNS[table] if name != "book")


class Whereabouts(NamedTuple):
    """What a database knows of a book that is there, that leaves, or that arrives."""

    book: int
    kind: str
    identity: str
    note: Record


def locate(base: Database, name: str) -> Whereabouts | None:
    """Return what a database knows of a book of a name, by its lock if that is within a transaction."""
    rows = base.run(f"SELECT book, kind, made, note FROM sottovoce_books WHERE name = ?{base.lock}", name)
    for book, kind, made, note in rows:
        found = unpacked(made, f"what {name!r} was made with")
        noted = unpacked(note, f"where {name!r} is") if note is not None and kind in (MOVING, MOVED, ARRIVING) else {}
        return Whereabouts(book, kind, found["identity"], noted)
    return None


def is_left_of(book: Whereabouts, found: Whereabouts) -> bool:
    """Say whether what was found is left of a book that was once there, or a copy of it that never arrived."""
    return found.identity == book.identity and found.kind in (MOVED, ARRIVING)


def seal(base: Database, name: str, kind: str) -> None:
    """Give a book another number under which nobody has it open, and which nobody can open."""

    def work() -> None:
        found = locate(base, name)
        if found is None or found.kind != kind:
            raise StudyNotFound(f"name={name!r}: no longer at {base.name}")
        _hold(base, found.book)
        counters, _ = read_counters(base, found.book)
        columns = _columns("books")
        chosen = ", ".join("?" if column == "name" else column for column in columns)
        ((book,),) = base.run(
            f"INSERT INTO sottovoce_books ({', '.join(columns)}) SELECT {chosen} FROM sottovoce_books WHERE book = ? "
            "RETURNING book",
            secrets.token_hex(16),  # the name is its own until the old one is gone
            found.book,
        )
        for table in _PARTS:
            own = ", ".join(_columns(table))
            base.run(
                f"INSERT INTO {PREFIX}{table} (book, {own}) SELECT ?, {own} FROM {PREFIX}{table} WHERE book = ?",
                book,
                found.book,
            )
        _remove(base, found.book)
        _store(base, counters, book, name, MOVING, {"seal": secrets.token_hex(16)})

    base.transaction(work)


def copy_to(base: Database, name: str, target: Database) -> str:
    """Copy a sealed book to another database, unless that was done; return what tells this copy from others."""
    source = locate(base, name)
    assert source is not None
    there = locate(target, name)
    if there is not None and there.kind == ARRIVING and there.note["seal"] == source.note["seal"]:
        return str(there.note["arrival"])
    arrival = secrets.token_hex(16)
    rows = base.transaction(lambda: _read(base, source.book))
    counters, _ = read_counters(base, source.book)
    rows["counting"] = [carried(base, target, row) for row in rows["counting"]]
    ((counters.erased,),) = base.run(f"SELECT {CLOSED}", source.book)  # no loss of a closed round was ever there

    def work() -> None:
        stale = locate(target, name)
        if stale is not None and is_left_of(source, stale):
            _remove(target, stale.book)  # of a seal that was broken, or of the way from there to here
        ((book,),) = target.run(_insert("books", own=False) + " RETURNING book", *rows["books"][0])
        for table in _PARTS:
            target.batch([(_insert(table), (book, *row)) for row in rows[table]])
        _store(target, counters, book, name, ARRIVING, {**source.note, "arrival": arrival, "from": base.name})

    try:
        target.transaction(work)
    except Conflict:
        raise StorageError(f"{target.name} has another one called {name!r}: rename one of them") from None
    return arrival


def leave(base: Database, name: str, target: Database, arrival: str) -> None:
    """Delete a sealed book that was copied; what stays of it says where it went."""

    def work() -> None:
        found = locate(base, name)
        if found is None or found.kind != MOVING:
            raise StudyNotFound(f"name={name!r}: it was taken back meanwhile")
        counters, _ = read_counters(base, found.book)
        for table in reversed(_PARTS):
            base.run(f"DELETE FROM {PREFIX}{table} WHERE book = ?", found.book)
        base.run("UPDATE sottovoce_books SET secret = ? WHERE book = ?", b"", found.book)
        _store(base, counters, found.book, name, MOVED, {"to": target.name, "arrival": arrival, "done": False})

    keys = _keys(base, name)
    base.transaction(work)
    forget_keys(keys)


def note_done(base: Database, name: str, arrival: str) -> None:
    """Put on record that the copy was activated: what is left here may go."""

    def work() -> None:
        found = locate(base, name)
        if found is not None and found.note.get("arrival") == arrival:
            _name_kind(base, found.book, name, found.kind, {**found.note, "done": True})

    base.transaction(work)


def activate(base: Database, name: str, arrival: str, kind: str) -> None:
    """Make the copy that a book was left for one that can be opened."""

    def work() -> None:
        found = locate(base, name)
        if found is None or found.note.get("arrival", arrival) != arrival:
            raise StudyNotFound(f"name={name!r}: the copy that was made of it is not at {base.name}")
        if found.kind == ARRIVING:
            _name_kind(base, found.book, name, kind, None)

    base.transaction(work)


def take_back(base: Database, name: str, kind: str) -> bool:
    """Break the seal of a book that was not left yet; say whether there was one."""

    def work() -> bool:
        found = locate(base, name)
        if found is None or found.kind != MOVING:
            return False
        _name_kind(base, found.book, name, kind, None)
        return True

    return base.transaction(work)


def rename(base: Database, name: str, new: str) -> None:
    """Call a book otherwise; whoever has it open goes on."""
    try:
        base.transaction(lambda: base.run("UPDATE sottovoce_books SET name = ? WHERE name = ?", new, name))
    except Conflict:
        raise ValueError(f"to={new!r} is taken at {base.name}: choose another name") from None


def delete(base: Database, name: str) -> None:
    """Delete a book with all of its rows; empty logs in which its losses would linger, unless somebody reads them."""

    def work() -> None:
        found = locate(base, name)
        if found is not None:
            _hold(base, found.book)
            _remove(base, found.book)

    keys = _keys(base, name)
    base.transaction(work)
    forget_keys(keys)
    base.erase()


def _keys(base: Database, name: str) -> list[Path]:
    found = locate(base, name)
    return [] if found is None else keys_of(base, found.book)


def _hold(base: Database, book: int) -> None:
    """Hold all rows of a book, in the order of those who release; then those that came before its own was held."""
    for held in (False, True):
        for table, order in _HELD:
            base.run(f"SELECT 1 FROM {PREFIX}{table} WHERE book = ? ORDER BY {order}{base.lock}", book)
        if not held:
            read_counters(base, book, lock=True)


def _remove(base: Database, book: int) -> None:
    for table in (*reversed(_PARTS), "books"):
        base.run(f"DELETE FROM {PREFIX}{table} WHERE book = ?", book)


def _read(base: Database, book: int) -> dict[str, list[Any]]:
    base.at_one_moment()
    return {
        table: base.run(f"SELECT {', '.join(_columns(table))} FROM {PREFIX}{table} WHERE book = ?", book)
        for table in ("books", *_PARTS)
    }


def _insert(table: str, *, own: bool = True) -> str:
    columns = (*(("book",) if own else ()), *_columns(table))
    return f"INSERT INTO {PREFIX}{table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _store(base: Database, counters: BookCounters, book: int, name: str, kind: str, note: Record) -> None:
    """Store the counters of a book under its number, what it is called, and what it is."""
    counters.book = book
    statement, values = save_counters(counters)
    base.run(statement, *values)
    _name_kind(base, book, name, kind, note)


def _name_kind(base: Database, book: int, name: str, kind: str, note: Record | None) -> None:
    noted = None if note is None else pack(note)
    base.run("UPDATE sottovoce_books SET name = ?, kind = ?, note = ? WHERE book = ?", name, kind, noted, book)
