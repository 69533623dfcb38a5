"""Books in a storage: made once under a name, and found by it ever after; their charge to a ledger.

**A ledger's token** is kept in the storage, usable once. Whoever opens a book with its ledger presents the token, and
stores its successor. Processes that share a storage share the right to go on, since they share what is stored; a copy
of the storage holds a token that is used up as soon as the original, or another copy, has presented it, and is charged
as a life of its own (privacy/ledger.py says why). The successor is written down before the ledger hears of it, so that
a process killed in between loses nothing: what comes next finds that the ledger knows the successor already.
"""

import secrets
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from sottovoce._records import Record
from sottovoce.errors import ConfigurationMismatch, LedgerConflict, StateRefused
from sottovoce.privacy import Guarantee, Ledger, LocalDP, NoiseSource, PrivacyStatement, guarantee_from_dict
from sottovoce.privacy.ledger import check_ledger, new_token
from sottovoce.privacy.noise import WithheldNoise, noise_source
from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.sql.books import StoredBook, create_book, find_book, prepare
from sottovoce.rounds.stores.sql.database import Database, Row, open_database
from sottovoce.rounds.stores.sql.store import SqlStore

KINDS = {
    "study": "a study: open it with sv.Study.open",
    "evaluations": "evaluations: open them with sv.PrivateEvaluations",
}
"""What a name may be taken by."""

_DATABASE = (
    "the database while rounds are open, and its backups and copies: they hold the {losses} of open rounds",
    "a database that was put back or copied, and goes on without being said to be restored",
)
_COUNTS = ("people who gave {losses} after a backup was made that was put back since: they are counted as of then",)
_SERVER = ("the server's own log, archives and replicas: they hold every {loss} that was told",)
_LONGEST = 200
_REFUSED = ("Cc", "Cs", "Zl", "Zp")  # control characters (NUL, line breaks), halves of a pair, separators of lines


def book_name(name: Any) -> str:
    """Return the name of a book, or refuse it.

    Examples
    --------
    >>> book_name("spring, round 2")
    'spring, round 2'
    """
    if not isinstance(name, str):
        shown = type(name).__name__
    elif 0 < len(name) <= _LONGEST and not any(unicodedata.category(letter) in _REFUSED for letter in name):
        return name
    else:
        shown = f"{name[:60]!a}{'' if len(name) <= 60 else '...'}"
    raise ValueError(
        f"name must be 1 to {_LONGEST} letters without control characters, line breaks or halves of a surrogate pair, "
        f"got {shown}"
    )


def as_stored(statement: PrivacyStatement, base: Database) -> PrivacyStatement:
    """Return a statement with what it does not cover of the database that losses lie in."""
    loss, losses = ("report", "reports") if isinstance(statement.guarantee, LocalDP) else ("loss", "losses")
    more = (*_DATABASE, *(_COUNTS if statement.counted else ()), *(_SERVER if base.path is None else ()))
    named = tuple(one.format(loss=loss, losses=losses) for one in more)
    return replace(statement, also_not_covered=statement.also_not_covered + named)


# ---------------------------------------------------------------------- opening


class OpenedBook(NamedTuple):
    """A book that was found, or made.

    Attributes
    ----------
    base
        The connection to its database.
    stored
        What was stored when it was made.
    ledger_token
        To the charge of a ledger, if one was passed.
    created
        Whether it was made just now.
    """

    base: Database
    stored: StoredBook
    ledger_token: "LedgerToken | None"
    created: bool

    def store(self, shape: Shape, *, restored: bool = False) -> SqlStore:
        """Return where its open rounds live; `restored` begins a new life, which its ledger has to hear of."""
        store = SqlStore(self.base, self.stored.book, shape)
        if self.ledger_token is not None:
            store.present = partial(self.ledger_token.present_within, self.base, self.stored.book)
        if restored:
            charged = self.base.run("SELECT 1 FROM sottovoce_ledger_tokens WHERE book = ?", self.stored.book)
            if self.ledger_token is None and charged:
                raise LedgerConflict("it was charged to a ledger, and a restored life has to be, too: pass ledger=")
            store.restore()
        return store


class Wanted(NamedTuple):
    """What whoever opens a book has passed, whatever it is kept for."""

    url: str
    name: str
    seed: int | None
    noise: NoiseSource | None
    ledger: Ledger | None


def open_book(
    wanted: Wanted,
    kind: str,
    make: Callable[[Database], tuple[Record, int | None]],
    differences: Callable[[Record, Database], list[str]],
    *,
    waiting: Mapping[str, Any] | None = None,
    create: bool = True,
) -> OpenedBook:
    """Find a book by its name, or make it; charge it to a ledger, or present its token there.

    Parameters
    ----------
    wanted
        Where it is, what it is called, and more.
    kind
        What it is: one of `KINDS`.
    make
        Returns what it is made with, its guarantee as "configuration.privacy", and its horizon; raises if it cannot be
        made.
    differences
        Says what was passed otherwise than it is stored.
    waiting
        Its patience and deadline, if it is made.
    create
        Whether the storage may be created.
    """
    name, base = book_name(wanted.name), open_database(wanted.url, create=create)
    try:
        prepare(base)
        while True:
            found = find_book(base, name)
            if found is not None:
                refuse_kind(found.kind, kind, name)
                _check_made(found.made, f"{kind} {name!r}", base, differences(found.made, base), wanted)
                ledger_token = _ledger_token(wanted, kind, found.made)
                if ledger_token is not None:
                    ledger_token.present(base, found.book)
                return OpenedBook(base, found, ledger_token, created=False)
            made, horizon = make(base)
            made["simulated"], made["seed"] = bool(noise_source(wanted.noise).simulated), wanted.seed
            made["identity"] = secrets.token_hex(16)
            ledger_token = _ledger_token(wanted, kind, made)
            # Charged with it, and not any earlier, or several that make it at the same moment would each be.
            charge = None if ledger_token is None else ledger_token.charge
            new = create_book(base, name, kind, made, horizon, waiting, charge)
            if new is not None:
                return OpenedBook(base, new, ledger_token, created=True)
    except BaseException:
        base.close()
        raise


