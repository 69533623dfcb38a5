"""What all parts of the store share: the book's counters, what this process has seen of them, and incarnations.

**A database that went back** (a backup that was restored, a replica that was behind) is noticed by whoever has seen
more: the counters are older than they were, or have gone another way; the chunk that this process told last has less in
it than it had; an id lies beyond what was handed out. Whoever notices begins a new incarnation, in the same
transaction, so that two who notice do not begin two: open rounds are dropped, and ids of before are refused. All others
go on in the new one.

**Writers.** The counters keep, for each of the latest writers, the version that it wrote last. What a process has seen
of this must be in whatever it sees later: a writer's number never falls. After a rollback it has fallen, at least for
one writer, however far others have moved the counters on since: whoever is alive notices it by its own number, and the
numbers of the dead are noticed by all that have seen them.
"""

import secrets
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._records import Record, checksum, pack
from sottovoce.errors import StorageError, StudyBehind, StudyDamaged, StudyNotFound
from sottovoce.rounds.lease import Lease
from sottovoce.rounds.round import PLACE, PLACES, Round, Shape, Slots
from sottovoce.rounds.store import CONSEQUENCES, Store
from sottovoce.rounds.stores.sql.database import Database, Values
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import DROPPED

MOST = 64
"""How many writers are remembered. One that was silent while so many others wrote cannot be told from a newcomer."""

_ENTRY = struct.Struct(">8sQ")


class Writers:
    """The latest writers, oldest first, in sixteen bytes each.

    Parameters
    ----------
    packed
        As stored in the counters.

    Examples
    --------
    >>> before = Writers().wrote(b"the mine", 7)
    >>> before.wrote(b"an other", 8).follows(before)
    True
    >>> Writers().wrote(b"an other", 8).follows(before)
    False
    """

    def __init__(self, packed: bytes = b"") -> None:
        self.packed = bytes(packed)

    def wrote(self, writer: bytes, version: int) -> Self:
        """Return the writers after one of them wrote a version, which is higher than any before."""
        others = [one for one in _ENTRY.iter_unpack(self.packed) if one[0] != writer]
        return type(self)(b"".join(_ENTRY.pack(*one) for one in [*others, (writer, version)][-MOST:]))

    def follows(self, before: "Writers") -> bool:
        """Say whether a storage with these writers can have come after one with those."""
        if self.packed == before.packed:
            return True
        now: dict[bytes, int] = dict(_ENTRY.iter_unpack(self.packed))
        # Whoever was dropped had written less than all that are left.
        dropped_below = min(now.values()) if len(now) == MOST else 0
        return all(
            now.get(writer, dropped_below - 1) >= version for writer, version in _ENTRY.iter_unpack(before.packed)
        )


_COLUMNS = (
    "incarnation",
    "horizon",
    "clock",
    "next_place",
    "version",
    "erased",
    "patience",
    "deadline",
    "changes",
    "writers",
)
_values = attrgetter(*_COLUMNS)


@dataclass(slots=True)
class BookCounters:
    """What changes as slots are leased and rounds are released. All of it is public.

    Attributes
    ----------
    clock
        Events that were asked, of all streams; those that processes have leased, and not handed out, among them.
    next_place
        Where the next round begins.
    version
        Raised by every change; `writers` are the latest who made one.
    erased
        Releases whose losses are gone from logs, too, as far as that is on record.
    changes
        A checksum of what all streams have in common, as `SqlStore.amend` wrote it last.
    """

    book: int
    incarnation: int = 1
    horizon: int | None = None
    clock: int = 0
    next_place: int = 0
    version: int = 0
    erased: int = 0
    patience: int | None = None
    deadline: float | None = None
    changes: bytes = b""
    writers: bytes = b""

    def seal(self) -> bytes:
        """Return a checksum of everything."""
        return checksum(repr([self.book, *_values(self)]).encode())

    def is_older_than(self, seen: "BookCounters") -> bool:
        """Say whether a storage with this has gone back in time, or another way, since that was seen."""
        if self.incarnation != seen.incarnation:  # a new one has begun since: nothing of the old one goes on
            return self.incarnation < seen.incarnation
        if self.version <= seen.version:
            return self != seen
        return not Writers(self.writers).follows(Writers(seen.writers))


