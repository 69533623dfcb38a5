"""Where a ledger is kept: one SQLite file, or memory. Transactions that decide alone, and notice a file put back.

Every transaction takes the write lock *first* (BEGIN IMMEDIATE) and is on the disk when it returns (synchronous =
EXTRA). Connections live as long as a transaction, and a fork waits for those of other threads: SQLite keeps its locks
in the memory of the process, and a child that inherits them half-way would believe that it holds them.

What this process has seen does not go backwards: every change raises a counter, and every file has an identity. A file
that was replaced, removed, emptied, or rolled back to a backup under a running process is refused. A process that
starts after the file was put back cannot know: keep the ledger out of what is restored.

Tests: tests/privacy/test_ledger_file.py.
"""

import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from sottovoce import _fork
from sottovoce._disk import sync_folder
from sottovoce.errors import ForkRefused, LedgerConflict

__all__ = ["LedgerFile"]

_SECONDS_TO_WAIT = 60.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS budget (one INTEGER PRIMARY KEY CHECK (one = 1), guarantee TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS charges "
    "(place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, guarantee TEXT NOT NULL, used INTEGER NOT NULL)",
)
_LATER_COLUMNS = {  # of ledgers that were made before these existed, too
    "budget": {"identity": "TEXT", "changes": "INTEGER NOT NULL DEFAULT 0"},
    "charges": {"holder": "TEXT"},
}

_seen: dict[str, int] = {}  # the highest counter that this process has met, by identity
_forking = threading.RLock()  # held by every transaction on a file, and by a fork


def _renew_lock() -> None:
    global _forking
    _forking = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _forking.acquire(), after_in_parent=lambda: _forking.release(), after_in_child=_renew_lock
    )


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
        self._generation = _fork.generation()
        self._lock = threading.Lock()
        self._memory: sqlite3.Connection | None = None
        if self.path is None:
            self._memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            weakref.finalize(self, self._memory.close)
        else:
            _create(self.path)
        with self._locked() as connection:
            _prepare(connection)
            (self.identity,) = connection.execute("SELECT identity FROM budget").fetchone() or (None,)
        if self.path is not None:
            os.chmod(self.path, 0o600)  # only now: it is no other file that was named by mistake

    def adopt(self, plain: str) -> str:
        """Put a budget on record if there is none; return the one on record."""
        with self._locked() as connection:
            row = (plain, secrets.token_hex(16))
            connection.execute("INSERT OR IGNORE INTO budget (one, guarantee, identity) VALUES (1, ?, ?)", row)
            connection.execute("UPDATE budget SET identity = ? WHERE identity IS NULL", row[1:])
            kept, self.identity = connection.execute("SELECT guarantee, identity FROM budget").fetchone()
        return str(kept)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that holds the write lock; commit at the end, or undo everything on an error."""
        with self._locked() as connection:
            changes = self._check(connection)
            before = connection.total_changes
            yield connection
            if connection.total_changes != before:
                changes += 1
                connection.execute("UPDATE budget SET changes = ?", (changes,))
        _seen[str(self.identity)] = max(changes, _seen.get(str(self.identity), 0))

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

    @contextmanager
    def _locked(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            if self._generation != _fork.generation():
                raise ForkRefused("a ledger in memory belongs to the process that made it; give it a path to share it")
            with self._lock, _begun(self._memory):
                yield self._memory
            return
        with _forking, closing(self._connect()) as connection, _begun(connection):
            yield connection

    def _connect(self) -> sqlite3.Connection:
        where = f"file:{quote(str(self.path))}?mode=rw"  # a file that is gone is not made anew
        try:
            connection = sqlite3.connect(where, uri=True, timeout=_SECONDS_TO_WAIT, isolation_level=None)
        except sqlite3.OperationalError:
            raise LedgerConflict(f"the ledger at {self.path} is gone, or cannot be opened: put it back") from None
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
        except sqlite3.DatabaseError:
            connection.close()
            raise ValueError(f"path must be a ledger or not exist yet, and {self.path} is another file") from None
        return connection


@contextmanager
def _begun(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _prepare(connection: sqlite3.Connection) -> None:
    for table in _TABLES:
        connection.execute(table)
    for table, columns in _LATER_COLUMNS.items():
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for name, kind in columns.items():
            if name not in there:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


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
