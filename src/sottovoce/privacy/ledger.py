"""The ledger: what several optimizers may spend on the same people, all together, over the years.

What it promises: the guarantees on record, composed (accounting.py), never exceed the budget, and every life of a run
is on record before it releases anything. An optimizer is charged when it is created, and nothing is given back.

What a life costs. Within one life every loss is released at most once, under noise for which its guarantee stands. A
study put back from a backup, or copied, begins another life: the same people may be asked again, and what they say be
released again, under the same guarantee once more. Two lives on the same people cost two guarantees, *unless the second
continues the first*: nothing is then released by both. The ledger has to see that for itself, as it cannot see how many
copies there are of a storage.

Why it holds: a token, usable once. Every entry has one holder, who knows a secret token; the ledger keeps its hash. To
go on as the same life is to present the token together with its successor (`carry_on`): if it is that of the present
holder, the successor takes its place, at no charge. A token that was presented is worth nothing any more, so of any
number of copies of a storage at most one, the first, goes on for free; every other is charged as a life of its own,
under a derived name, or refused. This is one transaction: of two processes that present one token at once, one pays.

A process killed after the ledger has taken its token and before the successor is saved would leave a right that nobody
can use. Studies write the successor down first, and lose nothing (rounds/stored.py).

Why the record holds: see _ledger_file.py. Two processes never decide on the same remainder, and a process killed at any
instruction leaves a charge that is there in full or not at all. If it was killed between the commit and its first
release, the budget was charged for nothing: an error on the safe side.

Tests: tests/privacy/test_ledger.py (many processes, killed at random; lives), tests/report/test_statement.py (reading).
"""

import hashlib
import json
import math
import os
import re
import secrets
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sottovoce.errors import LedgerConflict, LedgerExceeded
from sottovoce.privacy._ledger_file import LedgerFile
from sottovoce.privacy.accounting import compose, decimal_sum
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, guarantee_from_dict

BUDGETS = PureDP, ApproxDP, ZCDP
"""What a budget may be."""

_SECONDS_TO_WAIT = 10.0  # for a charge that is being made, by whoever only reads


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


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_hex(16)


class Ledger:
    """A privacy budget for one group of people, shared by all that reads their losses.

    Parameters
    ----------
    budget
        PureDP (charges' epsilons add up), ZCDP (rhos add up) or ApproxDP (the better of basic and Renyi composition).
        A guarantee covers all contributions of a person to its run.
    path
        Where the record is kept: a file that only its owner can read. None keeps it in memory, for this process alone.

    Examples
    --------
    >>> from sottovoce.privacy import PureDP
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
        if not isinstance(budget, BUDGETS):
            raise TypeError(f"budget must be PureDP, ApproxDP or ZCDP, got {budget!r}")
        self.budget = budget
        self._file = LedgerFile(path)
        kept = _guarantee(self._file.adopt(json.dumps(budget.to_dict())))
        if kept != budget:
            raise LedgerConflict(f"budget is {budget!r}, but the ledger at {self._file.path} was opened with {kept!r}")

    @property
    def path(self) -> os.PathLike[str] | None:
        """Where the record is kept; None for memory."""
        return self._file.path

    def charge(
        self,
        name: str,
        guarantee: Guarantee,
        *,
        simulated: bool = False,
        resume: bool = True,
        token: str | None = None,
    ) -> bool:
        """Record a charge, or refuse it and change nothing.

        Parameters
        ----------
        name
            The name of what is charged. Charging the same guarantee under the same name again is a resumption of the
            same run, and is free: never give one name to two runs. What has a holder is resumed by `carry_on` alone.
        guarantee
            What the run promises to one person.
        simulated
            Whether its noise is simulated: such a run keeps no promise, and a ledger refuses it.
        resume
            Whether a name on record may be resumed. False refuses it, for runs that cannot be continued.
        token
            What the run will present to go on in another life; see `carry_on`.

        Returns
        -------
        bool
            True if it was charged now, False if it is a resumption.
        """
        _check_promise(name, guarantee, simulated)

        def charge(record: sqlite3.Connection) -> bool:
            entries = _entries(record)
            if name in entries:
                if entries[name].guarantee != guarantee:
                    kept = entries[name].guarantee
                    raise LedgerConflict(f"{name!r} is on record with {kept!r}, not {guarantee!r}; use another name")
                if not resume or _holder(record, name):
                    raise LedgerConflict(
                        f"{name!r} is on record already, and this run cannot resume it; use another name"
                    )
                return False
            self._enter(record, name, guarantee, token)
            return True

        return self._file.transaction(charge)

    def carry_on(
        self, name: str, guarantee: Guarantee, token: str | None, successor: str, *, simulated: bool = False
    ) -> str:
        """Go on as the life that holds a token, which is used up; or be charged as another life, or refused.

        Parameters
        ----------
        name
            The entry of the life before.
        guarantee
            What the run promises to one person.
        token
            What the life before has handed over; None for one that was charged without a token.
        successor
            A new token, from `new_token`: what the next life will have to present.
        simulated
            As for `charge`.

        Returns
        -------
        str
            The name of the entry from now on: `name` if nothing was charged, or that of the life that was.

        Examples
        --------
        >>> from sottovoce.privacy import PureDP
        >>> ledger = Ledger(PureDP(epsilon=1.0))
        >>> ledger.charge("routes", PureDP(epsilon=0.4), token="first")
        True
        >>> ledger.carry_on("routes", PureDP(epsilon=0.4), "first", "second"), ledger.spent
        ('routes', 0.4)
        >>> ledger.carry_on("routes", PureDP(epsilon=0.4), "first", "third"), ledger.spent
        ('routes (life 2)', 0.8)
        """
        _check_promise(name, guarantee, simulated)

        def carry_on(record: sqlite3.Connection) -> str:
            entries = _entries(record)
            if name in entries and entries[name].guarantee == guarantee and _holder(record, name) == _hashed(token):
                record.execute("UPDATE charges SET holder = ? WHERE name = ?", (_hashed(successor), name))
                return name
            life = name if name not in entries else _next_life(name, entries)
            self._enter(record, life, guarantee, successor)
            return life

        return self._file.transaction(carry_on)

    def is_held_by(self, name: str, token: str) -> bool:
        """Whether a token is that of the present holder.

        Parameters
        ----------
        name
            Of the charge.
        token
            What its holder was given.
        """
        return self._file.transaction(
            lambda record: name in _entries(record) and _holder(record, name) == _hashed(token)
        )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The charges on record, oldest first."""
        return tuple(self._file.transaction(_entries).values())

    def statement(self) -> LedgerStatement:
        """Return what is on record, as a value."""
        return LedgerStatement(None if self.path is None else str(self.path), self.budget, self.entries)

    @property
    def spent(self) -> float:
        """What is spent, in the budget's own currency: epsilon (at the budget's delta) or rho."""
        return self.statement().spent

    @property
    def remaining(self) -> float:
        """What is left, in the budget's own currency. Only PureDP and ZCDP charges come off it one for one."""
        return self.statement().remaining

    def __repr__(self) -> str:
        return f"Ledger(budget={self.budget!r}, path={None if self.path is None else str(self.path)!r})"

    def _enter(self, record: sqlite3.Connection, name: str, guarantee: Guarantee, token: str | None) -> None:
        """Put a charge on record, if the budget can pay for it."""
        before = LedgerStatement(None, self.budget, tuple(_entries(record).values()))
        after = LedgerStatement(None, self.budget, (*before.entries, Entry(name, guarantee)))
        if after.spent > after.limit:
            raise LedgerExceeded(f"{name!r} asks for {guarantee!r}, but only {before.remaining:g} is left")
        row = (name, json.dumps(guarantee.to_dict()), _hashed(token))
        record.execute("INSERT INTO charges (name, guarantee, holder) VALUES (?, ?, ?)", row)