def refuse_kind(found: str, wanted: str, name: str) -> None:
    """Refuse to take one kind of book for the other.

    Examples
    --------
    >>> refuse_kind("evaluations", "study", "spring")
    Traceback (most recent call last):
        ...
    sottovoce.errors.ConfigurationMismatch: name='spring' is taken by evaluations: open them with \
sv.PrivateEvaluations, or choose another name
    """
    if found != wanted and found in KINDS:
        raise ConfigurationMismatch(f"name={name!r} is taken by {KINDS[found]}, or choose another name")


def _check_made(made: Record, what: str, base: Database, different: list[str], wanted: Wanted) -> None:
    """Refuse to resume a book that was made with something else than is passed; `different` says what else differs."""
    simulated = noise_source(wanted.noise).simulated
    if wanted.seed is not None and wanted.seed != made["seed"]:
        different = [*different, f"seed is {made['seed']!r}, not {wanted.seed!r}"]
    if simulated and not made["simulated"] and not isinstance(wanted.noise, WithheldNoise):
        different = [*different, f"noise is real, not {wanted.noise!r}"]
    if different:
        raise ConfigurationMismatch(
            f"{what} at {base.name} was created otherwise: {'; '.join(different)}. Leave these out to resume it, or "
            "choose another name"
        )
    if made["simulated"] and not simulated:
        raise StateRefused(
            f"the noise of {what} is simulated, and its seed is not stored: to ask or tell, open it in Python with "
            "noise=sv.SimulatedNoise(seed); it is NOT PRIVATE. From the command line it can be looked at"
        )


# ---------------------------------------------------------------------- ledgers


def _ledger_token(wanted: Wanted, kind: str, made: Record) -> "LedgerToken | None":
    check_ledger(wanted.ledger)
    if wanted.ledger is None:
        return None
    entry, guarantee = f"{kind} {wanted.name} {made['identity']}", guarantee_from_dict(made["configuration.privacy"])
    return LedgerToken(wanted.ledger, entry, guarantee, made["simulated"])


@dataclass(frozen=True)
class LedgerToken:
    """What a process that was given a ledger says to it on behalf of a book."""

    ledger: Ledger
    entry: str
    guarantee: Guarantee
    simulated: bool

    def charge(self, base: Database, book: int) -> None:
        """Charge a book that is about to exist."""
        token = new_token()
        self.ledger.charge(self.entry, self.guarantee, simulated=self.simulated, resume=False, token=token)
        base.run("INSERT INTO sottovoce_ledger_tokens VALUES (?, ?, ?, NULL)", book, self.entry, token)

    def present(self, base: Database, book: int) -> None:
        """Go on as the life that the storage holds the token of, or be charged as another, or be refused."""
        while True:
            base.transaction(lambda: self._propose(base, book))
            if base.transaction(lambda: self._take_over(base, book)):
                return

    def _propose(self, base: Database, book: int) -> None:
        if self._row(base, book)[2] is None:
            base.run("UPDATE sottovoce_ledger_tokens SET successor = ? WHERE book = ?", new_token(), book)

    def _take_over(self, base: Database, book: int) -> bool:
        entry, token, successor = self._row(base, book)
        if successor is None:
            return True  # another process of this storage was quicker
        if self.ledger.is_held_by(entry, successor):
            self._store(base, book, entry, successor)  # killed after the ledger had taken it, and before it was stored
            return False
        self._store(base, book, self._carry_on(entry, token, successor), successor)
        return True

    def present_within(self, base: Database, book: int, presented: dict[str | None, tuple[str, str]]) -> None:
        """Do the same for a life that begins within a transaction; killed in between, the next life is charged.

        `presented` is what the ledger has heard by attempts at this transaction that were undone: it hears it once.
        """
        entry, token, _ = self._row(base, book)
        if token not in presented:
            successor = new_token()
            presented[token] = self._carry_on(entry, token, successor), successor
        self._store(base, book, *presented[token])

    def _carry_on(self, entry: str, token: str | None, successor: str) -> str:
        return self.ledger.carry_on(entry, self.guarantee, token, successor, simulated=self.simulated)

    def _row(self, base: Database, book: int) -> Row:
        """Return what is stored, holding the book's lock; of a book that was never charged, no token."""
        base.run(f"SELECT book FROM sottovoce_books WHERE book = ?{base.lock}", book)
        found = base.run("SELECT entry, token, successor FROM sottovoce_ledger_tokens WHERE book = ?", book)
        if not found:
            base.run("INSERT INTO sottovoce_ledger_tokens VALUES (?, ?, NULL, NULL)", book, self.entry)
        return found[0] if found else (self.entry, None, None)

    def _store(self, base: Database, book: int, entry: str, token: str) -> None:
        base.run(
            "UPDATE sottovoce_ledger_tokens SET entry = ?, token = ?, successor = NULL WHERE book = ?",
            entry,
            token,
            book,
        )
