"""Leasing slots: one transaction under the lock of the book, for all streams of a call.

A process that asks now and then leases what it hands out, and no more. One that asks often leases ahead, one by one or
in blocks, twice as many each time, but a small share of the horizon and of a round at most, which is what a process
that dies leaves behind; and never the last slot of a round: when that is handed out is when patience begins to count,
and it is noted with its lease. So one process plays the same with leases as without. A long lease ends with the nearest
chunk: two who tell the same chunk wait for each other. What a process gives back, the next one takes; but where others
have leased later slots meanwhile, it is closed without its losses: nobody gets it.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._records import Record, pack
from sottovoce.errors import HorizonReached, StudyBehind
from sottovoce.rounds.lease import Lease
from sottovoce.rounds.people import missing_person, people_erased
from sottovoce.rounds.round import PLACE, UNWANTED, InChunk, Round, fresh_slots, leading
from sottovoce.rounds.store import CONSEQUENCES, Begin, Drawing, Orders
from sottovoce.rounds.stores.sql._book_rows import NONE, ROUND, BookCounters, Steps
from sottovoce.rounds.stores.sql._people import COUNTED, People
from sottovoce.rounds.stores.sql.database import Values

_SOON, _OFTEN, _MOST = 0.5, 8, 4096  # seconds between asks that are many; how many of them; what is leased at most
_RESTORED = "the storage was restored since this process last looked"
_OF_HORIZON, _OF_ROUND, _FEW = 256, 6, 8  # one in so many events of the horizon and of a round is leased ahead; or few
_NEWEST = (
    f"SELECT s.begun, ({COUNTED} s.book), r.reserved, r.reached, r.open, {ROUND} "
    "FROM sottovoce_streams s LEFT JOIN sottovoce_rounds r "
    "ON r.book = s.book AND r.stream = s.stream AND r.number = s.begun - 1 WHERE s.book = ? AND s.stream = ?"
)
_INSERT_CHUNK = "INSERT INTO sottovoce_chunks VALUES (?, ?, ?, ?, 1, ?, 0, 0, 0, ?)"
_INSERT_ROUND = "INSERT INTO sottovoce_rounds VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE_ROUND = (
    "UPDATE sottovoce_rounds SET reserved = ?, reached = ?, full_at = ?, full_time = ? "
    "WHERE book = ? AND stream = ? AND number = ?"
)
_BEGUN = "UPDATE sottovoce_streams SET begun = ? WHERE book = ? AND stream = ?"
_BELIEVE = (
    "UPDATE sottovoce_streams SET learned = ?, believed = ? "
    "WHERE book = ? AND stream = ? AND (learned < ? OR believed IS NULL)"
)


@dataclass(slots=True)
class _Order:
    """What a call wants of one stream, what its newest round is, and what was leased."""

    stream: int
    want: int
    begun: int
    counted: int | None  # as `COUNTED` says
    newest: Round | None
    reserved: int
    reached: int  # slots that were ever leased of it
    open: bool
    ahead: int = 0  # slots to be leased beyond those
    leases: list[Lease] = field(default_factory=list)


@dataclass(slots=True)
class _Call:
    """What one call leases, until it is stored."""

    counters: BookCounters
    begin: Begin
    draw: Drawing
    ahead: int
    full_at: int  # events that are handed out when it is over: none of its own counts against rounds that it fills
    steps: Steps
    counted: bool = False  # whether it must say for whom
    now: float = 0.0  # when rounds were full, if some are


class Leasing(People):
    """How slots are leased, and given back."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._pace, self._soon, self._asked_at = 1, 0, -float("inf")
        self._full_at: int | None = None  # when the first of the open rounds was full, as this process has seen it
        self._due: int | None = None  # events that may be asked before a round is to be closed
        self._beliefs: dict[int, tuple[int, Record]] = {}  # of streams, to be stored with the rounds that begin
        self._leased: dict[int, int] = {}  # chunks of which slots are leased here, and their stream
        self._change = (
            f"UPDATE sottovoce_chunks SET wanted = wanted - :unwanted, slots = {self._base.overlay} "
            "WHERE book = :book AND chunk = :chunk"
        )

    @property
    def clock(self) -> int:
        """How many events were asked, of all streams, when this process last looked; its own leases as they are now."""
        return self._seen.clock - sum(lease.left for lease in self._own())

    def rest(self, stream: int) -> int:
        """How many slots of a stream's newest round are not leased: by what is held here, or else is stored."""
        if self.newest(stream) is not None:
            return super().rest(stream)
        found = self._newest_stored(stream)
        return 0 if found.newest is None else found.newest.size - found.reserved

    def until_due(self, patience: int | None) -> int | None:
        """How many events may be asked before a round is to be closed without what it lacks; None: any number."""
        self._due = None if patience is None or self._full_at is None else self._full_at + patience - self.clock
        return self._due

    def ahead(self, size: int) -> int:
        """How many slots to lease beyond the `size` that are asked for: none, unless they are asked for often."""
        now = time.monotonic()
        soon, self._asked_at = now - self._asked_at < _SOON, now
        if not soon:
            self._pace, self._soon = max(1, self._pace // 2), 0
        elif self._soon < _OFTEN:
            self._soon += 1
        else:
            self._pace = min(2 * max(self._pace, size), _MOST)
        return max(0, (self._pace if self._due is None else min(self._pace, self._due)) - size)

    # ------------------------------------------------------------------ taking

    def reserve(self, orders: Orders, begin: Begin, draw: Drawing, handed: int, ahead: int = 0) -> None:
        """Lease so many more slots of each of these streams; begin rounds where none are left. All of it or nothing.

        Of the last rounds of these, `ahead` more at most are leased. The call hands out `handed` in all.
        """
        held = sum(lease.left for lease in self._own())
        incarnation = self.incarnation

        def take(counters: BookCounters, steps: Steps) -> list[_Order]:
            if counters.incarnation != incarnation:
                self._follow(counters)
                if held:
                    raise StudyBehind(f"{_RESTORED}. {CONSEQUENCES}")
            self.changes = counters.changes
            return self._take(_Call(counters, begin, draw, ahead, counters.clock - held + handed, steps), orders())

        taken = self._locked(take)
        assert taken is not None
        for one in taken:
            for lease, following in pairwise(one.leases):
                lease.next = following
            self._leased.update((chunk, one.stream) for lease in one.leases for chunk in self._chunks_of(lease))
            self.hold(one.stream, one.leases[0])
        if len(self._leased) > _MOST:
            self._leased = {chunk: one.round.stream for one in self._own() for chunk in self._chunks_of(one)}

    def _chunks_of(self, lease: Lease) -> range:
        first = lease.first & PLACE
        return range(first >> self._slots.bits, (first + lease.size - 1 >> self._slots.bits) + 1)

    def _take(self, call: _Call, wanted: Mapping[int, int]) -> list[_Order]:
        """Lease slots, and add the steps that store it."""
        counters, self._beliefs = call.counters, {}
        if counters.horizon is not None and sum(wanted.values()) > counters.horizon - counters.clock:
            raise HorizonReached(
                f"size={sum(wanted.values())} actions were asked for, and {counters.horizon - counters.clock} of "
                f"horizon={counters.horizon} are left; plan with a longer horizon, or horizon=None if it is unknown"
            )
        rows = self._base.batch([(_NEWEST, (self._book, one)) for one in wanted])
        orders = [
            self._order(stream, want, *found[0]) for (stream, want), found in zip(wanted.items(), rows, strict=True)
        ]
        if orders and orders[0].counted is not None:
            call.counted = True
            if not orders[0].counted:
                raise people_erased()
        most = min(call.ahead, max(_FEW, (counters.horizon or _MOST * _OF_HORIZON) // _OF_HORIZON))
        if counters.horizon is not None:  # what all streams of the call want comes before what is leased ahead for one
            most = min(most, counters.horizon - counters.clock - sum(wanted.values()))
        for one in orders:
            one.ahead = most * one.want // sum(wanted.values())
            while one.want > 0:
                self._take_fresh(call, one)
        call.steps += [
            (_BELIEVE, (learned, pack(record), self._book, stream, learned))
            for stream, (learned, record) in self._beliefs.items()
        ]
        return orders

    def believe(self, stream: int, learned: int, record: Record) -> None:
        """Store what is believed after so many rounds of a stream, unless more is known: as rounds begin."""
        self._beliefs[stream] = learned, record

    def _newest_stored(self, stream: int) -> _Order:
        """Return what is stored of the newest round of a stream."""
        return self._order(stream, 0, *self._base.run(_NEWEST, self._book, stream)[0])

    def _order(self, stream: int, want: int, begun: int, counted: int | None, *newest: Any) -> _Order:
        reserved, reached, still_open, *facts = newest
        one = self._read_round(*facts) if begun else None
        return _Order(stream, want, begun, counted, one, reserved or 0, reached or 0, still_open == 1)

    def _take_fresh(self, call: _Call, one: _Order) -> None:
        """Take the next slots of the newest round, or of one that is begun."""
        counters, new = call.counters, False
        if one.newest is None or one.reserved == one.newest.size:
            before = 0 if one.newest is None else one.newest.position + one.newest.size
            draft, place, new = call.begin(one.stream, one.begun, before), counters.next_place, True
            one.newest = Round(one.stream, one.begun, self._id(place), draft.size, draft.public, before)
            counters.next_place = place - (-draft.size >> self._slots.bits << self._slots.bits)
            one.begun, one.reserved, one.reached = one.begun + 1, 0, 0
        round, start = one.newest, one.reserved
        count = min(one.want, round.size - start)
        if count == one.want:
            least, per_chunk = start + count, self._slots.per_chunk
            most = max(least, min(least + one.ahead, round.size - 1))
            end = min(most, least + max(_FEW, round.size // _OF_ROUND))
            nearest = end + (per_chunk // 2 if end - least >= per_chunk else 0)
            whole = nearest & -per_chunk  # a round begins with a chunk
            count = (whole if least < whole <= most else end) - start
        lease = self._lease(call, one, round, start, count)
        there, one.reserved, one.reached = one.reached, start + count, max(one.reached, start + count)
        self._note_round(call, one, round, new)
        slots = fresh_slots(lease.draw, count, self._slots.width)
        for chunk, mine, places in self._slots.by_chunk(np.arange(lease.first, lease.end) & PLACE):
            data, useless = self._slots.packed(slots[mine]), np.count_nonzero(leading(slots[mine]) == UNWANTED)
            if start + mine.start < there or places[0] & self._slots.per_chunk - 1:
                call.steps.append(self._changed(places, data, int(useless)))
                continue
            size = self._slots.chunk_size(round, chunk)
            data += self._slots.unused * (size - len(places))
            row = self._book, chunk, round.stream, round.number, size - int(useless), data
            call.steps.append((_INSERT_CHUNK, row))

    def _lease(self, call: _Call, one: _Order, round: Round, start: int, count: int) -> Lease:
        drawn = call.draw(round, start, count)
        if call.counted != (drawn.people is not None):
            raise missing_person() if call.counted else StudyBehind(f"{_RESTORED}. {CONSEQUENCES}")
        lease = Lease(round, start, drawn, round.position + start)
        one.leases.append(lease)
        one.want -= count
        call.counters.clock += count
        return lease

    def _note_round(self, call: _Call, one: _Order, round: Round, new: bool) -> None:
        """Store a round of which slots are leased: that it is full, if it is, as of the end of the call."""
        key = self._book, round.stream, round.number
        noted: tuple[Any, Any] = None, None
        if one.reserved == round.size:
            call.now = call.now or self._base.now()
            noted = call.full_at, call.now
        if new:
            public, _ = self._remember(round.stream, round.number, pack(round.public), round.public)
            row = *key, round.first & PLACE, round.size, round.position, one.reserved, one.reached, *noted, public
            call.steps += [(_INSERT_ROUND, row), (_BEGUN, (one.begun, *key[:2]))]
        else:
            call.steps.append((_UPDATE_ROUND, (one.reserved, one.reached, *noted, *key)))

    def _changed(self, places: Integers, data: bytes, unwanted: int) -> tuple[str, Values]:
        """Return what puts marks into slots that follow one another in a chunk; so many of them take no loss."""
        chunk, at = self._slots.at(int(places[0]))
        return self._change, {"unwanted": unwanted, "book": self._book, "chunk": chunk, "at": at, "new": data}

    def _marks(self, parts: list[InChunk]) -> Integers:
        """Return the leading integers of slots, as far as their chunks are there; within a transaction, and locked."""
        select = f"SELECT slots FROM sottovoce_chunks WHERE book = ? AND chunk = ?{self._base.lock}"
        rows = self._base.batch([(select, (self._book, one.chunk)) for one in parts])
        found = [
            leading(self._slots.unpacked(bytes(row[0][0])))[one.places & self._slots.per_chunk - 1]
            for one, row in zip(parts, rows, strict=True)
            if row
        ]
        return np.concatenate([NONE, *found])
