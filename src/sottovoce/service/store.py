"""What the service itself stores: keys, and answers to requests that may be repeated.

| table    | a row for each | holds                                                            | private        |
|----------|----------------|------------------------------------------------------------------|----------------|
| keys     | key            | its public id, the hash of its secret, what it may do, until when | no: hashes     |
| requests | request        | its answer, for a client that repeats it                         | no: actions    |

No loss is ever stored here. On PostgreSQL these tables lie beside those of the studies; on SQLite in a file of their
own, since SQLite has one writer at a time: looking at a key must never stand in the way of erasing losses.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sottovoce.errors import StorageError
from sottovoce.rounds.stores.sql.database import Row, open_database
from sottovoce.rounds.stores.sql.sqlite import path_in

VERSION = 1  # of these tables

Found = TypeVar("Found")
Run = Callable[..., list[Row]]
"""Runs a statement, with `?` for each of the values that follow it; returns its rows."""

_TABLES = """
CREATE TABLE sottovoce_service_keys (
  id TEXT PRIMARY KEY,
  hash {bytes} NOT NULL,
  roles TEXT NOT NULL,             -- with commas in between
  study TEXT,                      -- NULL: all of them
  created DOUBLE PRECISION NOT NULL,
  expires DOUBLE PRECISION,
  revoked DOUBLE PRECISION,
  note TEXT NOT NULL
);

CREATE TABLE sottovoce_service_requests (
  study TEXT NOT NULL,             -- with its number: another may have its name later
  client TEXT NOT NULL,
  request {bytes} NOT NULL,        -- a hash
  asks TEXT NOT NULL,              -- what for: a repetition asks for the same
  answer {bytes} NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (study, client, request)
);

CREATE INDEX sottovoce_service_requests_at ON sottovoce_service_requests (at);

CREATE TABLE sottovoce_service_version (
  version INTEGER NOT NULL
)
"""


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
    ...     store.read("SELECT count(*) FROM sottovoce_service_keys WHERE study = ?", "spring")
    ...     store.close()
    [(0,)]
    """

    def __init__(self, url: str) -> None:
        place = _beside(url)
        self._writer = open_database(place)
        self._reader = open_database(place)  # of its own: a look at a key waits for no transaction of this process
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Make the tables, unless they are there; refuse those of another version."""
        if "sottovoce_service_version" not in self._reader.tables():
            self._writer.transaction(self._make_tables)
        for (version,) in self.read("SELECT version FROM sottovoce_service_version"):
            if version != VERSION:
                raise StorageError(
                    f"{self._writer.name} has tables of the service in version {version}, and this sottovoce knows "
                    f"{VERSION}: use the version that wrote them, or a newer one; nothing was changed"
                )

    def _make_tables(self) -> None:
        """Make the tables: one process at a time, however many start together."""
        base = self._writer
        base.one_at_a_time()
        if "sottovoce_service_version" in base.tables():
            return
        for statement in _TABLES.format(**base.words).split(";"):
            base.run(statement)
        base.run("INSERT INTO sottovoce_service_version VALUES (?)", VERSION)

    def transaction(self, work: Callable[[Run], Found]) -> Found:
        """Call `work` with what runs statements in a transaction: committed, or rolled back on any error.

        One thread at a time has it, and on SQLite one process; so it is for a few statements.
        """
        return self._writer.transaction(lambda: work(self._writer.run))

    def read(self, statement: str, *values: Any) -> list[Row]:
        """Run a `statement` that changes nothing, with its `values`; it sees all that was committed before it."""
        return self._reader.run(statement, *values)

    def close(self) -> None:
        """Close both connections; wait for whoever uses them."""
        self._writer.close()
        self._reader.close()


def twice(read: Callable[[], Found]) -> Found:
    """Return what is read; once more if the connection was lost: the next one is fresh."""
    try:
        return read()
    except StorageError:
        return read()


def _beside(url: str) -> str:
    """Return where the service's tables go: into the same database; on SQLite into a file beside the studies' own.

    A link is followed first: whatever a storage is called, its keys are the same.
    """
    if not isinstance(url, str) or not re.match(r"sqlite[+:]", url):
        return url
    studies = Path(os.path.realpath(path_in(url)))
    return f"sqlite:///{quote(str(studies.with_name(f'{studies.stem}.service{studies.suffix}')))}"
