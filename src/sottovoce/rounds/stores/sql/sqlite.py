"""A database in a file, for the processes of one host.

WAL mode with synchronous=FULL: what is committed survives a loss of power. secure_delete: deleted losses are
overwritten. Whoever finds the file busy twice sleeps for long, and less each time: SQLite's own waiting sleeps for
longer and longer, so that among many processes some would wait for seconds while others work.

Every release empties the log, and a sync of a log that grows takes twice as long as one that is overwritten. SQLite's
own checkpoints let writers go on meanwhile: among many processes there was always one that added to the log, which then
never began again, and every commit was followed by a checkpoint. Ours keep writers waiting, once in a while.
"""

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, quote, unquote

from sottovoce import _fork
from sottovoce._sqlite import SQLiteConnection
from sottovoce.errors import StorageError, StudyDamaged
from sottovoce.rounds.stores.sql import database
from sottovoce.rounds.stores.sql._files import DatabaseFile, FileReplaced
from sottovoce.rounds.stores.sql.database import Conflict, Database, Row, Values
from sottovoce.rounds.stores.sql.errors import explained, is_busy

_PRAGMAS = {
    "journal_mode": ("WAL", "wal"),
    "synchronous": ("FULL", 2),
    "secure_delete": ("ON", 1),
    "temp_store": ("MEMORY", 2),  # what is sorted may be losses: no temporary file may hold them
    "foreign_keys": ("ON", 1),
    "wal_autocheckpoint": ("0", 0),  # `_commit` sees to it
}
_COMMITS = 32  # of a process, after which it lets the log begin again
_A_WHILE = 0.0005  # seconds before whoever finds the file busy tries again: it may have been one commit
_THEN = (0.024, 0.012, 0.006, 0.003, 0.002)  # if not: whoever waits longest tries most often, and many who wait leave
# the cores to the one who works
_ATTEMPTS = 8  # at emptying the log, while others work: it is tried again with the next call
_NOT_PLAIN = ("uri", "vfs", "nolock", "immutable", "mode", "cache")  # of SQLite's URIs: they undo locks and permissions
_FOREIGN = r"""
SELECT 'a ' || type, name FROM sqlite_master
WHERE (type = 'trigger' AND tbl_name LIKE 'sottovoce\_%' ESCAPE '\')
   OR (name LIKE 'sottovoce\_%' ESCAPE '\' AND type <> 'index' AND (type <> 'table' OR rootpage = 0))
"""  # virtual tables have no page of their own


