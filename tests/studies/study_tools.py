"""What the tests of studies share: small studies, losses that can be told apart, and a look into the storage."""

import contextlib
import sqlite3
from collections import namedtuple

import numpy as np
from small_studies import SOAK, Opener, ball, believing, curved, probing, sums  # noqa: F401

from sottovoce._records import unpack
from sottovoce.rounds.stores.sql import postgresql, schema, sqlite
from storages import path_of


def place(one):
    """Return (incarnation, place) of an id."""
    return tuple(int(part, 16) for part in str(one).split(".")[:2])


def integer_of(place):
    """Return the integer of an event's loss: no two of a study's events have the same, as far as tests go."""
    return (place * 104729 + 12345) % 262144


def loss_of(one, bits=18):
    """Return the loss of an action by its id: whoever tells it, and however often, it is the same."""
    return integer_of(place(one)[1]) / 2**bits


def losses_of(ids):
    """Return the losses of a block of actions."""
    return np.array([loss_of(one) for one in ids])


def ask_and_tell(study, *asked, told=None, **whom):
    """Ask for actions, and tell the losses of so many of them, or of all; return their ids."""
    ids = study.ask(*asked, **whom).ids
    study.tell(ids[:told], losses_of(ids[:told]))
    return ids


@contextlib.contextmanager
def connected(url):
    """Connect to a storage past the library, and commit in the end."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(path_of(url))) as connection, connection:
            yield connection
        return
    import psycopg

    with psycopg.connect(url.replace("postgresql+psycopg:", "postgresql:", 1)) as connection:
        yield connection


def rows(connection, statement, *values):
    """Return rows with names; write ? for a value."""
    cursor = connection.execute(
        statement if isinstance(connection, sqlite3.Connection) else statement.replace("?", "%s"), values
    )
    row = namedtuple("Row", [column[0] for column in cursor.description])
    return [row(*one) for one in cursor.fetchall()]


class Look:
    """What a storage holds, read past the library's own connection."""

    def __init__(self, url, name="study"):
        with connected(url) as connection:
            file = isinstance(connection, sqlite3.Connection)
            # All of one moment: somebody may be at work.
            connection.execute("BEGIN" if file else "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            (self.counters,) = rows(connection, "SELECT * FROM sottovoce_books WHERE name = ?", name)
            for table, order in (
                ("streams", "stream"),
                ("rounds", "stream, number"),
                ("chunks", "chunk"),
                ("releases", "stream, round"),
            ):
                found = rows(
                    connection, f"SELECT * FROM sottovoce_{table} WHERE book = ? ORDER BY {order}", self.counters.book
                )
                setattr(self, table, found)

    @property
    def public(self):
        """Return the public record of each round."""
        return {row.number: unpack(bytes(row.public)) for row in self.rounds}

    @property
    def closed(self):
        """Return the released record of each closed round, as it is stored."""
        return {(row.stream, row.round): bytes(row.released) for row in self.releases}

    @property
    def tells(self):
        """Return the chunks that were told anything."""
        return [row for row in self.chunks if row.closed]

    def has(self, ids):
        """Whether there is a loss of each of these, or its round is closed."""
        places = {place(one)[1] for one in ids} - self.told().keys()
        closed = [range(row.first, row.first + row.size) for row in self.rounds if not row.open]
        return all(any(one in each for each in closed) for one in places)

    def counts(self):
        """Return how many losses were told, and given up, of all rounds."""
        told = sum(row.told for row in self.releases) + sum(row.closed - row.missing for row in self.chunks)
        missing = sum(row.missing for row in (*self.releases, *self.chunks))
        return {"told": told, "forgotten": missing}

    def told(self):
        """Return the integer of every place that waits for its round; None if it was forgotten."""
        found = {}
        for row in self.chunks:
            slots = np.frombuffer(bytes(row.slots), dtype=">i4").astype(np.int64)
            for slot, value in enumerate(slots.tolist()):
                if value >= -(2**31) + 4:
                    found[row.chunk * 64 + slot] = value
                elif value == -(2**31) + 1:
                    found[row.chunk * 64 + slot] = None
        return found


def counts(study):
    """Return what a study counts: asked, told, forgotten and outstanding, and rounds that are over."""
    status = study.status()
    return status.asked, status.told, status.forgotten, status.outstanding, status.round


def set_clock(monkeypatch, now):
    """Let the clock that processes share show what `now()` returns."""
    for kind in (sqlite.SqliteFile, postgresql.PostgresServer):
        monkeypatch.setattr(kind, "now", lambda self: now())


def raw(url):
    """Return a plain SQLite connection to the file of a URL."""
    return sqlite3.connect(path_of(url), isolation_level=None)


def nothing(statement):
    """Do nothing about a statement."""


def watch(before=nothing, after=nothing, put=setattr):
    """Have functions told of every statement that goes to a driver, and of BEGIN and COMMIT."""
    file, server = sqlite.SqliteFile, postgresql.PostgresServer
    for name, said in (("_execute", None), ("_begin", "BEGIN"), ("_commit", "COMMIT")):
        put(file, name, _watched(getattr(file, name), said, before, after))
    put(server, "_quickly", _watched(server._quickly, None, before, after))
    put(server, "_journey", _watched_journey(server._journey, before, after))


def _watched_journey(method, before, after):
    """Have them told of statements that go together: of all before the first, and of all after the last."""

    def watched(self, steps):
        for statement, _ in steps:
            before(statement)
        found = method(self, steps)
        for statement, _ in steps:
            after(statement)
        return found

    return watched


def _watched(method, said, before, after):
    def watched(self, first, *values):
        statement = said or first
        before(statement)
        found = method(self, first, *values)
        after(statement)
        return found

    return watched


class Backup:
    """A copy of a storage, which can be put back in place while processes have it open."""

    def __init__(self, url):
        self.url = url
        if url.startswith("sqlite"):
            self.copy = sqlite3.connect(":memory:")
            with contextlib.closing(sqlite3.connect(path_of(url))) as source:
                source.backup(self.copy)
            return
        with connected(url) as connection:
            self.tables = {one: rows(connection, f"SELECT * FROM sottovoce_{one}") for one in schema.TABLES}

    def put_back(self):
        if self.url.startswith("sqlite"):
            with contextlib.closing(sqlite3.connect(path_of(self.url))) as target:
                self.copy.backup(target)
            return
        with connected(self.url) as connection:
            for table in reversed(schema.TABLES):
                connection.execute(f"DELETE FROM sottovoce_{table}")
            for table, found in self.tables.items():
                for row in found:
                    marks = ", ".join(["%s"] * len(row))
                    connection.execute(f"INSERT INTO sottovoce_{table} VALUES ({marks})", tuple(row))
