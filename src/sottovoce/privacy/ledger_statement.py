"""What a ledger says to whoever signs: its budget, every charge, what is spent and what is left.

A ledger in a file is read, never opened: nothing is made, changed or locked for others by it.

Tests: tests/report/test_statement.py.
"""

import json
import math
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sottovoce.errors import LedgerConflict
from sottovoce.privacy.accounting import compose, decimal_sum
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, guarantee_from_dict

BUDGETS = PureDP, ApproxDP, ZCDP
"""What a budget may be."""

_SECONDS_TO_WAIT = 10.0  # for a charge that is being made


@dataclass(frozen=True)
class Entry:
    """One charge on record.

    Attributes
    ----------
    name
        Under which it was charged.
    guarantee
        What was promised to the people of the ledger.
    """

    name: str
    guarantee: Guarantee


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
    >>> stated = LedgerStatement(None, PureDP(epsilon=1.0), (Entry("routes", PureDP(epsilon=0.7)),))
    >>> stated.spent, round(stated.remaining, 10), stated.currency
    (0.7, 0.3, 'epsilon')
    """

    path: str | None
    budget: Guarantee
    entries: tuple[Entry, ...]

    @property
    def currency(self) -> str:
        """In what is counted: epsilon or rho."""
        if isinstance(self.budget, ApproxDP):
            return f"epsilon at delta = {self.budget.delta:g}"
        return "rho" if isinstance(self.budget, ZCDP) else "epsilon"

    @property
    def spent(self) -> float:
        """What is spent, in this currency."""
        total = compose(*(entry.guarantee for entry in self.entries))
        if not self.entries:
            return 0.0
        if isinstance(self.budget, ZCDP):
            return total.rho
        if isinstance(self.budget, ApproxDP):
            return total.epsilon(self.budget.delta)
        pure = all(isinstance(entry.guarantee, PureDP | LocalDP) for entry in self.entries)
        return total.epsilon(0.0) if pure else math.inf

    @property
    def limit(self) -> float:
        """What may be spent, in this currency."""
        amount: float = getattr(self.budget, "rho" if isinstance(self.budget, ZCDP) else "epsilon")
        return amount

    @property
    def remaining(self) -> float:
        """What is left, in this currency."""
        return decimal_sum((self.limit, -self.spent))

    def entry(self, name: str) -> Entry | None:
        """Return a charge by its name; None if there is none.

        Parameters
        ----------
        name
            Under which it was charged.
        """
        return next((one for one in self.entries if one.name == name), None)


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
            charges = record.execute("SELECT name, guarantee FROM charges ORDER BY place").fetchall()
        if budget is None:
            raise LedgerConflict(f"the ledger at {file} has no budget on record: it was never opened")
        entries = tuple(Entry(str(name), _guarantee(plain)) for name, plain in charges)
        found = _guarantee(budget[0])
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerConflict(f"the ledger at {file} is being written to by another process: try again") from None
        raise LedgerConflict(f"{file} is no ledger, or cannot be read ({problem.sqlite_errorname})") from None
    except sqlite3.DatabaseError:
        raise LedgerConflict(f"{file} is no ledger, or is damaged: put the newest copy back") from None
    except (ValueError, TypeError, KeyError, AttributeError):  # json's errors are among them
        raise LedgerConflict(f"the ledger at {file} is damaged: what is charged cannot be read") from None
    if not isinstance(found, BUDGETS):
        raise LedgerConflict(f"the ledger at {file} is damaged: {found!r} is no budget")
    return LedgerStatement(str(file), found, entries)


def _guarantee(plain: str) -> Guarantee:
    return guarantee_from_dict(json.loads(plain))
