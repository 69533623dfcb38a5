"""Books in a database, opened again and again, put back to an earlier state, and cut short."""

import contextlib
import dis
import functools
import itertools
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce
from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.sql.books import add_stream, create_book, find_book, prepare
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.rounds.stores.sql.store import SqlStore

from .policies import BareBook, Sums

HORIZON = 400
STREAMS = 3
SOAK = os.environ.get("SOTTOVOCE_SOAK", "0") not in ("", "0")


def open_book(
    url: str, name: str = "book", *, size: int = 30, patience: int | None = None, horizon: int | None = HORIZON
) -> BareBook:
    """Open a book of a database, which is created if it is missing, as a process of its own would."""
    base = open_database(url)
    prepare(base)
    made = create_book(base, name, "study", {}, horizon) or find_book(base, name)
    assert made is not None
    for stream in range(STREAMS):
        assert add_stream(base, made.book, str(stream)) == stream
    book = BareBook(SqlStore(base, made.book, Shape()), Sums(size), horizon=horizon)
    book.patience = patience
    return book


def close(book: BareBook) -> None:
    """Give back what is leased, and close the connection."""
    if isinstance(book.store, SqlStore):
        book.store.close()
        book.store._base.close()


@contextlib.contextmanager
def opened(url: str, count: int = 1, **options: Any) -> Iterator[list[BareBook]]:
    """Open a book several times; close all of them at the end."""
    books = [open_book(url, **options) for _ in range(count)]
    yield books
    for book in books:
        close(book)


def path_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


def rows(url: str, statement: str) -> list[Any]:
    """Return what somebody else sees of a database."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(path_of(url))) as other:
            found = other.execute(statement).fetchall()
            other.commit()
            return found
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as server:
        done = server.execute(statement)
        return done.fetchall() if done.description else []


def loss_of(one: int) -> float:
    """Return the loss of an id: whoever tells it, it is the same."""
    return one * 37 % 101 / 100


def tell(book: BareBook, ids: Any) -> None:
    """Tell the losses of ids, whose slots want them."""
    book.tell_block(np.asarray(ids, dtype=np.int64), np.array([loss_of(one) for one in ids]))


def ask(book: BareBook, size: int, stream: int = 0) -> list[int]:
    """Return the ids of the next events whose loss is wanted."""
    handed = book.ask_block(size, stream)
    ids: list[int] = handed.ids[handed.wanted].tolist()
    return ids


# ---------------------------------------------------------------------- cutting calls short

_OWN = str(Path(sottovoce.__file__).parent / "rounds")


class Tracer:
    """Notes the lines of the package's rounds that a call executes; raises before one of them.

    Parameters
    ----------
    stop
        The number of the line, in the order in which they are executed; None for no line.
    """

    def __init__(self, stop: int | None = None) -> None:
        self.count, self._stop = 0, stop

    def __enter__(self) -> "Tracer":
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: Any, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(_OWN) else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line" and frame.f_lasti not in _ends_of_blocks(frame.f_code):
            self.count += 1
            if self.count - 1 == self._stop:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


@functools.cache
def _ends_of_blocks(code: Any) -> set[int]:
    """Where a `with` is left: a line of its own to tracers, though Python handles no signal before it."""
    found = list(dis.get_instructions(code))
    ends = {one.offset for one, after in itertools.pairwise(found) if after.opname == "WITH_EXCEPT_START"}
    for before, one, two, three, call in zip([None, *found], found, found[1:], found[2:], found[3:], strict=False):
        nothing = all(each.opname == "LOAD_CONST" and each.argval is None for each in (one, two, three))
        if nothing and call.opname in ("PRECALL", "CALL"):
            ends.add(one.offset)
            if before is not None and before.opname == "SWAP":  # a value is returned from within the block
                ends.add(before.offset)
    return ends


def lines_of(call: Callable[[], Any]) -> int:
    """Return how many lines a call executes."""
    with Tracer() as tracer:
        call()
    return tracer.count


def cut_short(call: Callable[[], Any], line: int) -> BaseException | None:
    """Carry out a call up to one of its lines; return what comes out, with its traceback."""
    try:
        with Tracer(line):
            call()
    except BaseException as problem:
        return problem
    return None
