"""The database: one connection, transactions that hold the write lock, errors in plain words, and erasure.

SQLite runs in WAL mode with synchronous=FULL, so that what is committed survives a loss of power, and with
secure_delete, so that deleted losses are overwritten. PostgreSQL is any URL that SQLAlchemy understands.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
    StatementError,
)
from sqlalchemy.pool import NullPool

from sottovoce.errors import SottovoceError, StorageError, StudyDamaged

__all__ = ["Storage"]

_LOG_NAME = "sottovoce"
_IDLE = 120_000  # milliseconds after which PostgreSQL ends a transaction in which nothing happens
BUSY_SECONDS = 60.0  # how long to wait for another process's transaction
_PRAGMAS = {
    "journal_mode": "WAL",
    "synchronous": "FULL",
    "secure_delete": "ON",
    "temp_store": "MEMORY",  # what is sorted may be losses: no temporary file may hold them
    "foreign_keys": "ON",
}
_EXPECTED = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "temp_store": 2, "foreign_keys": 1}
_NOT_PLAIN = ("uri", "vfs", "nolock", "immutable", "mode", "cache")  # of SQLite's URIs: they undo locks and permissions


class Storage:
    """A connection to where studies live; used by one thread at a time, in the process that opened it.

    Parameters
    ----------
    url
        "sqlite:///file.db" (a local disk, not a network share), or "postgresql+psycopg://user@host/database".
    create
        Whether a missing SQLite file may be created; it is readable by its owner alone.
    """

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.url = _parsed(url)
        self.path = _file_of(self.url) if self.is_sqlite else None
        if self.path is not None:
            _prepare_file(self.path, create)
        self._engine = _engine(self.url)
        self._connection: Connection | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether the storage is an SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def name(self) -> str:
        """The URL, without a password."""
        return self.url.render_as_string(hide_password=True).replace("+psycopg:", ":")

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction: committed at the end, or rolled back on any error.

        On SQLite it holds the write lock from the start; on PostgreSQL its first statement must lock a row.
        """
        try:
            connection = self._connected()
            with connection.begin():
                yield connection
        except SottovoceError:
            raise
        except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as problem:
            self._forget_broken()
            translated = self._translated(problem)
            if isinstance(problem, StatementError):
                problem.params = None  # they may be losses, and an error's context travels with it
            raise translated from None
        except BaseException:  # interrupted, perhaps in the midst of a commit: nothing half done may be committed later
            self._forget_broken()
            raise

    def _connected(self) -> Connection:
        if self._connection is None:
            try:
                self._connection = self._engine.connect()
            except OperationalError as problem:
                if self.is_sqlite:
                    raise
                kind = type(problem.orig).__name__
                raise StorageError(
                    f"{self.name} cannot be reached; nothing was changed. Check host, port, user and password ({kind})"
                ) from None
        return self._connection

    def _forget_broken(self) -> None:
        """Let go of a connection that may be broken, so that the next transaction begins with a fresh one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.invalidate()
                connection.close()
            except SQLAlchemyError:
                pass

    def check(self) -> None:
        """Look for damage to the structure of the file; what is in the rows has checksums of its own."""
        if self.is_sqlite:
            with self.transaction() as connection:
                (found,) = connection.exec_driver_sql("PRAGMA quick_check(1)").one()
            if found != "ok":
                raise StudyDamaged(
                    f"{self.name} is damaged ({found}): restore a backup, and open it with restored=True"
                )

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._engine.dispose()

    def now(self, connection: Connection) -> float:
        """Return the time by the one clock that all processes share: the host's, or the database server's."""
        if self.is_sqlite:
            return time.time()
        return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def erase(self) -> bool:
        """Empty the write-ahead log, where deleted losses would linger; say whether that has succeeded.

        It cannot while another process reads. PostgreSQL keeps a log of its own, over which a client has no say.
        """
        if not self.is_sqlite:
            return True
        try:
            connection = self._connected()
            raw: Any = connection.connection.dbapi_connection
            raw.execute("PRAGMA busy_timeout = 0")
            try:
                busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                raw.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
            return not busy
        except (SQLAlchemyError, sqlite3.Error) as problem:
            if "locked" in str(problem) or "busy" in str(problem):
                return False
            self._forget_broken()
            raise self._translated(problem) from None

    def _translated(self, problem: Exception) -> SottovoceError:
        """Say what happened in plain words, without a driver's parameters."""
        cause = problem.orig if isinstance(problem, DBAPIError) and problem.orig is not None else problem
        words = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
        low = words.lower()
        if isinstance(cause, UnicodeDecodeError):
            return StudyDamaged(f"{self.name} is damaged (its schema cannot be read): restore a backup")
        if isinstance(cause, sqlite3.DatabaseError):
            if "malformed" in low or "not a database" in low or "corrupt" in low:
                return StudyDamaged(f"{self.name} is damaged, or no database at all ({words}): restore a backup")
            return StorageError(f"{self.name}: {_advice(low)} ({words})")
        return StorageError(f"{self.name}: {_advice(low)} ({type(cause).__name__})")