_READ = f"SELECT {', '.join(_COLUMNS)}, seal"
_SAVE = f"UPDATE sottovoce_books SET {', '.join(f'{name} = ?' for name in (*_COLUMNS, 'seal'))} WHERE book = ?"


def read_counters(
    base: Database, book: int, more: str = "", *values: Any, lock: bool = False
) -> tuple[BookCounters, list[Any]]:
    """Return the counters of a book, and the values of more expressions; if it is asked for, hold its lock."""
    statement = f"{_READ}{more} FROM sottovoce_books b WHERE book = ?{base.lock if lock else ''}"
    rows = base.run(statement, *values, book)
    if not rows:
        raise StudyNotFound(f"it is gone from {base.name}: it was deleted there, or moved to another storage")
    found = dict(zip((*_COLUMNS, "seal"), rows[0], strict=False))
    seal = found.pop("seal")
    counters = BookCounters(book, **found)
    if bytes(seal) != counters.seal():
        raise StudyDamaged("the counters of the study fail their checksum: restore a backup, with restored=True")
    return counters, list(rows[0][len(_COLUMNS) + 1 :])


def save_counters(counters: BookCounters) -> tuple[str, Any]:
    """Return the statement that stores the counters, and its values."""
    return _SAVE, (*_values(counters), counters.seal(), counters.book)


NONE: Integers = np.empty(0, dtype=np.int64)
Steps = list[tuple[str, Values]]
"""Statements, with their values, that are sent together."""

_Found = TypeVar("_Found")

_ROUNDS = 8  # of a stream whose records are remembered
_STEP = 2**16  # incarnations are raised by up to this much, so that two of one backup differ
_WENT_BACK = (
    "the storage is older than what this process has seen: it was restored from a backup under running processes, or "
    f"has lost its latest changes. {CONSEQUENCES}"
)
CLOSED = "(SELECT CAST(coalesce(sum(closed), 0) AS bigint) FROM sottovoce_streams WHERE book = ?)"
"""How many rounds of a book are closed."""

ROUND = "r.stream, r.number, r.first, r.size, r.position, r.public"
"""Of a round, what `_read_round` takes."""

OF_ROUND = "book = ? AND stream = ? AND round = ?"
SUMMED = (
    "(SELECT CAST(coalesce(sum({}), 0) AS bigint) FROM sottovoce_chunks c "
    "WHERE c.book = r.book AND c.stream = r.stream AND c.round = r.number)"
)
_LAST = (
    ", (SELECT closed FROM sottovoce_chunks WHERE book = b.book AND chunk = ?)"
    ", (SELECT open FROM sottovoce_rounds WHERE book = b.book AND stream = ? AND number = ?)"
)


class LastTold(NamedTuple):
    """The chunk that this process told last, and how many slots of it were closed then: there are never less."""

    chunk: int = -1
    closed: int = 0
    stream: int = -1
    round: int = -1


