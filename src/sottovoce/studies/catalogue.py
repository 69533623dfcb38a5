"""What studies a storage holds: public facts of each, read without opening any of them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, case, func, select

from sottovoce._records import part
from sottovoce.exploration import Record
from sottovoce.exploration.posterior import promises_in
from sottovoce.privacy.guarantees import guarantee_from_dict
from sottovoce.studies.database.kinds import is_study
from sottovoce.studies.database.migrations import migrate, one_at_a_time
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.database.tables import OPEN, cells, heads, lanes, rounds

__all__ = ["Catalogue", "StudyEntry", "list_studies", "prepare_storage"]

_COUNTERS = ("id", "name", "generation", "asked", "returned", "told", "forgotten", "closed", "erased", "deadline")
_MANY = 500  # names in one question: databases take so many arguments at most


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
    generation
        1, unless the storage was said to be restored from a backup.
    private
        Whether anybody is protected: not without privacy, and not with simulated noise.
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
    generation: int = 1
    private: bool = True

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
    """What never changes of a study."""

    key: bytes
    domain: str
    horizon: int | None
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
        self._storage = Storage(url, create=False)
        self._known: dict[int, _Making] = {}
        self._others: dict[int, bytes] = {}  # what is no study, by its key
        self._ready = False

    def entries(self) -> tuple[StudyEntry, ...]:
        """Return what is there now, by name."""
        with self._storage.unwinding(), self._storage.transaction() as connection:
            if not self._ready:
                one_at_a_time(connection)
                migrate(connection)
            columns = [heads.c[name] for name in (*_COUNTERS, "key")]
            found = connection.execute(select(*columns).order_by(heads.c.name)).all()
            self._learn(connection, found)
            losses = _losses(connection)
            opened = _open_rounds(connection, self._storage.now(connection))
            parents = {row.study: row.parent for row in connection.execute(select(lanes.c.study, lanes.c.parent))}
        self._ready = True
        parts: dict[int, list[Any]] = {}  # heads by study: its own, and those of its segments
        for row in found:
            parts.setdefault(parents.get(row.id, row.id), []).append(row)
        return tuple(
            _entry(row, self._known[row.id], _summed(parts[row.id], losses, opened))
            for row in found
            if self._others.get(row.id) != bytes(row.key)
        )

    def _learn(self, connection: Connection, found: Iterable[Any]) -> None:
        """Read what studies were made with that are not known; one that is deleted and made anew has another key."""
        known = {number: one.key for number, one in self._known.items()} | self._others
        wanted = [row.id for row in found if known.get(row.id) != bytes(row.key)]
        columns = heads.c.id, heads.c.name, heads.c.key, heads.c.configuration
        for start in range(0, len(wanted), _MANY):
            some = heads.c.id.in_(wanted[start : start + _MANY])
            for row in connection.execute(select(*columns).where(some)):
                record = read(f"the configuration of {row.name!r}", row.configuration)
                if is_study(record):
                    self._known[row.id] = _making(row.key, record)
                else:
                    self._others[row.id] = bytes(row.key)

    def close(self) -> None:
        """Close the connection."""
        self._storage.close()

    def __enter__(self) -> Self:
        self._storage.check()
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


def _losses(connection: Connection) -> dict[int, tuple[int, int, int]]:
    """Return, by study, how many losses of open rounds are told, given up, and waited for. Nothing reads a loss."""
    left = cells.c.wanted - cells.c.told - cells.c.missing
    waiting = func.sum(case((cells.c.given_back == 0, left), else_=0))
    sums = select(cells.c.study, func.sum(cells.c.told), func.sum(cells.c.missing), waiting).group_by(cells.c.study)
    return {int(row[0]): (int(row[1]), int(row[2]), int(row[3])) for row in connection.execute(sums)}


def _open_rounds(connection: Connection, now: float) -> dict[int, tuple[int, int]]:
    """Return, by study, how many rounds are open, and how many of these should have been closed by the clock."""
    parent = heads.alias()  # whose deadline it is that counts for a segment
    deadline = case((lanes.c.parent.is_(None), heads.c.deadline), else_=parent.c.deadline)
    late = func.sum(case((rounds.c.full_at + deadline < now, 1), else_=0))
    joined = rounds.join(heads, (rounds.c.study == heads.c.id) & (rounds.c.number >= heads.c.closed))
    joined = joined.outerjoin(lanes, lanes.c.study == heads.c.id).outerjoin(parent, parent.c.id == lanes.c.parent)
    counts = select(rounds.c.study, func.count(), late).select_from(joined).where(rounds.c.state == OPEN)
    return {int(row[0]): (int(row[1]), int(row[2])) for row in connection.execute(counts.group_by(rounds.c.study))}


def _making(key: Any, record: Record) -> _Making:
    made, simulated = part(record, "configuration"), bool(record["simulated"])
    guarantee = guarantee_from_dict(made["privacy"])
    private = bool(guarantee.private) and not simulated
    prior = part(made, "prior")
    bare = private and bool(prior) and not all(one.private for one in promises_in(prior))
    words = f"{guarantee}{' (PRIOR NOT PRIVATE)' if bare else ''}"
    return _Making(bytes(key), made["domain_name"], made["horizon"], words, simulated, private)


class _Sums(NamedTuple):
    """Counts of a study: its own, and those of its segments."""

    asked: int
    closed: int
    told: int
    forgotten: int
    waiting: int
    opened: int
    overdue: int
    pending: int


def _summed(parts: list[Any], losses: dict[int, tuple[int, int, int]], opened: dict[int, tuple[int, int]]) -> _Sums:
    each = []
    for row in parts:
        told, missing, waiting = losses.get(row.id, (0, 0, 0))
        counts = row.asked - row.returned, row.closed, row.told + told, row.forgotten + missing, waiting
        each.append((*counts, *opened.get(row.id, (0, 0)), max(0, row.closed - row.erased)))
    return _Sums(*map(sum, zip(*each, strict=True)))


def _entry(row: Any, made: _Making, sums: _Sums) -> StudyEntry:
    return StudyEntry(
        name=row.name,
        domain=made.domain,
        horizon=made.horizon,
        asked=sums.asked,
        rounds=sums.closed,
        privacy=made.privacy,
        simulated=made.simulated,
        told=sums.told,
        forgotten=sums.forgotten,
        waiting=sums.waiting,
        open_rounds=sums.opened,
        overdue=sums.overdue,
        erasure_pending=sums.pending,
        generation=row.generation,
        private=made.private,
    )


def prepare_storage(url: str) -> None:
    """Make a storage ready for studies: on SQLite the file, and the tables, unless they are there.

    Parameters
    ----------
    url
        As for `Study.open`.
    """
    storage = Storage(url, create=True)
    try:
        storage.check()
        with storage.transaction() as connection:
            one_at_a_time(connection)
            migrate(connection)
    finally:
        storage.close()
