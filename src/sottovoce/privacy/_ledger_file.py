"""Where a ledger is kept: one SQLite file, or memory. Transactions that decide alone, and notice a file put back.

Every transaction takes the write lock *first* (BEGIN IMMEDIATE) and is on the disk when it returns (synchronous =
EXTRA). Connections live as long as a transaction, and a fork waits for those of other threads: SQLite keeps its locks
in the memory of the process, and a child that inherits them half-way would believe that it holds them.

An exception at any line, an interrupt in between two of them included, undoes what is not committed and lets go of the
file: what to do is handed over as a function, so that no lock is ever held outside of the `try` that ends it.

What this process has seen does not go backwards: every change raises a counter, and every file has an identity. A file
that was replaced, removed, emptied, or rolled back to a backup under a running process is refused. A process that
starts after the file was put back cannot know: keep the ledger out of what is restored.

Tests: tests/privacy/test_ledger_file.py, tests/privacy/test_ledger_interrupts.py.
"""

import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from sottovoce import _fork
from sottovoce._disk import sync_folder
from sottovoce._sqlite import SQLiteConnection
from sottovoce.errors import ForkRefused, LedgerConflict

Found = TypeVar("Found")

_SECONDS_TO_WAIT = 60.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS budget (one INTEGER PRIMARY KEY CHECK (one = 1), guarantee TEXT NOT NULL, "
    "identity TEXT NOT NULL, changes INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS charges (place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "guarantee TEXT NOT NULL, holder TEXT)",
)

_seen: dict[str, int] = {}  # the highest counter that this process has met, by identity
_forking = threading.RLock()  # held by every transaction on a file, and by a fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_forking.release)


class LedgerFile:
    """The record of a ledger.

    Parameters
    ----------
    path
        A file that exists or will be made, for its owner alone; None for memory.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        # Resolved once: neither a change of directory nor of a link leads to another file later.
        self.path = None if path is None else Path(os.path.realpath(path))
        self.identity: str | None = None
        self._fork_count = _fork.fork_count()
        self._lock = threading.Lock()
        self._memory: SQLiteConnection | None = None
        self._opened: weakref.WeakSet[SQLiteConnection] = weakref.WeakSet()  # to the file
        if self.path is None:
            self._memory = sqlite3.connect(
                ":memory:", check_same_thread=False, isolation_level=None, factory=SQLiteConnection
            )
            weakref.finalize(self, self._memory.close)
        else:
            _create(self.path)
        self.identity = self._alone(_prepare)
        if self.path is not None:
            os.chmod(self.path, 0o600)  # only now: it is no other file that was named by mistake

    def adopt(self, plain: str) -> str:
        """Put a budget on record if there is none; return the one on record."""

        def adopt(connection: sqlite3.Connection) -> tuple[str, str]:
            row = (plain, secrets.token_hex(16))
            connection.execute("INSERT OR IGNORE INTO budget (one, guarantee, identity) VALUES (1, ?, ?)", row)
            kept, identity = connection.execute("SELECT guarantee, identity FROM budget").fetchone()
            return str(kept), str(identity)

        kept, self.identity = self._alone(adopt)
        return kept

    def transaction(self, work: Callable[[sqlite3.Connection], Found]) -> Found:
        """Call a function with a connection that holds the write lock; commit what it did, or undo it on any error."""

        def checked(connection: sqlite3.Connection) -> tuple[Found, int]:
            changes = self._check(connection)
            before = connection.total_changes
            found = work(connection)
            if connection.total_changes != before:
                changes += 1
                connection.execute("UPDATE budget SET changes = ?", (changes,))
            return found, changes

        found, changes = self._alone(checked)
        _seen[str(self.identity)] = max(changes, _seen.get(str(self.identity), 0))
        return found

    def _check(self, connection: sqlite3.Connection) -> int:
        """Return the counter of changes; refuse another file than that which was opened, and an older one."""
        found = None
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'budget'").fetchone():
            found = connection.execute("SELECT identity, changes FROM budget").fetchone()
        if found is None or found[0] != self.identity:
            raise LedgerConflict(
                f"the file {self.path} is not the ledger that was opened: it was replaced. Put the ledger back"
            )
        if found[1] < _seen.get(str(self.identity), 0):
            raise LedgerConflict(
                f"the ledger at {self.path} has lost changes that this process has seen: it was rolled back to an "
                "older copy. Put the newest one back; what is charged now would be charged twice, or not at all"
            )
        return int(found[1])

    def _alone(self, work: Callable[[sqlite3.Connection], Found]) -> Found:
        """Call a function within a transaction, one at a time; at the end nothing is held, however it ends."""
        if self._memory is not None and self._fork_count != _fork.fork_count():
            raise ForkRefused("a ledger in memory belongs to the process that made it; give it a path to share it")
        with _forking if self._memory is None else self._lock:
            return self._ended(work)

    def _ended(self, work: Callable[[sqlite3.Connection], Found]) -> Found:
        try:
            try:
                connection = self._memory or self._connect()
                connection.execute("BEGIN IMMEDIATE")
                found = work(connection)
                connection.execute("COMMIT")
                return found
            finally:
                self._let_go()
        except BaseException:
            self._let_go()  # once more: that, too, may have been interrupted
            raise

    def _let_go(self) -> None:
        """Undo what is not committed, and close the file; do nothing where that is done."""
        if self._memory is not None:
            self._memory.close_cursors()
            self._memory.rollback()
        for connection in list(self._opened):
            connection.close()
            self._opened.discard(connection)

    def _connect(self) -> SQLiteConnection:
        where = f"file:{quote(str(self.path))}?mode=rw"  # a file that is gone is not made anew
        try:
            connection = sqlite3.connect(
                where, uri=True, timeout=_SECONDS_TO_WAIT, isolation_level=None, factory=SQLiteConnection
            )
        except sqlite3.OperationalError:
            raise LedgerConflict(f"the ledger at {self.path} is gone, or cannot be opened: put it back") from None
        self._opened.add(connection)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
        except sqlite3.DatabaseError:
            raise ValueError(f"path must be a ledger or not exist yet, and {self.path} is another file") from None
        return connection


def _prepare(connection: sqlite3.Connection) -> str | None:
    """Make the tables, unless they are there; return the identity of the file, if it has one."""
    for table in _TABLES:
        connection.execute(table)
    (identity,) = connection.execute("SELECT identity FROM budget").fetchone() or (None,)
    return identity


def _create(path: Path) -> None:
    """Make an empty file that only its owner can read, and see to it that its name is on the disk too."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(path.parent)
