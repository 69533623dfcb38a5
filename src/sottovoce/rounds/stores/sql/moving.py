"""Books that go to another database: no loss is lost on the way, and no round released on both sides.

A move is four transactions:

1. **Seal**: the book gets another number here, and is `MOVING`. Whoever has it open goes by its number, and finds
   nothing from then on: nothing is asked, told or released. What was acknowledged before is in what is copied.
2. **Copy**: all of its rows are put into the other database, `ARRIVING`, which nobody can open.
3. **Leave**: its rows are deleted here; what stays is `MOVED`, and says where to.
4. **Arrive**: the copy of this seal, and no other, becomes a book like any other.

Killed between any two of them, at most one of the databases holds a book that can be opened, and whoever says the same
again goes on where it stopped. Until it has left it can be taken back: that breaks the seal, and what was copied of it
never becomes a book.
"""

import secrets
from typing import Any, NamedTuple

from sottovoce.errors import StorageError, StudyNotFound
from sottovoce.rounds.stores.sql._book_rows import CLOSED, BookCounters, read_counters, save_counters
from sottovoce.rounds.stores.sql._people import carried, forget_keys, keys_of
from sottovoce.rounds.stores.sql.books import ARRIVING, MOVED, MOVING, delete_rows, hold_rows
from sottovoce.rounds.stores.sql.database import Conflict, Database
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import COLUMNS, PREFIX

_OF_BOOKS = tuple(name for name in COLUMNS["books"] if name != "book")
_PARTS = tuple(table for table in COLUMNS if table not in ("schema", "books"))
"""Tables, each of which refers to those before it."""


class _Found(NamedTuple):
    """What a database has under a name: a book, or what a move has made of it, or left."""

    book: int
    kind: str
    identity: str
    elsewhere: str
    move: str


def move_book(source: Database, name: str, kind: str, target: Database) -> None:
    """Move a book of a kind, or go on where that was cut short."""
    if _here(source, name).kind in (kind, MOVING):
        _refuse_taken(_here(source, name), name, target)
    if _here(source, name).kind == kind:
        _seal(source, name, kind)
    if _here(source, name).kind == MOVING:
        _copy(source, name, target)
        _leave(source, name, target)
    left = _here(source, name)
    if left.kind == ARRIVING:
        raise StudyNotFound(f"name={name!r} is on its way to {source.name}: finish that first")
    if left.kind != MOVED or left.elsewhere != target.name:
        raise StudyNotFound(f"name={name!r} was moved to {left.elsewhere or source.name}, and not to {target.name}")
    if left.move:
        _arrive(target, name, kind, left.move)
        _finish(source, left)
    source.erase()


def take_back(base: Database, name: str, kind: str) -> None:
    """Break the seal of a book that has not left: whoever opens it now goes on with it."""

    def work() -> None:
        found = _here(base, name)
        if found.kind == MOVED:
            raise ValueError(f"name={name!r} has left for {found.elsewhere}: move it back from there")
        if found.kind == ARRIVING:
            raise StudyNotFound(f"name={name!r} is on its way to {base.name}: finish that first")
        _set(base, found.book, kind=kind, move="")

    base.transaction(work)


def is_away(base: Database, name: str, *, for_good: bool = False) -> bool:
    """Say whether there is what a move has made of a book, or left of it; `for_good`: what nobody needs any more."""
    found = _look(base, name)
    if found is None or found.kind not in (MOVING, MOVED, ARRIVING):
        return False
    return not for_good or found.kind == ARRIVING or (found.kind == MOVED and not found.move)


# ---------------------------------------------------------------------- the four steps


def _seal(base: Database, name: str, kind: str) -> None:
    def work() -> None:
        found = _here(base, name)
        if found.kind != kind:
            raise StudyNotFound(f"name={name!r}: it is no longer at {base.name}")
        hold_rows(base, found.book)
        rows, counters = _read(base, found.book)
        delete_rows(base, found.book)
        _put(base, rows, counters, kind=MOVING, move=secrets.token_hex(16))

    base.transaction(work)


