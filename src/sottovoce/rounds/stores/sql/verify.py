"""Checks of a book as it is stored: every checksum, and what must be true between its rows, whatever it is kept for.

The rows are read in one transaction, and looked at after it. What is wrong is said in words, and never a loss among
them. What a study, or evaluations, must be beyond that is checked by whoever keeps the book for them.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._records import DamagedRecord, Record, checksum, unpack
from sottovoce.rounds.people import PERSON_BYTES, check_of_key
from sottovoce.rounds.round import MISSING, PENDING, UNUSED, UNWANTED, Shape, Slots, leading, seal_of
from sottovoce.rounds.stores.sql._book_rows import BookCounters, chain_of
from sottovoce.rounds.stores.sql.books import shape_of
from sottovoce.rounds.stores.sql.database import Database
from sottovoce.rounds.stores.sql.schema import COLUMNS, DROPPED, RELEASED, UNRELEASED

MALFORMED = (KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError, AssertionError)
"""What rows raise that fit their checksums, and are not what a book writes."""

Key = tuple[int, int]
"""A stream, and the number of one of its rounds."""


_ORDERS = {
    "streams": "stream",
    "rounds": "stream, number",
    "chunks": "chunk",
    "releases": "stream, round",
    "counting": "book",
    "people": "person",
}


class BookRows(NamedTuple):
    """All that is stored of a book, in order: rows have their columns by name, and say which round they are of."""

    counters: Any
    streams: list[Any]
    rounds: list[Any]
    chunks: list[Any]
    releases: list[Any]
    counting: list[Any]
    people: list[Any]


def _kind_of(table: str) -> Any:
    """Return the rows of a table: without the number of the book, and what a constraint says of all of them."""
    fixed: set[str] = set() if table == "books" else {"book"} if table == "rounds" else {"book", "open"}
    make: Any = namedtuple
    kind = make(table, [one for one in COLUMNS[table] if one not in fixed])
    kind.key = property(lambda row: (row.stream, row.number if table == "rounds" else row.round))
    return kind


def read_book(base: Database, name: str) -> BookRows | None:
    """Return the rows of a book, as they are at one moment; None if there is no such book."""

    def rows_of(table: str, which: str, value: Any) -> list[Any]:
        kind = _kind_of(table)
        select = f"SELECT {', '.join(kind._fields)} FROM sottovoce_{table} WHERE {which}"
        return [kind(*row) for row in base.run(select, value)]

    def read() -> BookRows | None:
        base.at_one_moment()
        for counters in rows_of("books", "name = ?", name):
            each = [rows_of(table, f"book = ? ORDER BY {order}", counters.book) for table, order in _ORDERS.items()]
            return BookRows(counters, *each)
        return None

    return base.transaction(read)


class CheckedBook:
    """Looks at the rows of a book, piece by piece.

    Parameters
    ----------
    rows
        What is stored.

    Attributes
    ----------
    valid
        Says whether integers can be losses.
    faults
        What is wrong, in words.
    made
        What the book was made with; None if that cannot be read.
    public, released, slots
        Of rounds: their records, those of their releases, and what the slots of open ones hold, marks and all. Losses
        go nowhere but into checks.
    dropped
        Rounds that a restoration has dropped.
    """

    def __init__(self, rows: BookRows) -> None:
        self.rows, self.faults = rows, list[str]()
        self.valid: Callable[[Integers], bool] = lambda integers: True
        self.made = self.tried("the configuration", rows.counters.made)
        shape = Shape()
        try:
            shape = shape_of(self.made or {})
            whole = self.made is None or len(self.made.get("shape", ())) == len(shape)
            fits = whole and shape.slot_bytes == rows.counters.slot_bytes
        except (TypeError, ZeroDivisionError):
            fits = False
        self.expect(fits, "slots are not as large as the book was made with")
        self._slots = Slots(shape)
        self.public, self.released = dict[Key, Record](), dict[Key, Record]()
        self.slots, self.dropped = dict[Key, Integers](), set[Key]()
        self.rounds = {row.key: row for row in rows.rounds}
        self._names = {row.stream: row.name for row in rows.streams}

    def expect(self, holds: bool, fault: str) -> bool:
        """Note a fault unless something holds."""
        if not holds:
            self.faults.append(fault)
        return bool(holds)

    def says(self, what: str, said: Mapping[str, Any], **own: Any) -> None:
        """Note a fault for each thing that is said otherwise than it follows; what is bytes is not shown."""
        for name, value in own.items():
            shown = "" if isinstance(value, bytes) else f"={said[name]}, which cannot be: it follows that it is {value}"
            self.expect(said[name] == value, f"{what} says {name}{shown or ', which does not follow from the others'}")

    def tried(self, what: str, data: Any) -> Record | None:
        """Return a stored record; note a fault, if it is none."""
        try:
            return unpack(bytes(data))
        except (DamagedRecord, TypeError) as damaged:
            reason = str(damaged) if isinstance(damaged, DamagedRecord) else "nothing is stored"
            self.faults.append(f"{what} is damaged: {reason}")
            return None

    def what(self, stream: int, number: int) -> str:
        """Say which round is meant."""
        name = self._names.get(stream, "")
        return f"round {number} of {name}" if name else f"round {number}"

    @property
    def _may_end_early(self) -> bool:
        """Whether rounds may have ended, or been dropped, before all of their slots were asked."""
        return bool(self.rows.counters.incarnation > 1 or self.rows.counters.kind == "evaluations")

    def check(self) -> None:
        """Check all of it; what cannot be read is a fault, and the rest is checked all the same."""
        steps = {"rounds": self._rounds, "releases": self._releases, "losses": self._chunks}
        steps |= {"streams": self._streams, "counters": self._head, "people": self._people}
        for what, step in steps.items():
            try:
                step()
            except MALFORMED as problem:
                self.faults.append(f"the {what} cannot be read: {type(problem).__name__}")

    def _head(self) -> None:
        counters, rows = self.rows.counters, self.rows
        stored = BookCounters(**{one.name: getattr(counters, one.name) for one in fields(BookCounters)})
        self.expect(bytes(counters.seal) == stored.seal(), "the counters fail their checksum")
        if self.made is not None:
            known = self.made.get("secret_check") == checksum(bytes(counters.secret)).hex()
            self.expect(known, "the key of ids is not the one that the book was made with")
        closed = sum(row.closed for row in rows.streams)
        self.expect(0 <= counters.erased <= closed, f"{counters.erased} rounds are erased, of {closed} that are closed")
        fits = counters.horizon is None or counters.clock <= counters.horizon
        self.expect(fits, f"{counters.clock} events are asked, and horizon={counters.horizon}")
        self.expect(counters.incarnation >= 1, "its incarnation is none")
        self.says("the book", counters._asdict(), clock=sum(row.reserved for row in rows.rounds))

    # ------------------------------------------------------------------ streams and rounds

    def _streams(self) -> None:
        rows = self.rows
        self.expect([row.stream for row in rows.streams] == list(range(len(rows.streams))), "a stream is gone")
        known = {row.stream for row in rows.rounds} <= {row.stream for row in rows.streams}
        self.expect(known, "rounds are stored of a stream that is not")
        for row in rows.streams:
            mine = [one for one in rows.rounds if one.stream == row.stream]
            chains = [one.chain for one in rows.releases if one.stream == row.stream]
            counts = {"begun": len(mine), "closed": sum(not one.open for one in mine)}
            self.says(f"stream {row.stream}", row._asdict(), **counts, chain=chains[-1] if chains else b"")

    def _rounds(self) -> None:
        for _, mine in groupby(self.rows.rounds, lambda row: row.stream):
            self._sequence(list(mine))
        places, per_chunk = sorted(self.rows.rounds, key=lambda row: row.first), self._slots.per_chunk
        ends = [row.first - (-row.size // per_chunk * per_chunk) for row in places]
        for row, end in zip(places, [0, *ends], strict=False):
            # A gap is left by rounds that were cut short.
            fits = row.first % per_chunk == 0 and row.first >= end
            self.expect(fits, f"{self.what(*row.key)} begins at place {row.first}, which is not its own")
        last = self.rows.counters.next_place
        self.expect(
            last % per_chunk == 0 and last >= max(ends, default=0), f"the next round would begin at place {last}"
        )
        if not self._may_end_early:  # nothing was cut short
            whole = [0, *ends] == [*(row.first for row in places), last]
            self.expect(whole, "places are left out between rounds")

    def _sequence(self, mine: list[Any]) -> None:
        """Check the rounds of a stream, in order."""
        position = 0
        for place, row in enumerate(mine):
            what = self.what(*row.key)
            self.says(what, row._asdict(), number=place, position=position)
            fits = row.open in (0, 1) and (not place or mine[place - 1].open <= row.open)
            self.expect(fits, f"{what} is in an unknown state, or closed out of order")
            position = row.position + row.size
            newest = row.open and place == len(mine) - 1
            fits = 0 <= row.reserved <= min(row.size, row.reached) and (newest or row.reserved == row.size)
            self.expect(fits, f"{what} has {row.reserved} of {row.size} events reserved, which cannot be")
            noted = row.full_at is not None, row.full_time is not None
            full = noted[0] == noted[1] and (not row.open or noted[0] == (row.reserved == row.size))
            full = full and (row.full_at is None or row.full_at > 0)
            self.expect(full, f"{what}: when it was asked to its end is not in order")
            public = self.tried(what, row.public)
            if public is not None:
                self.public[row.key] = public

    # ------------------------------------------------------------------ releases

    def _releases(self) -> None:
        """Check that a closed round has one release, in a chain of checksums; and an open one has none."""
        chains: dict[int, bytes] = {}
        for row in self.rows.releases:
            one, what = self.rounds.get(row.key), self.what(*row.key)
            if one is None or one.open:
                self.faults.append(f"{what} is {'gone' if one is None else 'open'}, and has a release")
                continue
            before = chains.get(row.stream, b"")
            chains[row.stream] = bytes(row.chain)
            facts = one.stream, one.number, one.first, one.size, one.position, row.told, row.missing, row.state
            whole = chain_of(before, facts, bytes(one.public), bytes(row.released)) == bytes(row.chain)
            self.expect(whole, f"the release of {what} does not follow from those before it: the chain is broken")
            record = self.tried(f"the release of {what}", row.released)
            if record is not None:
                self.released[one.key] = record
                self._release(what, one, row, record)
        closed = {row.key for row in self.rows.rounds if not row.open}
        for key in sorted(closed - {row.key for row in self.rows.releases}):
            self.faults.append(f"{self.what(*key)} is closed, and its release is gone")

    def _release(self, what: str, one: Any, row: Any, record: Record) -> None:
        missing, unwanted, numbers = record["missing"], record["unwanted"], record.get("numbers")
        self.expect(row.state in (UNRELEASED, RELEASED, DROPPED), f"{what} is in an unknown state")
        if row.state == DROPPED:
            self.dropped.add(one.key)
            fits = numbers is None and not len(missing) and not len(unwanted) and self._may_end_early
            self.expect(fits, f"{what} was dropped, and has a release")
            self.expect(row.missing >= 0 and row.told + row.missing <= one.size, f"{what} was told too much")
            return
        fits = (numbers is not None) == (row.state == RELEASED)
        self.expect(
            fits, f"{what} was {'' if row.state == RELEASED else 'not '}released, and its release says otherwise"
        )
        both = np.concatenate([missing, unwanted])
        fits = len(np.unique(both)) == len(both) and (not len(both) or 0 <= both.min() <= both.max() < one.size)
        self.expect(fits, f"{what} misses losses that nobody wanted")
        self.says(f"the release of {what}", row._asdict(), missing=len(missing), told=one.size - len(both))
        if numbers is not None:
            self.expect(bool(np.isfinite(numbers).all()), f"the release of {what} has numbers of the wrong kind")

    # ------------------------------------------------------------------ losses

    def _chunks(self) -> None:
        """Check that open rounds have all of their chunks, in their places, and closed ones none."""
        found: dict[Key, list[Any]] = {}
        for row in self.rows.chunks:
            one, what = self.rounds.get(row.key), self.what(*row.key)
            state = "gone" if one is None else "open" if one.open else "closed"
            if self.expect(state == "open", f"losses of {what} are stored, and it is {state}"):
                found.setdefault(row.key, []).append(row)
        for one in self.rows.rounds:
            if one.open:
                self._of_round(one, found.get(one.key, []))

    def _of_round(self, one: Any, mine: list[Any]) -> None:
        what, first, per_chunk = self.what(*one.key), one.first >> self._slots.bits, self._slots.per_chunk
        count = -(-min(one.reached, one.size) // per_chunk)
        if not self.expect(
            [row.chunk for row in mine] == list(range(first, first + count)), f"chunks of {what} are gone, or too many"
        ):
            return
        pieces = []
        for place, row in enumerate(mine):
            size = min(per_chunk, one.size - place * per_chunk)
            if not self.expect(len(row.slots) == size * self._slots.bytes, f"a chunk of {what} has another length"):
                return
            pieces.append(self._slots.unpacked(bytes(row.slots)))
            self._chunk(what, row, pieces[-1])
        self.slots[one.key] = leading(np.concatenate(pieces)) if pieces else np.empty(0, dtype=np.int64)
        nobodys = np.arange(len(self.slots[one.key])) >= one.reserved
        found = self.slots[one.key] == UNUSED
        self.expect(bool(found[nobodys].all()), f"{what} has losses for actions that were not asked")
        self.expect(not found[~nobodys].any(), f"{what} has actions that were asked, and are nobody's")

    def _chunk(self, what: str, row: Any, slots: Integers) -> None:
        """Check that a chunk holds what it says that it was told."""
        marks = leading(slots)
        missing, told = marks == MISSING, ~np.isin(marks, (MISSING, PENDING, UNUSED, UNWANTED))
        filled = missing | told
        places = (row.chunk << self._slots.bits) + np.flatnonzero(filled)
        self.expect(seal_of(places, slots[filled]) == row.seal, f"losses of {what} fail their checksum")
        counts = {"wanted": marks != UNWANTED, "closed": filled, "missing": missing}
        self.says(f"a chunk of {what}", row._asdict(), **{name: int(one.sum()) for name, one in counts.items()})
        self.expect(self.valid(slots[told]), f"{what} has losses outside their range")

    def _people(self) -> None:
        """Check that no person gives more losses than was promised, and that all losses are somebody's."""
        people = self.rows.people
        for row in self.rows.counting:
            counts = [one.losses for one in people]
            fits = all(0 < one.losses <= one.most == row.most and len(one.person) == PERSON_BYTES for one in people)
            self.expect(fits, f"a person was asked for more than {row.most} losses, or is none")
            if row.key_check is None:
                self.expect(row.person_key is None and not people, "people are kept who were erased")
                continue
            self.expect(len(row.key_check) == 32, "the key of people cannot be told from others")
            if row.person_key is not None:
                self.expect(check_of_key(bytes(row.person_key)) == bytes(row.key_check), "the key of people is another")
            closed = sum(one.told + one.missing for one in self.rows.releases)
            asked = closed + sum(int((marks == PENDING).sum()) for marks in self.slots.values())
            asked += sum(one.closed for one in self.rows.chunks)
            self.expect(sum(counts) >= asked, f"{sum(counts)} losses of people are counted, and {asked} were asked for")
        self.expect(bool(self.rows.counting) or not people, "people are kept whom nobody counts")
