"""What a store needs of a database: statements, transactions, and statements that commit by themselves.

One file for each kind of database, and its line in `KINDS`. A URL of any other kind is refused.

A transaction is a function that is handed over: so there is no moment at which an interrupt could leave it open. What
is raised at any line of it, or of what is here, undoes it, and lets go of every lock; and no error carries what a
driver says, which may be a loss.
"""

import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sottovoce import _fork
from sottovoce.errors import ForkRefused, StorageError
from sottovoce.rounds.stores.sql.errors import Deadlock, Lost

KINDS = {
    "sqlite": "sottovoce.rounds.stores.sql.sqlite:SqliteFile",
    "postgresql": "sottovoce.rounds.stores.sql.postgresql:PostgresServer",
}
"""Kinds of databases: the first part of a URL, and where the class is."""

BUSY_SECONDS = 60.0
"""How long to wait for another process's transaction."""

Row = tuple[Any, ...]
Values = Sequence[Any] | Mapping[str, Any]
"""Of a statement: in the order of its `?`; or by the names that it has after colons, where these are integers or
bytes, and integers are returned."""

_ATTEMPTS = 5
_PAUSE = 0.05  # seconds before whoever was undone goes again: whoever waited for it goes first
_Found = TypeVar("_Found")


class Conflict(StorageError):
    """A constraint has refused a statement; nothing of its transaction was recorded."""