def _copy(base: Database, name: str, target: Database) -> None:
    def read() -> tuple[dict[str, list[Any]], BookCounters, _Found]:
        base.at_one_moment()
        found = _here(base, name)
        return *_read(base, found.book), found

    rows, counters, found = base.transaction(read)
    ((counters.erased,),) = base.run(f"SELECT {CLOSED}", found.book)  # no loss of a closed round was ever there
    rows["counting"] = [carried(base, target, row) for row in rows["counting"]]

    def put() -> None:
        there = _look(target, name)
        if _is_copy_of(there, found):
            return  # copied before
        if there is not None and _is_left_of(there, found):
            delete_rows(target, there.book)  # of a seal that was broken, or of the way from there to here
        _put(target, rows, counters, kind=ARRIVING, elsewhere=base.name)

    try:
        target.transaction(put)
    except Conflict:
        raise StorageError(f"{target.name} has another one called {name!r}: rename one of them") from None


def _leave(base: Database, name: str, target: Database) -> None:
    def work() -> None:
        found, there = _here(base, name), _look(target, name)
        if found.kind != MOVING or not _is_copy_of(there, found):
            raise StudyNotFound(f"name={name!r}: it was taken back, or its copy deleted, meanwhile")
        delete_rows(base, found.book, but=("counting", "books"))
        _set(base, found.book, kind=MOVED, elsewhere=target.name, secret=b"")

    base.transaction(work)


def _arrive(target: Database, name: str, kind: str, move: str) -> None:
    def work() -> None:
        found = _look(target, name)
        if found is None or found.move not in (move, ""):
            raise StudyNotFound(f"name={name!r}: the copy that was made of it is not at {target.name}")
        if found.move:  # or it has arrived, and whatever is there now is not this one's to change
            _set(target, found.book, kind=kind, elsewhere="", move="")

    target.transaction(work)


def _finish(base: Database, left: _Found) -> None:
    """Forget the key of people, which lies where they are now; put on record that what is left here may go."""
    forget_keys(keys_of(base, left.book))

    def work() -> None:
        base.run("DELETE FROM sottovoce_counting WHERE book = ?", left.book)
        _set(base, left.book, move="")

    base.transaction(work)


# ---------------------------------------------------------------------- rows


def _look(base: Database, name: str) -> _Found | None:
    rows = base.run(f"SELECT book, kind, made, elsewhere, move FROM sottovoce_books WHERE name = ?{base.lock}", name)
    for book, kind, made, elsewhere, move in rows:
        return _Found(book, kind, unpacked(made, f"what {name!r} was made with")["identity"], elsewhere, move)
    return None


def _here(base: Database, name: str) -> _Found:
    found = _look(base, name)
    if found is None:
        raise StudyNotFound(f"name={name!r}: it is no longer at {base.name}")
    return found


def _refuse_taken(found: _Found, name: str, target: Database) -> None:
    """Refuse, before anything is sealed, a storage in which the name is taken."""
    there = _look(target, name)
    if there is not None and not _is_left_of(there, found):
        raise ValueError(f"to={target.name!r} has another one called {name!r}: rename or delete it there")


def _is_copy_of(there: _Found | None, sealed: _Found) -> bool:
    """Say whether what is there is the copy of a sealed book, and not the book itself: one storage has many URLs."""
    return there is not None and there.kind == ARRIVING and there.move == sealed.move


def _is_left_of(there: _Found, book: _Found) -> bool:
    """Say whether what is there is left of a book that was there once, or a copy of it that never arrived."""
    return there.identity == book.identity and there.kind in (MOVED, ARRIVING)


def _read(base: Database, book: int) -> tuple[dict[str, list[Any]], BookCounters]:
    """Return all rows of a book, without its number, and its counters."""
    of_book = {"books": _OF_BOOKS, **{table: COLUMNS[table][1:] for table in _PARTS}}
    rows = {
        table: base.run(f"SELECT {', '.join(columns)} FROM {PREFIX}{table} WHERE book = ?", book)
        for table, columns in of_book.items()
    }
    return rows, read_counters(base, book)[0]


def _put(base: Database, rows: dict[str, list[Any]], counters: BookCounters, **changed: str) -> None:
    """Add a book by its rows, under a number of its own."""
    ((book,),) = base.run(_insert("books", _OF_BOOKS) + " RETURNING book", *rows["books"][0])
    for table in _PARTS:
        base.batch([(_insert(table, COLUMNS[table]), (book, *row)) for row in rows[table]])
    counters.book = book  # their checksum has it
    base.batch([save_counters(counters)])
    _set(base, book, **changed)


def _insert(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {PREFIX}{table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _set(base: Database, book: int, **values: Any) -> None:
    """Set columns of what is stored of a book itself."""
    base.run(
        f"UPDATE sottovoce_books SET {', '.join(f'{one} = ?' for one in values)} WHERE book = ?", *values.values(), book
    )
