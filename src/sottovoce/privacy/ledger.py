"""The ledger: what several optimizers may spend on the same people, all together, over the years.

What it promises: the guarantees on record, composed (accounting.py), never exceed the budget. An optimizer is charged
when it is created, before it can release anything; a charge is refunded only if nothing was ever told to it.

Why it holds. All that the ledger knows is in one SQLite file. Every change is one transaction that takes the write lock
*first* (BEGIN IMMEDIATE), reads the record, decides, writes, and is on the disk when it returns (synchronous = EXTRA).
So two processes never decide on the same remainder, and a process killed at any instruction leaves a charge that is
there in full or not at all. If it was killed between the commit and its first release, the budget was charged for
nothing: an error on the safe side.

Tests: tests/privacy/test_ledger.py (many processes, killed at random).
"""

import json
import math
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sottovoce import _fork
from sottovoce.errors import ForkRefused, LedgerConflict, LedgerExceeded
from sottovoce.privacy.accounting import Composition, compose, decimal_sum
from sottovoce.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, guarantee_from_dict

__all__ = ["Entry", "Ledger"]

_SECONDS_TO_WAIT = 60.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS budget (one INTEGER PRIMARY KEY CHECK (one = 1), guarantee TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS charges "
    "(place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, guarantee TEXT NOT NULL, used INTEGER NOT NULL)",
)


@dataclass(frozen=True)
class Entry:
    """One charge on record."""

    name: str
    guarantee: Guarantee
    used: bool