def _advice(low: str) -> str:
    if "full" in low:
        return "the disk is full; nothing was changed. Make room and try again"
    if "locked" in low or "busy" in low or "lock timeout" in low:
        return "another process has held the database for too long; nothing was changed. Try again"
    if "readonly" in low or "read-only" in low or "permission" in low:
        return "it cannot be written; nothing was changed. Check the permissions of the file and its folder"
    if "unable to open" in low or "no such" in low:
        return "it cannot be opened. Check the path, and that its folder exists"
    return (
        "the database could not finish; whether this call was recorded will be known when it is reached again. "
        "Repeat the call with repeat='ignore'"
    )


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql" and "+" not in parsed.drivername:
            parsed = parsed.set(drivername="postgresql+psycopg")
        backend = parsed.get_backend_name()
        parsed.get_dialect()
    except (ArgumentError, NoSuchModuleError, ImportError):
        backend = "unknown"
    if backend not in ("sqlite", "postgresql"):
        raise ValueError(
            "url must be like 'sqlite:///pricing.db' or 'postgresql://user@host/database', "
            f"got {url.split('@')[-1] if isinstance(url, str) else type(url).__name__!r}"
        )
    return parsed


def _file_of(url: URL) -> Path:
    special = str(url.database).startswith("file:") or any(name in url.query for name in _NOT_PLAIN)
    if special and url.query.get("mode") != "memory":
        raise ValueError(
            "url must name a plain file, like 'sqlite:///pricing.db': file: URIs undo locks and permissions"
        )
    in_memory = not url.database or url.database == ":memory:" or "mode=memory" in url.database
    if in_memory or url.query.get("mode") == "memory":
        raise ValueError("url names a database in memory, which does not survive: use 'sqlite:///some-file.db'")
    return Path(str(url.database))


def _prepare_file(path: Path, create: bool) -> None:
    if not path.parent.is_dir():
        raise StorageError(f"the folder {path.parent} does not exist: create it first")
    if path.is_dir():
        raise StorageError(f"{path} is a folder, not a database file")
    if not create:
        if not path.exists():
            raise StorageError(f"there is no file {path}: check the path, or create the study first")
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as problem:
        raise StorageError(f"{path} cannot be created: {problem.strerror}") from None
    os.close(descriptor)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name of the file must survive, too
    finally:
        os.close(folder)


def _engine(url: URL) -> Engine:
    logging.getLogger(f"sqlalchemy.engine.Engine.{_LOG_NAME}").addFilter(_is_no_row)
    if url.get_backend_name() != "sqlite":
        try:
            engine = create_engine(
                url,
                poolclass=NullPool,
                hide_parameters=True,
                logging_name=_LOG_NAME,
                isolation_level="READ COMMITTED",  # a row that was waited for is seen as it is now
            )
        except ImportError:
            raise StorageError("PostgreSQL needs the driver psycopg: pip install 'sottovoce[postgres]'") from None
        event.listen(engine, "connect", _set_up_postgresql)
        return engine
    options = {"check_same_thread": False, "timeout": BUSY_SECONDS}
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True, logging_name=_LOG_NAME, connect_args=options)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _is_no_row(record: logging.LogRecord) -> bool:
    """Keep rows that were read, losses among them, out of the log: SQLAlchemy writes them there at the level DEBUG."""
    return record.levelno > logging.DEBUG


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    """Make what is committed durable and what is deleted gone; refuse to work where SQLite does not comply."""
    connection.isolation_level = None  # transactions begin where this file says so
    for name, value in _PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")
    for name, expected in _EXPECTED.items():
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found != expected:
            raise sqlite3.OperationalError(f"PRAGMA {name} is {found}, not {expected}: what is told would not be safe")


def _set_up_postgresql(connection: Any, _record: Any) -> None:
    """Make what is committed durable; and let a process that is stopped half-way not stop all others for ever."""
    connection.autocommit = True
    for name in ("fsync", "full_page_writes"):
        if connection.execute(f"SHOW {name}").fetchone()[0] != "on":
            connection.close()
            raise StorageError(f"the PostgreSQL server runs with {name} = off: what is told would not be safe")
    if connection.execute("SHOW synchronous_commit").fetchone()[0] == "off":
        connection.execute("SET synchronous_commit = on")  # a release that is lost would be drawn twice
    connection.execute(f"SET lock_timeout = {int(1000 * BUSY_SECONDS)}")
    connection.execute(f"SET idle_in_transaction_session_timeout = {_IDLE}")
    connection.autocommit = False


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
