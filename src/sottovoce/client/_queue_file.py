"""The SQLite file of a queue: for its owner alone, durable, and without a trace of what was delivered.

Losses lie in it as they were told: it is to be guarded like the people's own data, for as long as a service is away.
WAL with synchronous=FULL keeps what was accepted through a loss of power; secure_delete overwrites what is deleted, and
the log is emptied after every delivery.

SQLite's locks do not survive a fork: connections are closed before one, and opened again when they are needed, so that
parent and child may both go on. SQLite works on descriptors: a file that was removed or replaced is noticed before a
tell is accepted, and again before that is said.

An exception at any line, an interrupt in between two of them included, undoes what is not committed and lets go of the
file: what to do is handed over as a function, so that no lock is ever held outside of the `try` that ends it.

Tests: tests/client/test_queue.py, tests/client/test_queue_interrupts.py.
"""

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from sottovoce import _fork
from sottovoce._disk import sync_folder
from sottovoce._sqlite import SQLiteConnection
from sottovoce.errors import StorageError

__all__ = ["QueueFile"]

Found = TypeVar("Found")

_OURS = 0x73767471  # application_id: "svtq"
_VERSION = 1
_BUSY_SECONDS = 60.0
_PRAGMAS = {"journal_mode": "WAL", "synchronous": "FULL", "secure_delete": "ON", "temp_store": "MEMORY"}
_EXPECTED = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "temp_store": 2}
_TABLES = (
    "CREATE TABLE tells (number INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, study TEXT NOT NULL, "
    "kind TEXT NOT NULL, late TEXT NOT NULL, size INTEGER NOT NULL, ids TEXT NOT NULL, numbers BLOB NOT NULL)",
    "CREATE INDEX tells_in_order ON tells (service, study, number)",
    "CREATE TABLE channels (service TEXT NOT NULL, study TEXT NOT NULL, channel TEXT, PRIMARY KEY (service, study))",
    "CREATE TABLE refusals (number INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, study TEXT NOT NULL, "
    "id TEXT NOT NULL, kind TEXT NOT NULL)",
    "CREATE TABLE reports (number INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, study TEXT NOT NULL, "
    "id TEXT NOT NULL, report INTEGER NOT NULL, UNIQUE (service, study, id))",
    f"PRAGMA application_id = {_OURS}",
    f"PRAGMA user_version = {_VERSION}",
)
_WORDS = {
    sqlite3.SQLITE_FULL: "the disk is full: make room",
    sqlite3.SQLITE_BUSY: "another process has held it for too long",
    sqlite3.SQLITE_READONLY: "it cannot be written: check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check the path, and that its folder exists",
    sqlite3.SQLITE_CORRUPT: "it is damaged: what it held is lost. Move it away, and connect again",
    sqlite3.SQLITE_NOTADB: "it is no queue: choose another name",
}

_at_work = threading.RLock()  # of all queues of this process: no file of theirs is opened or used without it
_open: "weakref.WeakSet[QueueFile]" = weakref.WeakSet()


