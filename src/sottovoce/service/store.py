"""What the service itself stores: keys, logins of the dashboard, and answers to requests that may be repeated.

| table    | a row for each | holds                                                            | private        |
|----------|----------------|------------------------------------------------------------------|----------------|
| keys     | key            | its public id, the hash of its secret, what it may do, until when | no: hashes     |
| sessions | login          | the hash of its cookie, the key it came with, until when          | no: hashes     |
| requests | request        | its answer, for a client that repeats it                         | no: actions    |
| revision | storage        | a number that every change of keys raises                        | no             |

No loss is ever stored here. On PostgreSQL these tables lie beside those of the studies; on SQLite in a file of their
own, since SQLite has one writer at a time: looking at a key must never stand in the way of erasing losses.

What to do is handed over as a function, so that an interrupt at any line leaves neither a lock nor a transaction held.
"""

import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    select,
)
from sqlalchemy.engine import URL

from sottovoce.errors import StorageError
from sottovoce.studies.database.migrations import one_at_a_time
from sottovoce.studies.database.storage import Storage, parsed_url, path_in

__all__ = ["ServiceStore"]

VERSION = 1  # of these tables

Found = TypeVar("Found")

_metadata = MetaData()

_keys = Table(
    "sottovoce_service_keys",
    _metadata,
    Column("id", String, primary_key=True),
    Column("hash", LargeBinary, nullable=False),
    Column("roles", String, nullable=False),  # with commas in between
    Column("study", String),  # NULL: all of them
    Column("created", Float(53), nullable=False),
    Column("expires", Float(53)),
    Column("revoked", Float(53)),
    Column("note", String, nullable=False),
    Column("rate", Float(53)),  # requests a second; NULL: as the service has it
)
_sessions = Table(
    "sottovoce_service_sessions",
    _metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("key", String, nullable=False),
    Column("expires", Float(53), nullable=False),
)
_requests = Table(
    "sottovoce_service_requests",
    _metadata,
    Column("study", String, primary_key=True),
    Column("client", String, primary_key=True),
    Column("request", LargeBinary, primary_key=True),  # a hash
    Column("asks", String, nullable=False),  # what for: a repetition asks for the same
    Column("answer", LargeBinary, nullable=False),
    Column("at", Float(53), nullable=False, index=True),
)
_revision = Table(
    "sottovoce_service_revision",
    _metadata,
    Column("number", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
)


class ServiceStore:
    """Where the service keeps what is its own; safe for threads, in the process that opened it.

    Parameters
    ----------
    url
        Of the studies' storage, as `Study.open` takes it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ServiceStore(f"sqlite:///{folder}/spring.db")
    ...     count = store.sql("SELECT count(*) FROM sottovoce_service_keys WHERE study = ?")
    ...     store.reading(lambda raw: raw.execute(count, ("spring",)).fetchone())
    ...     store.close()
    (0,)
    """

    def __init__(self, url: str) -> None:
        place = _beside(parsed_url(url)).render_as_string(hide_password=False)
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._writer = Storage(place)
        self._reader = Storage(place)  # of its own: a look at a key waits for no transaction of this process
        self._statements: dict[str, str] = {}
        try:
            with self._writer.unwinding(), self._writer.transaction() as connection:
                _prepare(connection, self.name)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._writer.name

    @property
    def is_sqlite(self) -> bool:
        """Whether it is an SQLite file."""
        return self._writer.is_sqlite

    @property
    def path(self) -> Path | None:
        """The file, on SQLite."""
        return self._writer.path

    def sql(self, statement: str) -> str:
        """Return a `statement` as the driver takes it: write ? for a parameter, and no other question mark or %."""
        if self.is_sqlite:
            return statement
        found = self._statements.get(statement)
        if found is None:
            found = self._statements[statement] = statement.replace("?", "%s")
        return found

    def transaction(self, work: Callable[[Any], Found]) -> Found:
        """Call `work` with the driver's own connection in a transaction: committed, or rolled back on any error.

        One thread at a time has it, and on SQLite one process; so it is for a few statements. It cannot be nested.
        """
        with self._writing:
            return self._write(work)

    def _write(self, work: Callable[[Any], Found]) -> Found:
        with self._writer.unwinding(), self._writer.briefly(begin=True) as raw:
            return work(raw)

    def reading(self, work: Callable[[Any], Found]) -> Found:
        """Call `work` with another connection, to read: each statement sees all that was committed before it."""
        with self._reading:
            return self._read(work)

    def _read(self, work: Callable[[Any], Found]) -> Found:
        with self._reader.unwinding(), self._reader.reading() as raw:
            return work(raw)

    def close(self) -> None:
        """Close both connections; wait for whoever uses them."""
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()


def _beside(url: URL) -> URL:
    """Return where the service's tables go: into the same database; on SQLite into a file beside the studies' own.

    A link is followed first: whatever a storage is called, its keys are the same.
    """
    if url.get_backend_name() != "sqlite":
        return url
    studies = Path(os.path.realpath(path_in(url)))
    return url.set(database=str(studies.with_name(f"{studies.stem}.service{studies.suffix}")))


def _prepare(connection: Connection, name: str) -> None:
    """Make the tables, unless they are there: one process at a time, however many start together."""
    one_at_a_time(connection)
    _metadata.create_all(connection)
    found = connection.execute(select(_revision.c.version)).scalar()
    if found is None:  # it begins anywhere: two storages in one place, one after the other, are not taken for one
        connection.execute(insert(_revision).values(number=secrets.randbits(40), version=VERSION))
    elif found != VERSION:
        raise StorageError(
            f"{name} has tables of the service in version {found}, and this sottovoce knows {VERSION}: use the version "
            "that wrote them, or a newer one; nothing was changed"
        )