class BookRows(Store):
    """The rows of one book, and what this process knows of them.

    Parameters
    ----------
    database
        Where it is.
    book
        The number of the book there.
    shape
        What a slot holds.

    Attributes
    ----------
    incarnation
        The one that this process is in; another, once it has noticed that one has begun.
    changes
        Another, once what is common was amended, as this process has seen it; within `reserve`, as it is then.
    """

    def __init__(self, database: Database, book: int, shape: Shape) -> None:
        super().__init__()
        self._base, self._book, self._slots = database, book, Slots(shape)
        self._writer = secrets.token_bytes(8)
        self._last = LastTold()
        # Called within the transaction that begins an incarnation, with what undone attempts at it have noted.
        self.present: Callable[[dict[Any, Any]], None] = lambda presented: None
        self._presented: dict[Any, Any] = {}
        self._rounds: dict[tuple[int, int], tuple[bytes, Record]] = {}  # records of rounds, and as they are stored
        self._erased = 0  # releases whose losses are gone from the log, as far as this process has seen to it
        self._lingering = True  # whether more may be left to erase
        self._seen, _ = read_counters(database, book)
        self.incarnation, self.changes = self._seen.incarnation, self._seen.changes

    # ------------------------------------------------------------------ the counters

    def _look_at_counters(self, more: str = "", *values: Any) -> list[Any]:
        """See how far the book has come, without a lock; return the values of more expressions."""
        counters, found = read_counters(self._base, self._book, more, *values)
        if counters.is_older_than(self._seen):
            # Whoever has the lock can tell for certain, and begin anew.
            self._locked(lambda counters, steps: None, writes=False)
        else:
            self._follow(counters)
        return found

    def _locked(
        self,
        work: Callable[[BookCounters, Steps], _Found],
        *,
        first: Callable[[], bool] | None = None,
        writes: bool = True,
    ) -> _Found | None:
        """Carry out `work` under the lock of the book; it may change counters, and add steps that are taken at the end.

        What is done `first` has no lock yet; if it says no, nothing is done. Where `writes` is false, the counters are
        not stored.
        """
        noticed: list[StudyBehind] = []
        self._presented = {}

        def within() -> tuple[BookCounters | None, _Found | None]:
            noticed.clear()
            if first is not None and not first():
                return None, None
            last = self._last
            counters, self._of_last = read_counters(
                self._base, self._book, _LAST, last.chunk, last.stream, last.round, lock=True
            )
            found, steps = None, Steps()
            if counters.is_older_than(self._seen) or self._has_lost(counters):
                noticed.append(StudyBehind(_WENT_BACK))
                self._drop_all(counters, self._seen.incarnation)
            else:
                found = work(counters, steps)
            if noticed or writes:
                self._save(counters, steps)
            self._base.later(steps)
            return counters, found

        counters, found = self._base.transaction(within, alone=True)
        if counters is not None:
            self._follow(counters)
        if noticed:
            self.erase()
            raise noticed[0]
        return found

    def _has_lost(self, counters: BookCounters) -> bool:
        """Whether the storage has lost what this process told it last."""
        closed, still_open = self._of_last
        if self._last.chunk < 0 or counters.incarnation != self.incarnation or still_open == 0:
            return False
        return closed is None or closed < self._last.closed

    def _save(self, counters: BookCounters, steps: Steps) -> None:
        counters.version += 1
        counters.writers = Writers(counters.writers).wrote(self._writer, counters.version).packed
        counters.erased = max(counters.erased, self._erased)
        steps.append(save_counters(counters))

    def _follow(self, counters: BookCounters) -> None:
        """Note how far the book has come; what was leased in an earlier incarnation is worth nothing in this one."""
        if counters.incarnation != self.incarnation:
            self.give_up_leases()
            self._last, self._erased = LastTold(), 0
            self.incarnation = counters.incarnation
        self._seen, self.changes = counters, counters.changes

    # ------------------------------------------------------------------ incarnations

    def restore(self) -> None:
        """Begin a new incarnation: drop what is not released, refuse ids of before."""
        while not self._begin_anew(0):
            pass

    def _begin_anew(self, newest: int) -> bool:
        """Begin a new incarnation, above all that were met, `newest` among them; unless another has begun meanwhile."""
        present = self.incarnation

        def begin(counters: BookCounters, steps: Steps) -> bool:
            if counters.incarnation != present:
                return False
            self._drop_all(counters, newest)
            self._save(counters, steps)
            return True

        done = self._locked(begin, writes=False)
        self.erase()
        return bool(done)

    def _drop_all(self, counters: BookCounters, newest: int) -> None:
        """Close all open rounds without a release, within a transaction."""
        self._erased = 0  # a storage that went back may hold losses again that were gone
        self.present(self._presented)
        counters.incarnation = max(counters.incarnation, newest) + 1 + secrets.randbelow(_STEP)
        steps = Steps()
        self._drop_open(steps)
        self._base.batch(steps)

    def _drop_open(self, steps: Steps, stream: int | None = None) -> None:
        """Add what closes open rounds without a release; they end with what was asked of them."""
        which, mine = ("", (self._book,)) if stream is None else (" AND stream = ?", (self._book, stream))
        rounds = self._base.run(
            f"SELECT stream, number, first, reserved, position, public, {SUMMED.format('closed')}, "
            f"{SUMMED.format('missing')} FROM sottovoce_rounds r WHERE book = ?{which} AND open = 1 "
            f"ORDER BY stream, number{self._base.lock}",
            *mine,
        )
        chains: dict[int, bytes] = dict(
            self._base.run(f"SELECT stream, chain FROM sottovoce_streams WHERE book = ?{which}", *mine)
        )
        steps.append((f"DELETE FROM sottovoce_chunks WHERE book = ?{which}", mine))
        ended = f"UPDATE sottovoce_rounds SET open = 0, size = reserved WHERE book = ?{which} AND open = 1"
        steps.append((ended, mine))
        for of, number, first, size, position, public, closed, missing in rounds:
            one = self._read_round(of, number, first, size, position, public)
            record, counts = pack({"missing": NONE, "unwanted": NONE}), (closed - missing, missing, DROPPED)
            chains[of] = self._add_release(steps, one, public, counts, record, chains[of])

    def _add_release(
        self, steps: Steps, one: Round, public: bytes, counts: tuple[int, int, int], released: bytes, before: bytes
    ) -> bytes:
        """Add what stores a release, once its round is closed and its losses are deleted; return its checksum."""
        facts = one.stream, one.number, one.first & PLACE, one.size, one.position, *counts
        chain = chain_of(bytes(before), facts, bytes(public), released)
        row = self._book, one.stream, one.number, *counts, released, chain
        steps.append(("INSERT INTO sottovoce_releases VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?)", row))
        steps.append(
            (
                "UPDATE sottovoce_streams SET closed = closed + 1, chain = ? WHERE book = ? AND stream = ?",
                (chain, self._book, one.stream),
            )
        )
        return chain

    # ------------------------------------------------------------------ erasure

    def erase(self) -> int:
        """Empty logs of losses that were erased, unless somebody reads them; return how many releases are left.

        That it is done is on record with the next change, or once this is called again.
        """
        return self._erase(self._base.run(f"SELECT {CLOSED}", self._book)[0][0])

    def _erase(self, closed: int) -> int:
        """Empty logs of the losses of so many releases."""
        done = max(self._seen.erased, self._erased)
        if closed > done and self._base.erase():
            self._erased = done = closed
        elif self._erased > self._seen.erased:
            self._locked(lambda counters, steps: None)
        self._lingering = closed > done
        return max(0, int(closed) - done)

    def _try_to_erase(self) -> None:
        """Erase what could not be erased before; a call that does so as well has not failed if this fails."""
        if self._lingering:
            with suppress(StorageError):
                self.erase()

    # ------------------------------------------------------------------ small things

    def _id(self, place: int) -> int:
        return self.incarnation << PLACES | place

    def _own(self) -> list[Lease]:
        """The leases of this process that are not handed out to their end."""
        return [lease for stream in self.leases for lease in self.held(stream) if lease.left]

    def _round(self, stream: int, number: int) -> Round:
        which = "FROM sottovoce_rounds r WHERE book = ? AND stream = ? AND number = ?"
        return self._read_round(*self._base.run(f"SELECT {ROUND} {which}", self._book, stream, number)[0])

    def _read_round(self, stream: int, number: int, first: int, size: int, position: int, public: bytes) -> Round:
        """Return a round with its record: the very one that this process has begun or met, so that none is read twice.

        Of each stream a few are remembered; what is stored decides whether they are the same.
        """
        known = self._rounds.get((stream, number))
        if known is None or known[0] != public:
            known = self._remember(stream, number, public, unpacked(public, f"round {number}"))
        return Round(stream, number, self.incarnation << PLACES | first, size, known[1], position)

    def _remember(self, stream: int, number: int, stored: bytes, public: Record) -> tuple[bytes, Record]:
        while len(self._rounds) > _ROUNDS * (1 + len(self.leases)):
            del self._rounds[next(iter(self._rounds))]
        self._rounds[stream, number] = known = stored, public
        return known


def chain_of(before: bytes, facts: tuple[int, ...], public: bytes, released: bytes) -> bytes:
    """Return the checksum of a release and all before it: of its round's row, its counts, and what was released."""
    return checksum(before, repr(facts).encode(), public, released)