class Database(ABC):
    """One connection, used by one thread at a time, in the process that opened it.

    Parameters
    ----------
    name
        Its URL, without a password.

    Attributes
    ----------
    what
        What is closed with it, in words.
    words
        What the schema leaves open: the types of bytes and of numbers that count by themselves, and options.
    lock, skip_locked
        What is put behind a SELECT to lock its rows, or to pass over those that are locked.
    overlay, part
        Expressions for `slots` with bytes from one place on replaced by others, and for the bytes that are there.
    exclusive_or
        An expression for `seal`, changed by a value.
    """

    path: Path | None = None
    """The file, if it is one."""

    closed = False
    """Whether nothing can be done with it any more."""

    words: ClassVar[dict[str, str]]
    lock: ClassVar[str]
    skip_locked: ClassVar[str]
    overlay: ClassVar[str]
    part: ClassVar[str]
    exclusive_or: ClassVar[str]

    def __init__(self, name: str) -> None:
        self.name, self.what = name, f"this connection to {name}"
        self._guard, self._inside = threading.RLock(), False
        self._sent = False  # whether all of a transaction was sent: it may be on record, then
        self._fork_count = _fork.fork_count()
        _fork.tell(self)

    def transaction(self, work: Callable[[], _Found], *, alone: bool = False) -> _Found:
        """Carry out `work` in a transaction, and return what it returns; whatever it raises undoes it.

        Where transactions have waited for one another in a circle, it is carried out again. Within another one, it is a
        part of that; or refused, where it is to stand `alone`, since what it has said would be undone with the other.
        """
        if self._fork_count != _fork.current or self.closed:
            self.refuse_fork()
        with self._guard: return self._nested(work, alone) if self._inside else self._attempts(work, True)  # noqa: E701  # fmt: skip

    def at_once(self, statement: str, values: Mapping[str, Any]) -> list[Row]:
        """Run one statement often met, which commits by itself."""
        if self._fork_count != _fork.current or self.closed:
            self.refuse_fork()
        work = partial(self._execute, statement, values)
        with self._guard: return self._nested(work, True) if self._inside else self._once(work)  # noqa: E701  # fmt: skip

    def run(self, statement: str, *values: Any) -> list[Row]:
        """Run one statement within a transaction; or outside of one, if it changes nothing."""
        if self._fork_count != _fork.current or self.closed:
            self.refuse_fork()
        with self._guard: return self._execute(statement, values) if self._inside else self._read(statement, values)  # noqa: E701  # fmt: skip

    def batch(self, steps: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        """Run statements one after the other, within a transaction; return the rows of each."""
        return [self._execute(statement, values) for statement, values in steps]

    def later(self, steps: Sequence[tuple[str, Values]]) -> None:
        """Run statements whose rows nobody needs, within a transaction: at the latest when it ends."""
        self.batch(steps)

    def close(self) -> None:
        """Close the connection, once nobody uses it; in a forked child it is the parent's, and stays as it is."""
        if self._fork_count == _fork.current:
            with self._guard: self._end()  # noqa: E701  # fmt: skip

    def _end(self) -> None:
        self.closed = True
        self._close()

    def refuse_fork(self) -> None:
        """Refuse to work in a child of the process that opened this; or once it is closed."""
        if self._fork_count != _fork.current:
            raise ForkRefused(self._inherited())
        if self.closed:
            raise StorageError(f"{self.what} is closed: open it again")

    def _nested(self, work: Callable[[], _Found], alone: bool) -> _Found:
        if alone:  # only a signal handler comes here
            raise StorageError(
                "it was called in the midst of another call of the same thread, by a signal handler, and would be "
                "undone with that; nothing was recorded. Call it once that is over"
            )
        return work()

    def _attempts(self, work: Callable[[], _Found], begins: bool) -> _Found:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._attempt(work, begins)
            except Deadlock:  # nothing of it was recorded
                time.sleep(_PAUSE)
            except Lost:
                if self._sent:
                    raise
        return self._attempt(work, begins)

    def _once(self, work: Callable[[], list[Row]]) -> list[Row]:
        """Carry out a statement that has an answer if it finds what it changes: once, should its answer be lost."""
        try:
            return self._attempts(work, False)
        except Lost:
            found = self._attempts(work, False)
            if found:
                return found
            raise  # it may be on record by the first attempt, or may have had nothing to change

    def _attempt(self, work: Callable[[], _Found], begins: bool) -> _Found:
        self._sent = not begins
        return self._undoing(partial(self._carried_out, work, begins))

    def _carried_out(self, work: Callable[[], _Found], begins: bool) -> _Found:
        self._inside = True
        self._begin(begins)
        found = work()
        self._sent = True
        self._commit(begins)
        self._inside = False
        return found

    def _undoing(self, work: Callable[[], _Found]) -> _Found:
        """Carry out `work`; whatever it raises undoes it, and is said in plain words."""
        try:
            return work()
        except BaseException as problem:
            self._inside = False
            self._let_go(problem)
            explained = self._explained(problem)
            if explained is problem:
                raise
        raise explained  # here, so that what the driver has said does not travel with it

    def _read(self, statement: str, values: Values) -> list[Row]:
        def read() -> list[Row]:
            self._connect()
            return self._execute(statement, values)

        try:
            return self._undoing(read)
        except Lost:
            return self._undoing(read)

    def at_one_moment(self) -> None:  # noqa: B027
        """At the beginning of a transaction: read all that it reads as it is at one moment, as SQLite does anyway."""

    def _refuse_foreign(self, found: Sequence[Row]) -> None:
        """Refuse a storage in which a table of ours is no plain one, or has a trigger or rule: it could keep losses."""
        for kind, name in found:
            raise StorageError(
                f"{self.name} holds {kind} of somebody else's at {name!r}, which could keep losses: nothing was "
                "changed. Find out who has put it there, remove it, and look for copies of losses; or use another "
                "storage"
            )

    # ------------------------------------------------------------------ what differs

    @abstractmethod
    def _connect(self) -> None:
        """See to it that there is a connection that can be used."""

    @abstractmethod
    def _begin(self, begins: bool) -> None:
        """Connect, take turns with others, and begin; a statement that commits by itself may need no beginning."""

    @abstractmethod
    def _commit(self, begins: bool) -> None:
        """Make it durable, and let go of every lock."""

    @abstractmethod
    def _let_go(self, problem: BaseException) -> None:
        """Undo what is not committed, and let go of every lock and of a connection that may be broken."""

    @abstractmethod
    def _execute(self, statement: str, values: Values) -> list[Row]:
        """Run one statement; return its rows."""

    @abstractmethod
    def _explained(self, problem: BaseException) -> BaseException:
        """Return what is raised in place of a driver's error: plain words, and no value."""

    @abstractmethod
    def _inherited(self) -> str:
        """Say why a forked child is refused, and what it can do."""

    @abstractmethod
    def _in_child(self) -> None:
        """In a forked child: keep away from what is the parent's, for good."""

    @abstractmethod
    def one_at_a_time(self) -> None:
        """Let nobody else make tables until the transaction ends."""

    @abstractmethod
    def now(self) -> float:
        """The time by the one clock that all processes share."""

    @abstractmethod
    def tables(self) -> set[str]:
        """The tables of this library that there are."""

    @abstractmethod
    def erase(self) -> bool:
        """Empty logs in which deleted losses would linger, as far as that can be done from here; say if it was."""

    @abstractmethod
    def check(self) -> None:
        """Look for damage to the structure of the database."""

    @abstractmethod
    def _close(self) -> None:
        """Close the connection, and all that goes with it."""


def open_database(url: str, *, create: bool = True) -> Database:
    """Open the database that a URL names; refuse one of an unknown kind, without what may be a password."""
    kind = url.partition(":")[0].removesuffix("+psycopg") if isinstance(url, str) and "://" in url else ""
    if kind not in KINDS:
        raise ValueError(
            f"url must be like 'sqlite:///pricing.db' or 'postgresql://user@host/database', got {_kind_of(url)}"
        )
    module, _, name = KINDS[kind].partition(":")
    opened: Database = getattr(import_module(module), name)(url, create=create)
    return opened


def _kind_of(url: Any) -> str:
    """Return what can be said of a URL that is none of ours: its kind, and nothing that may be a password."""
    if not isinstance(url, str):
        return f"something of type {type(url).__name__}"
    kind, mark, _ = url.strip().partition("://")
    if mark and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", kind):
        return f"one of kind {kind!r}, which is not supported"
    return "a text without '://'" if set(url) & set("@:=?&%") else repr(url)
