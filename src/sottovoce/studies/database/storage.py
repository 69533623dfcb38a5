"""The database: one connection, its transactions, errors in plain words, and erasure.

SQLite runs in WAL mode with synchronous=FULL, so that what is committed survives a loss of power, and with
secure_delete, so that deleted losses are overwritten. PostgreSQL is any URL that SQLAlchemy understands.
"""

import logging
import os
import re
import sqlite3
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool

from sottovoce import _fork
from sottovoce._sqlite import SQLiteConnection
from sottovoce.errors import ForkRefused, SottovoceError, StorageError, StudyDamaged
from sottovoce.studies.database import _pulse as pulse
from sottovoce.studies.database._files import DatabaseFile, FileReplaced
from sottovoce.studies.database._foreign import refuse_foreign_postgresql, refuse_foreign_sqlite
from sottovoce.studies.database._pulse import Pulse
from sottovoce.studies.database._turns import Turns
from sottovoce.studies.database.cells import get_bit, set_bit
from sottovoce.studies.database.errors import explained, is_busy

__all__ = ["Storage", "driver_of", "parsed_url", "path_in"]

_LOG_NAME = "sottovoce"
BUSY_SECONDS = 60.0  # how long to wait for another process's transaction
_PRAGMAS = {
    "journal_mode": "WAL",
    "synchronous": "FULL",
    "secure_delete": "ON",
    "temp_store": "MEMORY",  # what is sorted may be losses: no temporary file may hold them
    "foreign_keys": "ON",
}
_EXPECTED = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "temp_store": 2, "foreign_keys": 1}
_BEGIN = {
    True: "BEGIN IMMEDIATE",
    False: "BEGIN ISOLATION LEVEL READ COMMITTED",
}  # what was waited for is seen as it is
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
        self._generation = _fork.generation()
        self.url = parsed_url(url)
        self.file = DatabaseFile(path_in(self.url), create=create) if self.is_sqlite else None
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()  # the driver's connections
        self._engine = _engine(self.url, self.file, self._opened)
        self._turns = None if self.file is None else Turns(f"{os.path.realpath(self.file.path)}-turns", BUSY_SECONDS)
        self._connection: Connection | None = None
        self._schema: int | None = None  # as it was when foreign things were last looked for
        self._pulse = Pulse()
        weakref.finalize(self, self._pulse.stop)
        _living.add(self)

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
        self.refuse_fork()
        with self._in_plain_words():
            connection = self._connected()
            with self._turn(), connection.begin():
                self._refuse_foreign(driver_of(connection))
                with nullcontext() if self.file else self._pulse.beating(driver_of(connection)):
                    yield connection
            if self.file is not None:
                self.file.check(committed=True)

    @contextmanager
    def briefly(self, *, begin: bool) -> Iterator[Any]:
        """Yield the driver's own connection, for a few statements: committed at the end, or rolled back on any error.

        Parameters
        ----------
        begin
            Whether they are one transaction; otherwise, on a server, each statement is one. On SQLite they always are.
        """
        self.refuse_fork()
        with self._in_plain_words():
            raw = driver_of(self._connected())
            with self._turn():
                if begin or self.file is not None:
                    raw.execute(_BEGIN[self.is_sqlite])
                try:
                    if self.file is not None:
                        self._refuse_foreign(raw)
                    yield raw
                except BaseException:
                    if begin or self.file is not None:
                        with suppress(Exception):  # a connection that is broken has nothing to undo
                            raw.execute("ROLLBACK")
                    raise
                if begin or self.file is not None:
                    raw.execute("COMMIT")
            if self.file is not None:
                self.file.check(committed=True)

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Yield the driver's own connection, to read: each statement sees all that was committed before it began.

        It takes no turn and waits for no writer, so that it must not write.
        """
        self.refuse_fork()
        with self._in_plain_words():
            yield driver_of(self._connected())

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        """Turn the errors of databases into ours; let go of a connection that may be broken."""
        before = sys.exc_info()[1]  # whoever calls may be dealing with an interrupt of its own
        try:
            yield
        except FileReplaced:
            self._abandon()
            raise
        except (SottovoceError, GeneratorExit):  # whoever was cut short and is collected now has let go before
            raise
        except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as problem:
            found = self._interrupt_behind(problem) or _interrupt_in(problem, before) or self._explained(problem)
            self._forget_broken()
            raise found from None
        except BaseException as problem:  # perhaps in the midst of a commit: nothing half done may be committed later
            found = _interrupt_in(problem, before) or (self._explained(problem) if _is_of_server(problem) else problem)
            self._forget_broken()
            if found is not problem:
                raise found from None
            raise

    @contextmanager
    def unwinding(self) -> Iterator[None]:
        """Let go of everything, should the block be cut short.

        An interrupt can come between a transaction and its `with`: then nobody leaves that. Here nothing is taken, and
        nothing is let go of at a regular end, so that it does not matter where this is interrupted.
        """
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException:
            self.let_go()
            raise

    def let_go(self) -> None:
        """Undo and let go of what a call has left that was cut short; do nothing if there is nothing."""
        if self._generation != _fork.generation():
            return
        in_transaction = [_is_in_transaction(one) for one in list(self._opened)]
        if any(in_transaction):
            self._forget_broken()
        self._pulse.rest()
        if self._turns is not None:
            self._turns.release()

    def _explained(self, problem: BaseException) -> SottovoceError:
        return explained(problem, self.name, self._pulse.failure)

    def _interrupt_behind(self, problem: BaseException) -> BaseException | None:
        cause = problem.orig if isinstance(problem, DBAPIError) and problem.orig is not None else problem
        mine = [one for one in list(self._opened) if isinstance(one, SQLiteConnection)]
        return next((found for one in mine if (found := one.interrupt_behind(cause)) is not None), None)

    def _turn(self) -> AbstractContextManager[None]:
        return nullcontext() if self._turns is None else self._turns.turn()

    @property
    def path(self) -> Path | None:
        """The file, on SQLite."""
        return None if self.file is None else self.file.path

    def refuse_fork(self) -> None:
        """Refuse to work in a child of the process that opened this."""
        if self._generation != _fork.generation():
            if self.file is None:
                raise ForkRefused("this study was opened in another process: open it again in this one, after the fork")
            raise ForkRefused(
                f"this study was opened before the fork, and SQLite's locks do not survive one: {self.file.path} "
                "cannot be used in this process. Fork first, and open it in the child; or start processes with "
                "multiprocessing's 'spawn' or 'forkserver'; or use PostgreSQL"
            )

    def _connected(self) -> Connection:
        """Return the connection; on SQLite, to the file that is still where it was."""
        if self._connection is not None:
            if self.file is not None:
                self.file.check(committed=False)
                if self.file.changed:  # SQLite itself would not notice bytes that were copied over the file
                    driver_of(self._connection).execute("PRAGMA shrink_memory")
            return self._connection
        if self.file is not None:
            self.file.before_connecting()
        self._connection, self._schema = self._connect(), None
        if self.file is not None:
            self.file.connected()
        return self._connection

    def _connect(self) -> Connection:
        try:
            return self._engine.connect()
        except OperationalError as problem:
            if self.is_sqlite:
                raise
            kind = type(problem.orig).__name__
            raise StorageError(
                f"{self.name} cannot be reached; nothing was changed. Check host, port, user and password ({kind})"
            ) from None

    def _forget_broken(self) -> None:
        """Let go of a connection that may be broken, so that the next transaction begins with a fresh one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # what was cut short may have left it in any state
                connection.invalidate()
                connection.close()
        self._close_opened()
        self._pulse.failure = None
        if self._turns is not None:
            self._turns.release()

    def _close_opened(self) -> None:
        """Close the driver's connections, whatever SQLAlchemy knows of them."""
        for one in list(self._opened):
            with suppress(Exception):  # it may be broken
                one.close()
            self._opened.discard(one)

    def _refuse_foreign(self, raw: Any) -> None:
        """Look for triggers and the like, if the schema has changed; a server's, when it is connected to."""
        if self.file is None:
            return
        (schema,) = raw.execute("PRAGMA schema_version").fetchone()
        if schema != self._schema:
            refuse_foreign_sqlite(raw, self.name)
            self._schema = schema

    def _abandon(self) -> None:
        """Let go of a connection without closing it: SQLite would remove the log of whatever has taken its place."""
        connection, self._connection = self._connection, None
        self._opened.clear()
        _leak(connection)

    def check(self) -> None:
        """Look for damage to the structure of the file; what is in the rows has checksums of its own."""
        if self.is_sqlite:
            with self.unwinding(), self.transaction() as connection:
                (found,) = connection.exec_driver_sql("PRAGMA quick_check(1)").one()
            if found != "ok":
                raise StudyDamaged(
                    f"{self.name} is damaged ({found}): restore a backup, and open it with restored=True"
                )

    def close(self) -> None:
        """Close the connection; in a forked child it is the parent's, and stays as it is."""
        if self._generation != _fork.generation():
            return
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
        self._close_opened()
        self._engine.dispose()
        self._pulse.stop()
        if self._turns is not None:
            self._turns.close()

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
        self.refuse_fork()
        try:
            connection = self._connected()
            raw = driver_of(connection)
            with self._turn():
                raw.execute("PRAGMA busy_timeout = 0")
                try:
                    busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                finally:
                    raw.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
            if self.file is not None:
                self.file.check(committed=True)
            return not busy
        except FileReplaced:
            self._abandon()
            raise
        except (SQLAlchemyError, sqlite3.Error) as problem:
            if is_busy(problem):
                return False
            self._forget_broken()
            raise explained(problem, self.name) from None
        except BaseException:  # its patience may be that of this call, and no more than that
            self._forget_broken()
            raise


