"""Books in a database, opened again and again."""

import contextlib

import numpy as np

from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.sql.books import add_stream, create_book, find_book, prepare
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.rounds.stores.sql.store import SqlStore

from .policies import BareBook, Sums

HORIZON = 400
STREAMS = 3


def open_book(url, name="book", *, size=30, patience=None, horizon=HORIZON):
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


def close(book):
    """Give back what is leased, and close the connection."""
    if isinstance(book.store, SqlStore):
        book.store.close()
        book.store._base.close()


@contextlib.contextmanager
def opened(url, count=1, **options):
    """Open a book several times; close all of them at the end."""
    books = [open_book(url, **options) for _ in range(count)]
    yield books
    for book in books:
        close(book)


def loss_of(one):
    """Return the loss of an id: whoever tells it, it is the same."""
    return one * 37 % 101 / 100


def tell(book, ids):
    """Tell the losses of ids, whose slots want them."""
    book.tell_block(np.asarray(ids, dtype=np.int64), np.array([loss_of(one) for one in ids]))


def ask(book, size, stream=0):
    """Return the ids of the next events whose loss is wanted."""
    handed = book.ask_block(size, stream)
    return handed.ids[handed.wanted].tolist()