class QueueFile:
    """A file, made if it is missing.

    Parameters
    ----------
    path
        Where; made absolute, so that a change of the working folder changes nothing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(os.fspath(path)))
        _prepare(self.path)
        self._held: list[tuple[SQLiteConnection, _fork.Identity]] = []  # one at most
        with _at_work:
            _open.add(self)
        weakref.finalize(self, _close, self._held)
        (found,) = self.transaction(lambda connection: connection.execute("PRAGMA quick_check(1)").fetchone())
        if found != "ok":
            raise StorageError(f"{self.path}: {_WORDS[sqlite3.SQLITE_CORRUPT]}")

    def transaction(self, work: Callable[[sqlite3.Connection], Found]) -> Found:
        """Call a function within a transaction; what it did is durable when this returns, or undone by any error."""
        with _at_work:
            found, words = self._ended(work)
        if words:
            raise StorageError(f"{self.path}: {words}")
        return found[0]

    def _ended(self, work: Callable[[sqlite3.Connection], Found]) -> tuple[list[Found], str]:
        """Return what a function has returned, or in words what stood in the way."""
        try:
            try:
                connection = self._connected()
                connection.execute("BEGIN IMMEDIATE")
                _set_up(connection, self.path)
                found = [work(connection)]
                connection.execute("COMMIT")
                connection.close_cursors()
            except sqlite3.Error as problem:
                _close(self._held)
                return [], _in_words(problem)
            if self._is_replaced():
                self._abandon()
                return [], "it was removed or replaced at this very moment: whether this call is recorded is not known"
            return found, ""
        except BaseException:
            _close(self._held)  # what is not committed is undone
            raise

    def erase(self) -> None:
        """Empty the log, where deleted losses would linger; while another process reads, that one does so later."""
        with _at_work, suppress(sqlite3.Error, StorageError):
            self._empty_log()

    def _empty_log(self) -> None:
        try:
            connection = self._connected()
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * _BUSY_SECONDS)}")
        except BaseException:
            _close(self._held)  # its patience may be that of this call, and no more than that
            raise

    def _connected(self) -> SQLiteConnection:
        if self._is_replaced():
            self._abandon()
        if not self._held:
            _fork.refuse_inherited(self.path, *(f"{os.path.realpath(self.path)}{end}" for end in ("-wal", "-shm")))
            self._held.append((_connect(self.path), _fork.identity(os.stat(self.path))))
            _comply(self._held[0][0], self.path)
        return self._held[0][0]

    def _is_replaced(self) -> bool:
        try:
            return bool(self._held) and _fork.identity(os.stat(self.path)) != self._held[0][1]
        except OSError:
            return True

    def _abandon(self) -> None:
        """Let go of a connection without closing it: SQLite would remove the log of what has taken the file's place."""
        for connection, _ in self._held:
            _fork.leak(connection)
        self._held.clear()

    def let_go(self) -> None:
        """Close the connection; it is opened again when it is needed."""
        _close(self._held)


def _close(held: list[tuple[SQLiteConnection, _fork.Identity]]) -> None:
    while held:
        with suppress(sqlite3.Error):
            held[-1][0].close()
        held.pop()  # only now: whoever is interrupted before can do it again


def _connect(path: Path) -> SQLiteConnection:
    place = f"file:{quote(os.fsencode(path))}?mode=rw"  # SQLite itself creates no file: others could read it
    return sqlite3.connect(
        place,
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=SQLiteConnection,
    )


def _comply(connection: SQLiteConnection, path: Path) -> None:
    for name, value in _PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")
    for name, expected in _EXPECTED.items():
        if connection.execute(f"PRAGMA {name}").fetchone()[0] != expected:
            raise StorageError(f"{path}: SQLite does not comply with PRAGMA {name}, and losses would not be safe there")


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    (ours,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if (ours, version) == (_OURS, _VERSION):
        return
    if ours == _OURS:
        raise StorageError(f"{path} was made by another version of sottovoce (format {version}): deliver it with that")
    if ours or version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StorageError(f"{path} is a database of something else: choose another name for the queue")
    for statement in _TABLES:
        connection.execute(statement)


def _prepare(path: Path) -> None:
    """Create a missing file for its owner alone; refuse one that others could read."""
    if not path.parent.is_dir():
        raise StorageError(f"the folder {path.parent} does not exist: create it first")
    words = ""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as problem:
        words = problem.strerror or type(problem).__name__
    if words:
        raise StorageError(f"{path} cannot be opened as a queue: {words}")
    try:
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if os.name != "nt" and found.st_mode & 0o077:
        raise StorageError(f"{path} can be opened by others, and losses would lie in it: chmod 600, or another name")
    if found.st_nlink > 1:
        raise StorageError(f"{path} has several names (hard links), and SQLite would lose track: choose another name")
    sync_folder(path.parent)


def _in_words(problem: sqlite3.Error) -> str:
    """Return what an error means; SQLite's own words hold names of tables, and never a value."""
    code = (getattr(problem, "sqlite_errorcode", 0) or 0) & 0xFF
    return f"{_WORDS.get(code, 'the queue could not be used')} ({type(problem).__name__})"


def _let_go_of_all() -> None:
    for one in list(_open):
        one.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_let_go_of_all)  # the last one that is registered comes first
    os.register_at_fork(before=_at_work.acquire, after_in_parent=_at_work.release, after_in_child=_at_work.release)