def parsed_url(url: str) -> URL:
    """Return a URL of a storage in its parts, or refuse it without what may be a password."""
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
            f"url must be like 'sqlite:///pricing.db' or 'postgresql://user@host/database', got {_kind_of(url)}"
        )
    return parsed


def _kind_of(url: Any) -> str:
    """Return what can be said of a URL that is none of ours: its kind, and nothing that may be a password."""
    if not isinstance(url, str):
        return f"something of type {type(url).__name__}"
    kind, mark, _ = url.strip().partition("://")
    if mark and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", kind):
        return f"one of kind {kind!r}, which is not supported"
    return "a text without '://'" if set(url) & set("@:=?&%") else repr(url)


def path_in(url: URL) -> Path:
    """Return the file that a URL of SQLite names."""
    special = str(url.database).startswith("file:") or any(name in url.query for name in _NOT_PLAIN)
    if special and url.query.get("mode") != "memory":
        raise ValueError(
            "url must name a plain file, like 'sqlite:///pricing.db': file: URIs undo locks and permissions"
        )
    in_memory = not url.database or url.database == ":memory:" or "mode=memory" in url.database
    if in_memory or url.query.get("mode") == "memory":
        raise ValueError("url names a database in memory, which does not survive: use 'sqlite:///some-file.db'")
    return Path(str(url.database))


