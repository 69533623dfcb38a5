"""What studies a storage holds, read without opening any of them; moving, renaming and deleting them."""

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from sottovoce._closing import Closing
from sottovoce._records import Record, part
from sottovoce.domains.specification import build
from sottovoce.learning.set_changes import sets_in
from sottovoce.models import promises_in
from sottovoce.privacy.guarantees import guarantee_from_dict
from sottovoce.privacy.promise import UNSPENT, spent_words
from sottovoce.rounds.stored import book_name
from sottovoce.rounds.stores.sql.books import BookCounts, counts_of_all, delete_book, prepare, rename_book
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.moving import is_away, move_book, take_back
from sottovoce.studies.opening import found_study


@dataclass(frozen=True, kw_only=True)
class StudyEntry(BookCounts):
    """One study of a storage, with its counts.

    Attributes
    ----------
    name, domain
        Of the study, and its feasible set as it prints itself.
    horizon
        Events in all; None if that is unknown.
    privacy
        The guarantee, in words.
    simulated
        Whether its noise comes from a seed: then it is NOT PRIVATE.
    private
        Whether anybody is protected: not without privacy, and not with simulated noise.
    spent
        What is spent of the guarantee, in words.
    """

    name: str
    domain: str
    horizon: int | None
    privacy: str
    simulated: bool
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


class Catalogue(Closing):
    """The studies of a storage, to be looked at again and again.

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
        prepare(self._base)

    def entries(self) -> tuple[StudyEntry, ...]:
        """Return what is there now, by name."""
        return self._base.transaction(self._entries)

    def _entries(self) -> tuple[StudyEntry, ...]:
        found = self._base.run(
            "SELECT book, name, made, common FROM sottovoce_books WHERE kind = 'study' ORDER BY name"
        )
        counts = counts_of_all(self._base)
        return tuple(
            _entry(name, *(unpacked(one, f"what is stored of {name!r}") for one in records if one), counts=counts[book])
            for book, name, *records in found
        )

    def number(self, name: str) -> int | None:
        """Return the number of what has a name now, a study or evaluations: another one of that name has another.

        Parameters
        ----------
        name
            Which; None is returned if nothing has it.
        """
        found = self._base.run("SELECT book FROM sottovoce_books WHERE name = ?", name)
        return int(found[0][0]) if found else None

    def close(self) -> None:
        """Close the connection."""
        self._base.close()


def list_studies(url: str) -> tuple[StudyEntry, ...]:
    """Return what studies a storage holds, by name.

    Parameters
    ----------
    url
        As for `Study.open`.
    """
    with Catalogue(url) as catalogue:
        return catalogue.entries()


def _entry(name: str, record: Record, common: Record | None = None, *, counts: BookCounts) -> StudyEntry:
    made, simulated = part(record, "configuration"), bool(record["simulated"])
    guarantee = guarantee_from_dict(made["privacy"])
    private = bool(guarantee.private) and not simulated
    prior, sets = part(made, "prior"), sets_in(common or {})
    bare = private and bool(prior) and not all(one.private for one in promises_in(prior))
    return StudyEntry(
        **vars(counts),
        name=name,
        domain=repr(build(sets[-1]["domain"])) if sets else made["domain_name"],
        horizon=made["horizon"],
        privacy=f"{guarantee}{' (PRIOR NOT PRIVATE)' if bare else ''}",
        simulated=simulated,
        private=private,
        spent=spent_words(guarantee, told=counts.told, rounds=counts.rounds),
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


def move_study(url: str, name: str, to: str) -> None:
    """Move a study to another storage, open rounds and all: ids that were handed out are good there, and only there.

    It is sealed first: whoever has it open is refused from then on. Then it is copied, deleted where it was, and can be
    opened where it is now. If that is cut short, nobody can open it anywhere: call this again with the same arguments,
    and it goes on; or with `to` equal to `url`, and it stays where it was, unless it has left already.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    to
        The other storage, which need not exist.

    Examples
    --------
    >>> import sottovoce as sv
    >>> import tempfile, pathlib
    >>> here, there = (f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'slates.db'}" for _ in range(2))
    >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
    >>> with sv.Study.open(here, name="spring", privacy=sv.PureDP(1.0), **options) as study:
    ...     action = study.ask()
    >>> move_study(here, "spring", there)
    >>> with sv.Study.open(there, name="spring") as study:
    ...     study.tell(action.id, 0.25)
    ...     study.status().told
    1
    """
    with closing(open_database(url, create=False)) as source:
        prepare(source)
        if not is_away(source, book_name(name)):
            found_study(source, name)
        if to == url:
            take_back(source, name, "study")
            return
        with closing(open_database(to, create=True)) as target:
            prepare(target)
            move_book(source, name, "study", target)


def delete_study(url: str, name: str) -> None:
    """Delete a study with everything that is stored of it: losses of open rounds are never released.

    What it has released stays spent, and its charge stays in its ledger. Also for what is left of a study that was
    moved away, and for a copy that never arrived.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    """
    with closing(open_database(url, create=False)) as base:
        prepare(base)
        if not is_away(base, book_name(name), for_good=True):
            found_study(base, name)
        delete_book(base, name)
