"""What studies a storage holds: public facts of each, read without opening any of them; renaming and deleting them."""

from contextlib import closing
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Self

from sottovoce._records import Record, part, unpack
from sottovoce.domains.specification import build
from sottovoce.learning.set_changes import written_out
from sottovoce.models import promises_in
from sottovoce.privacy.guarantees import Guarantee, guarantee_from_dict
from sottovoce.privacy.promise import UNSPENT, spent_words
from sottovoce.rounds.stored import book_name
from sottovoce.rounds.stores.sql.books import BookCounts, counts_of_all, delete_book, prepare, rename_book
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.studies.opening import found_study


@dataclass(frozen=True)
class StudyEntry:
    """One study of a storage.

    Attributes
    ----------
    name, domain
        Of the study, and its feasible set as it prints itself.
    horizon
        Events in all; None if that is unknown.
    asked
        Events that were handed out, or are in some process's hand.
    rounds
        Rounds that are closed.
    privacy
        The guarantee, in words.
    simulated
        Whether its noise comes from a seed: then it is NOT PRIVATE.
    told, forgotten
        Losses that were told, and that were given up.
    waiting
        Events that were handed out, or are in some process's hand, and whose loss is wanted and neither told nor given
        up.
    open_rounds
        Rounds that are open.
    overdue
        Of these, rounds whose deadline has passed, and that no process has closed since: none is running.
    erasure_pending
        Closed rounds whose losses are deleted, but may linger in the database's log.
    incarnation
        1, unless the storage was said to be restored from a backup.
    private
        Whether anybody is protected: not without privacy, and not with simulated noise.
    spent
        What is spent of the guarantee, in words.
    """

    name: str
    domain: str
    horizon: int | None
    asked: int
    rounds: int
    privacy: str
    simulated: bool
    told: int = 0
    forgotten: int = 0
    waiting: int = 0
    open_rounds: int = 0
    overdue: int = 0
    erasure_pending: int = 0
    incarnation: int = 1
    private: bool = True
    spent: str = UNSPENT

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        of = f"{self.asked:,} events" if self.horizon is None else f"{self.asked:,} of {self.horizon:,} events"
        rounds = f"{self.rounds:,} {'round' if self.rounds == 1 else 'rounds'}"
        noise = " (simulated noise: NOT PRIVATE)" if self.simulated else ""
        return f"{self.name}: {of}, {rounds} closed; {self.domain}; {self.privacy}{noise}"


@dataclass(frozen=True)
class _Making:
    """What hardly ever changes of a study; `mark` is another once it has."""

    mark: bytes
    domain: str
    horizon: int | None
    guarantee: Guarantee
    privacy: str
    simulated: bool
    private: bool


class Catalogue:
    """The studies of a storage, to be looked at again and again: what never changes is read once.

    It opens no study, closes no round and locks nothing for longer than a few questions take. Used by one thread at a
    time.

    Parameters
    ----------
    url
        As for `Study.open`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> import tempfile, pathlib
    >>> url = f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'slates.db'}"
    >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
    >>> with sv.Study.open(url, name="spring", privacy=sv.PureDP(1.0), **options) as study, Catalogue(url) as listed:
    ...     action = study.ask()
    ...     before = listed.entries()[0].told
    ...     study.tell(action.id, 0.25)
    ...     before, listed.entries()[0].told
    (0, 1)
    """

    def __init__(self, url: str) -> None:
        self._base = open_database(url, create=False)
        self._known: dict[int, _Making] = {}

    def entries(self) -> tuple[StudyEntry, ...]:
        """Return what is there now, by name."""
        if not self._known:
            prepare(self._base)
        return self._base.transaction(self._entries)

    def _entries(self) -> tuple[StudyEntry, ...]:
        found = self._base.run(
            "SELECT book, name, secret, changes FROM sottovoce_books WHERE kind = 'study' ORDER BY name"
        )
        counts = counts_of_all(self._base)
        for book, _, secret, changes in found:
            mark = bytes(secret) + bytes(changes)
            if book not in self._known or self._known[book].mark != mark:
                self._known[book] = self._making(book, mark)
        return tuple(_entry(name, self._known[book], counts[book]) for book, name, *_ in found)

    def _making(self, book: int, mark: bytes) -> "_Making":
        ((made, common),) = self._base.run("SELECT made, common FROM sottovoce_books WHERE book = ?", book)
        found = _making(mark, unpack(bytes(made)))
        sets = () if common is None else unpack(bytes(common))["sets"]
        return replace(found, domain=repr(build(written_out(sets)[-1]["domain"]))) if sets else found

    def close(self) -> None:
        """Close the connection."""
        self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def list_studies(url: str) -> tuple[StudyEntry, ...]:
    """Return what studies a storage holds, by name.

    Parameters
    ----------
    url
        As for `Study.open`.
    """
    with Catalogue(url) as catalogue:
        return catalogue.entries()


def _making(mark: bytes, record: Record) -> _Making:
    made, simulated = part(record, "configuration"), bool(record["simulated"])
    guarantee = guarantee_from_dict(made["privacy"])
    private = bool(guarantee.private) and not simulated
    prior = part(made, "prior")
    bare = private and bool(prior) and not all(one.private for one in promises_in(prior))
    words = f"{guarantee}{' (PRIOR NOT PRIVATE)' if bare else ''}"
    return _Making(mark, made["domain_name"], made["horizon"], guarantee, words, simulated, private)


def _entry(name: str, made: _Making, counts: BookCounts) -> StudyEntry:
    return StudyEntry(
        name=name,
        domain=made.domain,
        horizon=made.horizon,
        asked=counts.asked,
        rounds=counts.closed,
        privacy=made.privacy,
        simulated=made.simulated,
        told=counts.told,
        forgotten=counts.forgotten,
        waiting=counts.waiting,
        open_rounds=counts.open_rounds,
        overdue=counts.overdue,
        erasure_pending=counts.erasure_pending,
        incarnation=counts.incarnation,
        private=made.private,
        spent=spent_words(made.guarantee, told=counts.told, rounds=counts.closed),
    )


def prepare_storage(url: str) -> None:
    """Make a storage ready for studies: on SQLite the file, and the tables, unless they are there.

    Parameters
    ----------
    url
        As for `Study.open`.
    """
    with closing(open_database(url, create=True)) as base:
        prepare(base)


def rename_study(url: str, name: str, to: str) -> None:
    """Call a study otherwise. Whoever has it open goes on; keys of a service are for names, and are to be made anew.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    to
        Its new name.
    """
    book_name(to)
    with closing(open_database(url, create=False)) as base:
        prepare(base)
        found_study(base, book_name(name))
        rename_book(base, name, to)


def delete_study(url: str, name: str) -> None:
    """Delete a study with everything that is stored of it: losses of open rounds are never released.

    What it has released stays spent, and its charge stays in its ledger.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    """
    with closing(open_database(url, create=False)) as base:
        prepare(base)
        found_study(base, book_name(name))
        delete_book(base, name)