def _engine(url: URL, file: DatabaseFile | None, opened: "weakref.WeakSet[Any]") -> Engine:
    logging.getLogger(f"sqlalchemy.engine.Engine.{_LOG_NAME}").addFilter(_is_no_row)
    if file is None:
        try:
            engine = create_engine(
                url,
                poolclass=NullPool,
                hide_parameters=True,
                logging_name=_LOG_NAME,
            )
        except ImportError:
            raise StorageError("PostgreSQL needs the driver psycopg: pip install 'sottovoce[postgres]'") from None
        event.listen(engine, "connect", lambda connection, _record: opened.add(connection))
        event.listen(engine, "connect", _set_up_postgresql)
        event.listen(engine, "begin", _begin_postgresql)
        return engine
    place = f"file:{quote(os.fsencode(file.path))}?mode=rw"  # SQLite itself creates no file: others could read it

    def connect() -> sqlite3.Connection:
        made = sqlite3.connect(place, uri=True, check_same_thread=False, timeout=BUSY_SECONDS, factory=SQLiteConnection)
        opened.add(made)
        return made

    engine = create_engine(
        "sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True, logging_name=_LOG_NAME
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _is_no_row(record: logging.LogRecord) -> bool:
    """Keep rows that were read, losses among them, out of the log: SQLAlchemy writes them there at the level DEBUG."""
    return record.levelno > logging.DEBUG


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    """Make what is committed durable and what is deleted gone; refuse to work where SQLite does not comply."""
    connection.isolation_level = None  # transactions begin where this file says so
    connection.add_function("get_bit", 2, get_bit)
    connection.add_function("set_bit", 3, set_bit)
    for name, value in _PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")
    for name, expected in _EXPECTED.items():
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found != expected:
            connection.close()
            raise StorageError(f"SQLite keeps PRAGMA {name} at {found}, not {expected}: what is told would not be safe")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log, and keeps it open


def _set_up_postgresql(connection: Any, _record: Any) -> None:
    """Make what is committed durable; and let a process that is stopped half-way not stop all others for ever.

    Statements commit by themselves, unless a transaction is begun where this file says so.
    """
    connection.autocommit = True
    for name in ("fsync", "full_page_writes"):
        if connection.execute(f"SHOW {name}").fetchone()[0] != "on":
            connection.close()
            raise StorageError(f"the PostgreSQL server runs with {name} = off: what is told would not be safe")
    if connection.execute("SHOW synchronous_commit").fetchone()[0] == "off":
        connection.execute("SET synchronous_commit = on")  # a release that is lost would be drawn twice
    connection.execute(f"SET lock_timeout = {int(1000 * BUSY_SECONDS)}")
    connection.execute(f"SET idle_in_transaction_session_timeout = {int(1000 * pulse.IDLE_SECONDS)}")
    connection.execute(f"SET tcp_user_timeout = {int(1000 * pulse.IDLE_SECONDS)}")  # it does not read what it asked for
    refuse_foreign_postgresql(connection, "the database")


def _interrupt_in(problem: BaseException, before: BaseException | None) -> BaseException | None:
    """Return the interrupt that an error came from: SQLAlchemy, cut short, may fail in dealing with it."""
    found: BaseException | None = problem
    while found is not None and found is not before:
        if not isinstance(found, Exception):
            return found
        found = found.__context__
    return None


def _is_in_transaction(raw: Any) -> bool:
    """Whether a driver's connection is in a transaction, once nothing is read from it; a broken one counts as such."""
    try:
        if isinstance(raw, SQLiteConnection):
            raw.close_cursors()
            return raw.in_transaction
        return int(raw.info.transaction_status) != 0
    except Exception:
        return True


def driver_of(connection: Connection) -> Any:
    """Return the driver's own connection."""
    return connection.connection.dbapi_connection


_living: weakref.WeakSet[Storage] = weakref.WeakSet()


def _leak(connection: Connection | None) -> None:
    """Keep a connection from ever being closed, by whomever."""
    if connection is not None and not connection.closed and not connection.invalidated:
        fairy: Any = connection.connection
        _fork.leak(connection, fairy, fairy.dbapi_connection)


def _let_go_of_turns() -> None:
    for storage in list(_living):
        if storage._turns is not None:
            storage._turns.close()


def _keep_what_was_inherited() -> None:
    """In a forked child: never close the parent's connections, for that would reach the parent's own.

    A server's connection is cut off from the shared socket as well. Only so does the server notice that the parent is
    gone, and nothing that is sent here by mistake can reach it.
    """
    _let_go_of_turns()
    for storage in list(_living):
        connection = storage._connection
        if connection is None or connection.closed or connection.invalidated:
            continue
        _leak(connection)
        _fork.leak(storage, storage._engine)
        if storage.file is not None and storage.file.identity is not None:
            _fork.keep(storage.file.identity)
        elif storage.file is None:
            _cut_off(driver_of(connection))


def _cut_off(server: Any) -> None:
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, server.fileno(), inheritable=False)
        os.close(nothing)
    except Exception:  # closed already: there is nothing to cut off
        pass


_fork.in_child(_keep_what_was_inherited)


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(_BEGIN[True])


def _begin_postgresql(connection: Connection) -> None:
    connection.exec_driver_sql(_BEGIN[False])


def _is_of_server(problem: BaseException) -> bool:
    """Whether an error is the server driver's own, which may not be installed."""
    return type(problem).__module__.partition(".")[0] == "psycopg"
