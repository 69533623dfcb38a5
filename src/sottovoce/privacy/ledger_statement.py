"""What a ledger says to whoever signs: its budget, every charge, what is spent and what is left.

A ledger in a file is read, never opened: nothing is made, changed or locked for others by it.

Tests: tests/report/test_statement.py.
"""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sottovoce.errors import LedgerConflict
from sottovoce.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, guarantee_from_dict
from sottovoce.privacy.ledger import Entry, Ledger, left_of, spent_of

_SECONDS_TO_WAIT = 10.0  # for a charge that is being made


@dataclass(frozen=True)
class LedgerStatement:
    """What is on record in a ledger.

    Attributes
    ----------
    path
        Where it is kept; None for memory.
    budget
        What all charges together may cost.
    entries
        The charges, oldest first.

    Examples
    --------
    >>> ledger = Ledger(PureDP(epsilon=1.0))
    >>> ledger.charge("routes", PureDP(epsilon=0.7))
    True
    >>> stated = state_ledger(ledger)
    >>> stated.spent, round(stated.remaining, 10), stated.currency
    (0.7, 0.3, 'epsilon')
    """

    path: str | None
    budget: Guarantee
    entries: tuple[Entry, ...]

    @property
    def currency(self) -> str:
        """In what is counted: epsilon, rho or mu."""
        if isinstance(self.budget, ApproxDP):
            return f"epsilon at delta = {self.budget.delta:g}"
        return {ZCDP: "rho", GDP: "mu"}.get(type(self.budget), "epsilon")

    @property
    def spent(self) -> float:
        """What is spent, in this currency."""
        return spent_of(self.budget, self.entries)

    @property
    def remaining(self) -> float:
        """What is left, in this currency."""
        return left_of(self.budget, self.entries)

    def entry(self, name: str) -> Entry | None:
        """Return a charge by its name; None if there is none.

        Parameters
        ----------
        name
            Under which it was charged.
        """
        return next((one for one in self.entries if one.name == name), None)


def state_ledger(ledger: Ledger) -> LedgerStatement:
    """Return what a ledger that is open says.

    Parameters
    ----------
    ledger
        In a file, or in memory.
    """
    return LedgerStatement(None if ledger.path is None else str(ledger.path), ledger.budget, ledger.entries)


def read_ledger(path: str | os.PathLike[str]) -> LedgerStatement:
    """Read a ledger's file, which need not be writable; it must exist.

    Parameters
    ----------
    path
        Of the file.
    """
    file = Path(path)
    if not file.is_file():
        raise LedgerConflict(f"there is no ledger at {file}")
    where = f"file:{quote(os.path.realpath(file))}?mode=ro"
    try:
        with closing(sqlite3.connect(where, uri=True, timeout=_SECONDS_TO_WAIT)) as record:
            budget = record.execute("SELECT guarantee FROM budget").fetchone()
            charges = record.execute("SELECT name, guarantee, used FROM charges ORDER BY place").fetchall()
        if budget is None:
            raise LedgerConflict(f"the ledger at {file} has no budget on record: it was never opened")
        entries = tuple(Entry(str(name), _guarantee(plain), bool(used)) for name, plain, used in charges)
        found = _guarantee(budget[0])
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerConflict(f"the ledger at {file} is being written to by another process: try again") from None
        raise LedgerConflict(f"{file} is no ledger, or cannot be read ({problem.sqlite_errorname})") from None
    except sqlite3.DatabaseError:
        raise LedgerConflict(f"{file} is no ledger, or is damaged: put the newest copy back") from None
    except (ValueError, TypeError, KeyError, AttributeError):  # json's errors are among them
        raise LedgerConflict(f"the ledger at {file} is damaged: what is charged cannot be read") from None
    if not isinstance(found, PureDP | ApproxDP | ZCDP | GDP):
        raise LedgerConflict(f"the ledger at {file} is damaged: {found!r} is no budget")
    return LedgerStatement(str(file), found, entries)


def _guarantee(plain: str) -> Guarantee:
    return guarantee_from_dict(json.loads(plain))