class SqliteFile(Database):
    """See `Database`.

    Parameters
    ----------
    url
        "sqlite:///file.db": a local disk, not a network share.
    create
        Whether a missing file may be created; it is readable by its owner alone.
    """

    words: ClassVar[dict[str, str]] = {
        "bytes": "BLOB",
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "small_pages": "",
    }
    lock = skip_locked = ""
    overlay = "CAST(substr(slots, 1, :at) || :new || substr(slots, :at + length(:new) + 1) AS BLOB)"
    part = "substr(slots, :at + 1, length(:new))"
    exclusive_or = "(seal | :seal) - (seal & :seal)"

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.file = DatabaseFile(path_in(url), create=create)
        self.path = self.file.path
        super().__init__(url)
        self._raw: SQLiteConnection | None = None
        self._cursor: sqlite3.Cursor | None = None  # one for all statements: they are read to their end
        self._commits = 0
        self._schema: int | None = None  # as it was when foreign things were last looked for

    def _connect(self) -> None:
        """See to it that there is a connection, to the file that is still where it was."""
        if self._raw is not None:
            self.file.check(committed=False)
            if self.file.changed:  # SQLite itself would not notice bytes that were copied over the file
                self._raw.execute("PRAGMA shrink_memory").fetchall()
            return
        self.file.before_connecting()
        place = f"file:{quote(os.fsencode(self.file.path))}?mode=rw"  # SQLite creates no file: others could read it
        raw = SQLiteConnection(
            place, timeout=database.BUSY_SECONDS, uri=True, check_same_thread=False, isolation_level=None
        )
        try:
            self._set_up(raw)
            self.file.connected()
        except FileReplaced:
            _fork.leak(raw)
            raise
        except BaseException:
            raw.close()
            raise
        self._schema, self._cursor, self._raw = None, raw.cursor(), raw

    def _set_up(self, raw: SQLiteConnection) -> None:
        """Make what is committed durable and what is deleted gone; refuse to work where SQLite does not comply."""
        for name, (value, expected) in _PRAGMAS.items():
            raw.execute(f"PRAGMA {name} = {value}").fetchall()
            ((found,),) = raw.execute(f"PRAGMA {name}").fetchall()
            if found != expected:
                raise StorageError(f"SQLite keeps PRAGMA {name} at {found}, not {expected}: losses would not be safe")
        self._refuse_foreign(raw.execute(_FOREIGN).fetchall())  # opens the log, which stays open
        raw.execute("PRAGMA busy_timeout = 0").fetchall()  # from here on `_execute` waits

    def _begin(self, begins: bool) -> None:
        self._connect()
        self._execute("BEGIN IMMEDIATE", ())
        ((schema,),) = self._execute("PRAGMA schema_version", ())
        if schema != self._schema:
            self._refuse_foreign(self._execute(_FOREIGN, ()))
            self._schema = schema

    def _commit(self, begins: bool) -> None:
        self._execute("COMMIT", ())
        self._commits += 1
        if self._commits % _COMMITS == 0:
            with suppress(sqlite3.Error):  # it is committed, and has not failed if this does
                self._execute("PRAGMA wal_checkpoint(RESTART)", ())
        self.file.check(committed=True)

    def _let_go(self, problem: BaseException) -> None:
        if isinstance(problem, FileReplaced):
            self._abandon()
        elif self._raw is not None:
            try:
                self._raw.close_cursors()
                self._cursor = self._raw.cursor()
                if self._raw.in_transaction:
                    self._raw.rollback()
            except sqlite3.Error:
                self._forget()

    def _execute(self, statement: str, values: Values) -> list[Row]:
        assert self._cursor is not None
        waits_since, waits = None, iter((_A_WHILE, *_THEN))
        while True:
            try:
                found: list[Row] = self._cursor.execute(statement, values).fetchall()
                return found
            except sqlite3.OperationalError as problem:
                waits_since = waits_since or time.monotonic()
                if not is_busy(problem) or time.monotonic() > waits_since + database.BUSY_SECONDS:
                    raise
            time.sleep(next(waits, _THEN[-1]))

    def _explained(self, problem: BaseException) -> BaseException:
        if isinstance(problem, sqlite3.IntegrityError):
            return Conflict("a constraint has refused this; nothing was recorded")
        return explained(problem, self.name) if isinstance(problem, sqlite3.Error | UnicodeDecodeError) else problem

    def _forget(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            with suppress(sqlite3.Error):
                raw.close()

    def _abandon(self) -> None:
        """Let go of a connection without closing it: SQLite would remove the log of whatever has taken its place."""
        raw, self._raw = self._raw, None
        _fork.leak(raw)

    def _inherited(self) -> str:
        return (
            f"this study was opened before the fork, and SQLite's locks do not survive one: {self.file.path} "
            "cannot be used in this process. Fork first, and open it in the child; or start processes with "
            "multiprocessing's 'spawn' or 'forkserver'; or use PostgreSQL"
        )

    def _in_child(self) -> None:
        """Never close the parent's connection, for that would reach the parent's own; never open its file again."""
        if self._raw is not None:
            _fork.leak(self._raw, self)
            if self.file.identity is not None:
                _fork.keep(self.file.identity)

    def one_at_a_time(self) -> None:
        """Nothing to do: a transaction has the write lock."""

    def now(self) -> float:
        """The host's clock."""
        return time.time()

    def tables(self) -> set[str]:
        """The tables of this library that there are."""
        return {name for (name,) in self.run("SELECT name FROM sqlite_master WHERE name LIKE 'sottovoce%'")}

    def erase(self) -> bool:
        """Empty the write-ahead log, where deleted losses would linger: it cannot while another process reads."""
        if self._fork_count != _fork.current or self.closed:
            self.refuse_fork()
        with self._guard: return self._undoing(self._emptied)  # noqa: E701  # fmt: skip

    def _emptied(self) -> bool:
        self._connect()
        for _ in range(_ATTEMPTS):
            ((busy, _, _),) = self._execute("PRAGMA wal_checkpoint(TRUNCATE)", ())
            if not busy:
                break
            time.sleep(_A_WHILE)
        self.file.check(committed=True)
        return not busy

    def check(self) -> None:
        """Look for damage to the structure of the file; what is in the rows has checksums of its own."""
        found = self.transaction(lambda: self.run("PRAGMA integrity_check(1)"))
        if found != [("ok",)]:
            raise StudyDamaged(
                f"{self.name} is damaged ({found[0][0]}): restore a backup, and open it with restored=True"
            )

    def _close(self) -> None:
        self._forget()


def path_in(url: str) -> Path:
    """Return the file that a URL of SQLite names.

    Examples
    --------
    >>> path_in("sqlite:///prices.db"), path_in("sqlite:////srv/100%25.db")
    (PosixPath('prices.db'), PosixPath('/srv/100%.db'))
    """
    rest, _, query = url.partition(":")[2].removeprefix("//").partition("?")
    place, options = unquote(rest.removeprefix("/")), parse_qs(query, keep_blank_values=True)
    if not place or place == ":memory:" or "mode=memory" in place or options.get("mode") == ["memory"]:
        raise ValueError("url names a database in memory, which does not survive: use 'sqlite:///some-file.db'")
    if rest.removeprefix("/").startswith("file:") or any(name in options for name in _NOT_PLAIN):
        raise ValueError(
            "url must name a plain file, like 'sqlite:///pricing.db': file: URIs undo locks and permissions"
        )
    return Path(place)