class Ledger:
    """A privacy budget for one group of people, shared by all that reads their losses.

    Parameters
    ----------
    budget
        PureDP (charges' epsilons add up), ZCDP (rhos add up), GDP (squares of mu add up) or ApproxDP (the best of
        basic, Gaussian and Renyi composition). A guarantee covers all contributions of a person to its run.
    path
        Where the record is kept: a file that only its owner can read. None keeps it in memory, for this process alone.

    Examples
    --------
    >>> ledger = Ledger(PureDP(epsilon=1.0))
    >>> ledger.charge("routes", PureDP(epsilon=0.7))
    True
    >>> ledger.spent, round(ledger.remaining, 10)
    (0.7, 0.3)
    >>> ledger.charge("prices", PureDP(epsilon=0.5))
    Traceback (most recent call last):
    ...
    sottovoce.errors.LedgerExceeded: 'prices' asks for PureDP(epsilon=0.5, contributions=1), but only 0.3 is left
    """

    def __init__(self, budget: Guarantee, path: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(budget, PureDP | ApproxDP | ZCDP | GDP):
            raise TypeError(f"budget must be PureDP, ApproxDP, ZCDP or GDP, got {budget!r}")
        self.budget = budget
        self.path = None if path is None else Path(path)
        self._generation = _fork.generation()
        self._lock = threading.Lock()
        self._memory: sqlite3.Connection | None = None
        if self.path is None:
            self._memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            weakref.finalize(self, self._memory.close)
        else:
            _create(self.path)
        with self._transaction() as record:
            self._agree_on_budget(record)

    def charge(self, name: str, guarantee: Guarantee, *, simulated: bool = False, resume: bool = True) -> bool:
        """Record a charge, or refuse it and change nothing.

        Parameters
        ----------
        name
            The name of what is charged. Charging the same guarantee under the same name again is a resumption of the
            same run, and is free: never give one name to two runs.
        guarantee
            What the run promises to one person.
        simulated
            Whether its noise is simulated: such a run keeps no promise, and a ledger refuses it.
        resume
            Whether a name on record may be resumed. False refuses it, for runs that cannot be continued.

        Returns
        -------
        bool
            True if it was charged now, False if it is a resumption.
        """
        if not isinstance(name, str) or not name:
            raise TypeError(f"name must be a non-empty string, got {name!r}")
        if not isinstance(guarantee, Guarantee) or not guarantee.private or simulated:
            what = "simulated noise" if simulated else repr(guarantee)
            raise ValueError(
                f"{name!r} has {what}, which protects nobody: a ledger keeps account of real promises only"
            )
        with self._transaction() as record:
            entries = {entry.name: entry for entry in _entries(record)}
            if name in entries:
                return self._resumed(entries[name], guarantee, resume)
            total = compose(*(entry.guarantee for entry in entries.values()), guarantee)
            if self._in_currency(total) > self._limit:
                left = decimal_sum((self._limit, -self._spent(tuple(entries.values()))))
                raise LedgerExceeded(f"{name!r} asks for {guarantee!r}, but only {left:g} is left")
            row = (name, json.dumps(guarantee.to_dict()))
            record.execute("INSERT INTO charges (name, guarantee, used) VALUES (?, ?, 0)", row)
        return True

    def mark_used(self, name: str) -> None:
        """Record that a loss was told to it: from now on the charge stays."""
        with self._transaction() as record:
            _find(record, name)
            record.execute("UPDATE charges SET used = 1 WHERE name = ?", (name,))

    def refund(self, name: str) -> None:
        """Take back a charge that nothing was ever told to."""
        with self._transaction() as record:
            if _find(record, name).used:
                raise LedgerConflict(f"{name!r} was told losses, and what was released stays released: no refund")
            record.execute("DELETE FROM charges WHERE name = ?", (name,))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The charges on record, oldest first."""
        with self._transaction() as record:
            return _entries(record)

    @property
    def spent(self) -> float:
        """What is spent, in the budget's own currency: epsilon (at the budget's delta), rho or mu."""
        return self._spent(self.entries)

    @property
    def remaining(self) -> float:
        """What is left, in the budget's own currency. Only PureDP and ZCDP charges come off it one for one."""
        return decimal_sum((self._limit, -self.spent))

    def __repr__(self) -> str:
        return f"Ledger(budget={self.budget!r}, path={None if self.path is None else str(self.path)!r})"

    @property
    def _limit(self) -> float:
        if isinstance(self.budget, PureDP | ApproxDP):
            return self.budget.epsilon
        assert isinstance(self.budget, ZCDP | GDP)
        return self.budget.rho if isinstance(self.budget, ZCDP) else self.budget.mu

    def _spent(self, entries: tuple[Entry, ...]) -> float:
        return self._in_currency(compose(*(entry.guarantee for entry in entries))) if entries else 0.0

    def _in_currency(self, total: Composition) -> float:
        if isinstance(self.budget, ZCDP):
            return total.rho
        if isinstance(self.budget, GDP):
            return total.mu
        if isinstance(self.budget, ApproxDP):
            return total.epsilon(self.budget.delta)
        pure = all(isinstance(guarantee, PureDP | LocalDP) for guarantee in total.guarantees)
        return total.epsilon(0.0) if pure else math.inf

    def _resumed(self, entry: Entry, guarantee: Guarantee, resume: bool) -> bool:
        if entry.guarantee != guarantee:
            raise LedgerConflict(
                f"{entry.name!r} is on record with {entry.guarantee!r}, not {guarantee!r}; use another name"
            )
        if not resume:
            raise LedgerConflict(
                f"{entry.name!r} is on record already, and this run cannot resume it; use another name"
            )
        return False

    def _agree_on_budget(self, record: sqlite3.Connection) -> None:
        for table in _TABLES:
            record.execute(table)
        record.execute("INSERT OR IGNORE INTO budget VALUES (1, ?)", (json.dumps(self.budget.to_dict()),))
        kept = guarantee_from_dict(json.loads(record.execute("SELECT guarantee FROM budget").fetchone()[0]))
        if kept != self.budget:
            raise LedgerConflict(f"budget is {self.budget!r}, but the ledger at {self.path} was opened with {kept!r}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that holds the write lock; commit at the end, or undo everything on an error."""
        if self._memory is not None:
            if self._generation != _fork.generation():
                raise ForkRefused("a ledger in memory belongs to the process that made it; give it a path to share it")
            with self._lock, _locked(self._memory):
                yield self._memory
            return
        # A connection for each transaction: SQLite's must not be carried over a fork.
        with closing(sqlite3.connect(str(self.path), timeout=_SECONDS_TO_WAIT, isolation_level=None)) as connection:
            try:
                connection.execute("PRAGMA synchronous = EXTRA")
            except sqlite3.DatabaseError:
                raise ValueError(f"path must be a ledger or not exist yet, and {self.path} is another file") from None
            with _locked(connection):
                yield connection


@contextmanager
def _locked(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _create(path: Path) -> None:
    """Make an empty file that only its owner can read, and see to it that its name is on the disk too."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _entries(record: sqlite3.Connection) -> tuple[Entry, ...]:
    rows = record.execute("SELECT name, guarantee, used FROM charges ORDER BY place").fetchall()
    return tuple(Entry(name, guarantee_from_dict(json.loads(plain)), bool(used)) for name, plain, used in rows)


def _find(record: sqlite3.Connection, name: str) -> Entry:
    for entry in _entries(record):
        if entry.name == name:
            return entry
    raise LedgerConflict(f"{name!r} is not on record; charge it first")