def _check_promise(name: str, guarantee: Guarantee, simulated: bool) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be a non-empty string, got {name!r}")
    if not isinstance(guarantee, Guarantee) or not guarantee.private or simulated:
        what = "simulated noise" if simulated else repr(guarantee)
        raise ValueError(f"{name!r} has {what}, which protects nobody: a ledger keeps account of real promises only")


def _hashed(token: str | None) -> str | None:
    return None if token is None else hashlib.blake2b(token.encode(), digest_size=16).hexdigest()


def _holder(record: sqlite3.Connection, name: str) -> str | None:
    """Return the hash of the holder's token; None for what was charged without one."""
    (holder,) = record.execute("SELECT holder FROM charges WHERE name = ?", (name,)).fetchone()
    return None if holder is None else str(holder)


def _next_life(name: str, entries: dict[str, Entry]) -> str:
    first, number = re.sub(r" \(life \d+\)$", "", name), 2
    while f"{first} (life {number})" in entries:
        number += 1
    return f"{first} (life {number})"


def _entries(record: sqlite3.Connection) -> dict[str, Entry]:
    rows = record.execute("SELECT name, guarantee FROM charges ORDER BY place").fetchall()
    return {str(name): Entry(str(name), _guarantee(plain)) for name, plain in rows}


def _guarantee(plain: str) -> Guarantee:
    return guarantee_from_dict(json.loads(plain))


def read_ledger(path: str | os.PathLike[str]) -> LedgerStatement:
    """Read a ledger's file, which is not opened: nothing is made, changed or locked for others. It must exist.

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
            entries = tuple(_entries(record).values())
        found = None if budget is None else _guarantee(budget[0])
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerConflict(f"the ledger at {file} is being written to by another process: try again") from None
        raise LedgerConflict(f"{file} is no ledger, or cannot be read ({problem.sqlite_errorname})") from None
    except sqlite3.DatabaseError:
        raise LedgerConflict(f"{file} is no ledger, or is damaged: put the newest copy back") from None
    except (ValueError, TypeError, KeyError, AttributeError):  # json's errors are among them
        raise LedgerConflict(f"the ledger at {file} is damaged: what is charged cannot be read") from None
    if found is None:
        raise LedgerConflict(f"the ledger at {file} has no budget on record: it was never opened")
    if not isinstance(found, BUDGETS):
        raise LedgerConflict(f"the ledger at {file} is damaged: {found!r} is no budget")
    return LedgerStatement(str(file), found, entries)


def check_ledger(ledger: Any) -> None:
    """Refuse what is neither a ledger nor None."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise TypeError(f"ledger must be a ledger, such as sv.Ledger(sv.PureDP(epsilon=2.0), {_shown(ledger)})")


def _shown(path: Any) -> str:
    return f"{path!r}" if isinstance(path, str | os.PathLike) else "'people.ledger'"
