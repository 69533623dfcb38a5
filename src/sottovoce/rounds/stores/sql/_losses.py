"""What becomes of losses: telling, closing without them, releasing.

**Telling** changes the row of the chunk that the slots are in, and no other: one statement, one commit. Its WHERE finds
the marks of slots that wait, after it has the row's lock: so a loss counts once, and none comes after its slot is
closed, whoever tells it. Whatever locks several chunks locks them in ascending order, so that nobody waits in a circle.

**Releasing** is one transaction: sums, noise, erasure and the release. It needs no lock against those who tell: a round
all of whose chunks have their losses takes no more. Whoever releases holds the lock of the round from the first loss
that it reads to the commit; another who finds it locked leaves it alone.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import Record, pack
from sottovoce.errors import StudyDamaged
from sottovoce.rounds.lease import Lease
from sottovoce.rounds.round import (
    MISSING,
    PENDING,
    PLACE,
    PLACES,
    UNUSED,
    UNWANTED,
    InChunk,
    Release,
    Round,
    leading,
    seal_of,
    seal_of_one,
    seals_of,
)
from sottovoce.rounds.store import Compute, FullRound
from sottovoce.rounds.stores.sql._book_rows import CLOSED, OF_ROUND, ROUND, BookCounters, LastTold, Steps
from sottovoce.rounds.stores.sql._leasing import Leasing
from sottovoce.rounds.stores.sql.database import Row
from sottovoce.rounds.stores.sql.errors import unpacked
from sottovoce.rounds.stores.sql.schema import DROPPED, RELEASED, UNRELEASED

_FULL = (
    "SELECT r.stream, r.first, r.first + r.size, r.full_at, r.full_time FROM sottovoce_rounds r "
    "WHERE r.book = ? AND r.open = 1 AND r.full_at IS NOT NULL AND EXISTS (SELECT 1 "
    "FROM sottovoce_chunks c WHERE c.book = r.book AND c.stream = r.stream AND c.round = r.number "
    "AND c.closed < c.wanted) ORDER BY r.first"
)
_UPDATE_CHUNK = (
    "UPDATE sottovoce_chunks SET closed = closed + ?, missing = missing + ?, seal = ?, slots = ? "
    "WHERE book = ? AND chunk = ?"
)
_READY = (
    "FROM sottovoce_rounds r WHERE r.book = ? AND r.open = 1 AND r.reserved = r.size AND NOT EXISTS "
    "(SELECT 1 FROM sottovoce_rounds o WHERE o.book = r.book AND o.stream = r.stream AND o.open = 1 "
    "AND o.number < r.number) AND NOT EXISTS (SELECT 1 FROM sottovoce_chunks c WHERE c.book = r.book "
    "AND c.stream = r.stream AND c.round = r.number AND c.closed < c.wanted)"
)
_GIVE_BACK = (
    "UPDATE sottovoce_rounds SET reserved = ?, full_at = NULL, full_time = NULL "
    "WHERE book = ? AND stream = ? AND number = ?"
)
_Changed = tuple[int, int, Row]  # a chunk, how many slots of it were changed, and what `Losses._tell` returns


class _Drawn(NamedTuple):
    """What is released of a round, its slots without a loss, and its record as it is stored."""

    round: Round
    numbers: NDArray[Any] | None
    missing: Integers
    unwanted: Integers
    public: bytes


class Losses(Leasing):
    """How losses are taken, slots closed without them, and rounds released."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._tell_again = (
            f"UPDATE sottovoce_chunks SET closed = closed + :count, slots = {self._base.overlay}, "
            f"seal = {self._base.exclusive_or} WHERE book = :book AND chunk = :chunk AND {self._base.part} = :marks "
            "RETURNING stream, round, wanted - closed, closed"
        )
        self._tell = f"{self._tell_again}, (SELECT closed FROM sottovoce_chunks WHERE book = :book AND chunk = :last)"
        self._take_ready = f"SELECT {ROUND} {_READY} AND r.stream = ?{self._base.skip_locked}"
        self._lock_stream = (
            f"SELECT {CLOSED}, begun - closed - 1, chain FROM sottovoce_streams "
            f"WHERE book = ? AND stream = ?{self._base.lock}"
        )

    def record_one(self, one: int, integer: int) -> int | None:
        """Take one loss; return the stream that may have a complete round by it, -1 if none has, or None: not taken."""
        place = one & PLACE
        chunk = place >> self._slots.bits
        if one >> PLACES != self.incarnation or (chunk in self._leased and self._is_leased(one, chunk)):
            return None
        data, last = integer.to_bytes(self._slots.integer_bytes, "big", signed=True), self._last
        found = self._base.at_once(*self._telling(last, place, data, 1, seal_of_one(place, integer)))
        if not found:
            return None
        filled = self._note_chunk(last, chunk, 1, found[0])
        if self._lingering:
            self._try_to_erase()
        return found[0][0] if filled else -1

    def round_with(self, one: int) -> Round | None:
        """Return the round of an id that waits for its loss; None if it was released meanwhile."""
        query = "SELECT stream, round FROM sottovoce_chunks WHERE book = ? AND chunk = ?"
        found = self._base.run(query, self._book, (one & PLACE) >> self._slots.bits)
        return self._round(*found[0]) if found else None

    def had_begun(self, one: int) -> bool:
        """Whether the round of an id had begun when `changes` was last seen."""
        return one >> PLACES == self.incarnation and one & PLACE < self._seen.next_place

    def _telling(self, last: LastTold, place: int, data: bytes, count: int, seal: int) -> tuple[str, dict[str, Any]]:
        """Return the statement that tells slots that follow one another in their chunk, and its values.

        It reads how much is closed of the chunk that was told `last`, if that is another one.
        """
        chunk, at = self._slots.at(place)
        marks = self._slots.pending * count
        told = {"count": count, "new": data, "seal": seal, "marks": marks, "chunk": chunk, "at": at, "book": self._book}
        return (self._tell_again, told) if chunk == last.chunk else (self._tell, told | {"last": last.chunk})

    def _note(self, last: LastTold, told: list[_Changed]) -> set[int]:
        """Note how much of chunks is closed, where one was told `last`; return streams as `record`."""
        filled = {row[0] for chunk, count, row in told if self._note_chunk(last, chunk, count, row)}
        if self._lingering:
            self._try_to_erase()
        return filled

    def _note_chunk(self, last: LastTold, chunk: int, count: int, told: Row) -> bool:
        """Note how much of a chunk is closed; look closer, if less was of the `last` one; say if it has its losses."""
        stream, number, left, closed, *others = told
        before = closed - count if chunk == last.chunk else others[0]
        if before is not None and before < last.closed:
            self._last = last if chunk != last.chunk else last._replace(closed=last.closed + count)
            self._locked(lambda counters, steps: None, writes=False)  # begins anew, and says so
        self._last = LastTold(chunk, closed, stream, number)
        return bool(left <= 0)

    def _is_leased(self, one: int, chunk: int) -> bool:
        """Whether an id is leased here, and not handed out."""
        lease = self.leases.get(self._leased[chunk])
        while lease is not None and not lease.end - length_hint(lease.ids) <= one < lease.end:
            lease = lease.next
        return lease is not None

    def _are_leased(self, places: Integers, chunk: int) -> NDArray[np.bool_]:
        """Which of these places in a chunk are leased here, and not handed out."""
        found = np.zeros(len(places), dtype=bool)
        for lease in self.held(self._leased[chunk]):
            first = lease.first & PLACE
            found |= (first + lease.at <= places) & (places < first + lease.size)
        return found

    def record(self, ids: Integers, integers: Integers) -> set[int] | None:
        """Take losses, all or none; return the streams that may have a complete round, or None: nothing was taken."""
        if not len(ids):
            return set()
        if len(ids) > 1 and not (ids[1:] > ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            ids, integers = ids[order], integers[order]
        if (ids >> PLACES != self.incarnation).any() or (ids[1:] == ids[:-1]).any():
            return None
        chunks = self._slots.by_chunk(ids & PLACE)
        if any(chunk in self._leased and self._are_leased(places, chunk).any() for chunk, _, places in chunks):
            return None
        if all(places[-1] - places[0] == len(places) - 1 for _, _, places in chunks):
            return self._record_runs(chunks, ids & PLACE, integers)
        last = self._last
        try:
            told = self._base.transaction(lambda: self._put(chunks, integers, must_wait=True), alone=True)
        except _NotWaiting:
            return None
        return self._note(last, told)

    def _record_runs(self, chunks: list[InChunk], every: Integers, integers: Integers) -> set[int] | None:
        """Take losses of slots that follow one another in each chunk: one statement for each."""
        data, size, last = self._slots.packed(integers), self._slots.bytes, self._last
        seals = seals_of(every, integers, [mine.start for _, mine, _ in chunks])
        steps = [
            self._telling(last, int(places[0]), data[size * mine.start : size * mine.stop], len(places), seal)
            for (_, mine, places), seal in zip(chunks, seals, strict=True)
        ]
        try:
            if len(steps) == 1:
                rows = [self._base.at_once(*steps[0])]
            else:
                rows = self._base.transaction(lambda: _all_found(self._base.batch(steps)), alone=True)
        except _NotWaiting:
            return None
        if not rows[0]:
            return None
        told = [(chunk, len(places), row[0]) for (chunk, _, places), row in zip(chunks, rows, strict=True)]
        return self._note(last, told)

    def _put(self, chunks: list[InChunk], values: Any, *, must_wait: bool) -> list[_Changed]:
        """Put losses, or a mark, into slots that wait, chunk by chunk in ascending order, within a transaction."""
        base, told, steps = self._base, list[_Changed](), []
        select = (
            "SELECT stream, round, wanted, closed, seal, slots FROM sottovoce_chunks "
            f"WHERE book = ? AND chunk = ?{base.lock}"
        )
        numbers = [*(chunk for chunk, _, _ in chunks), self._last.chunk]
        *found, last = base.batch([(select, (self._book, chunk)) for chunk in numbers])
        before = last[0][3] if last else None
        for (chunk, mine, places), rows in zip(chunks, found, strict=True):
            if not rows and must_wait:
                raise _NotWaiting
            for stream, number, wanted, closed, seal, data in rows:
                slots = self._slots.unpacked(bytes(data))
                which = places & self._slots.per_chunk - 1
                waits = which < len(slots)
                waits[waits] = leading(slots)[which[waits]] == PENDING
                if must_wait and not waits.all():
                    raise _NotWaiting
                which, count = which[waits], int(np.count_nonzero(waits))
                slots[which] = values[mine][waits] if isinstance(values, np.ndarray) else values
                changed, missing = seal ^ seal_of(places[waits], slots[which]), 0 if must_wait else count
                if count:
                    row = count, missing, changed, self._slots.packed(slots), self._book, chunk
                    steps.append((_UPDATE_CHUNK, row))
                    told.append((chunk, count, (stream, number, wanted - closed - count, closed + count, before)))
        base.later(steps)
        return told

    def forget(self, ids: Integers) -> tuple[int, set[int]]:
        """Close slots without their loss, those that wait for it; return how many, and streams as `record` does."""
        mine = np.unique(ids[ids >> PLACES == self.incarnation]) & PLACE
        if not len(mine):
            return 0, set()
        last, chunks = self._last, self._slots.by_chunk(mine)
        told = self._base.transaction(lambda: self._put(chunks, MISSING, must_wait=False), alone=True)
        return sum(count for _, count, _ in told), self._note(last, told)

    def full(self) -> list[FullRound]:
        """Return open rounds whose last slot was leased, and that wait for losses: a look without a lock."""
        rows = [] if self._full_at is None else self._base.run(_FULL, self._book)
        return [FullRound(stream, self._id(first), self._id(end), *when) for stream, first, end, *when in rows]

    def now(self) -> float:
        """The time by the one clock that all processes share."""
        return self._base.now()

    # ------------------------------------------------------------------ what is leased, and not handed out

    def renew(self) -> None:
        """Let go of leases of which others have closed a slot meanwhile: nobody will have the rest."""
        for lease in self._own():
            slots = self._base.transaction(partial(self._marks, self._slots.by_chunk(self._left_of(lease))))
            if len(slots) < lease.left or (slots == MISSING).any():
                self.forget(np.arange(lease.first + lease.at, lease.end))
                lease.at = lease.size

    def close(self) -> int:
        """Give back what was leased and not handed out; return how many slots."""
        own = self._own()
        count = sum(lease.left for lease in own)
        self.give_up_leases()  # first: nobody may hand out what another one has taken
        if own or self._erased > self._seen.erased:
            self._locked(lambda counters, steps: self._give_back(counters, own))
        return count

    def _give_back(self, counters: BookCounters, own: list[Lease]) -> None:
        """Let the next lease begin with these slots again; where others have leased beyond, they are closed."""
        for lease in reversed(own if counters.incarnation == self.incarnation else []):
            stored, parts = self._newest_stored(lease.round.stream), self._slots.by_chunk(self._left_of(lease))
            ends = lease.round.stream, lease.round.number, lease.start + lease.size
            is_last = stored.open and (stored.stream, stored.begun - 1, stored.reserved) == ends
            slots = self._marks(parts)
            if not is_last or not np.isin(slots, (PENDING, UNWANTED)).all():
                self._put(parts, MISSING, must_wait=False)
                continue
            for _, mine, places in parts:
                useless = np.count_nonzero(slots[mine] == UNWANTED)
                self._base.batch([self._changed(places, self._slots.unused * len(places), -int(useless))])
            self._base.run(_GIVE_BACK, lease.start + lease.at, self._book, *ends[:2])
            counters.clock -= lease.left

    def _left_of(self, lease: Lease) -> Integers:
        """Return the places of a lease that are not handed out."""
        return np.arange(lease.first + lease.at, lease.end) & PLACE

    # ------------------------------------------------------------------ releasing

    def _complete(self, streams: set[int]) -> set[int]:
        """Say which of these streams have a round to release: a look without a lock."""
        if len(streams) == 1:
            (stream,) = streams
            return streams if self._base.run(f"SELECT 1 {_READY} AND r.stream = ?", self._book, stream) else set()
        return streams & {stream for (stream,) in self._base.run(f"SELECT r.stream {_READY}", self._book)}

    def release(self, streams: set[int], compute: Compute) -> set[int]:
        """Release the oldest open round of each stream, if it is complete, once; erase its losses in the same step.

        Return those of which a round was released that other open ones follow.
        """
        drawn, ready = list[_Drawn](), self._complete(streams)

        def draw() -> bool:
            drawn.clear()
            for stream in sorted(ready):
                for row in self._base.run(self._take_ready, self._book, stream):
                    drawn.append(self._drawn(self._read_round(*row), compute, bytes(row[-1])))
            return bool(drawn)

        stored = self._locked(lambda counters, steps: self._store(steps, drawn), first=draw) if ready else None
        if stored is None:
            return set()
        closed, following = stored
        self._erase(closed)
        return following

    def _drawn(self, one: Round, compute: Compute, public: bytes) -> "_Drawn":
        """Return what is released of a round."""
        slots = self._gathered(one)
        marks = leading(slots)
        unwanted, missing = np.flatnonzero(marks == UNWANTED), np.flatnonzero(marks == MISSING)
        numbers = compute(one, slots)
        slots[:] = UNUSED
        return _Drawn(one, numbers, missing, unwanted, public)

    def _store(self, steps: Steps, drawn: list["_Drawn"]) -> tuple[int, set[int]]:
        """Add what stores releases; return how many rounds are closed then, and streams with others that are open."""
        following = set()
        for one, numbers, missing, unwanted, public in drawn:
            record = Record(missing=missing, unwanted=unwanted)
            if numbers is not None:
                record["numbers"] = np.asarray(numbers)
            mine = self._book, one.stream, one.number
            ((closed, later, chain),) = self._base.run(self._lock_stream, self._book, self._book, one.stream)
            steps += [
                (f"DELETE FROM sottovoce_chunks WHERE {OF_ROUND}", mine),
                ("UPDATE sottovoce_rounds SET open = 0 WHERE book = ? AND stream = ? AND number = ?", mine),
            ]
            told = one.size - len(unwanted) - len(missing)
            counts = told, len(missing), UNRELEASED if numbers is None else RELEASED
            self._add_release(steps, one, public, counts, pack(record), chain)
            if later:
                following.add(one.stream)
        return closed + len(drawn), following

    def _gathered(self, one: Round) -> Integers:
        """Return the slots of a round, if they are as they were told."""
        rows = self._base.run(
            f"SELECT chunk, seal, slots FROM sottovoce_chunks WHERE {OF_ROUND} ORDER BY chunk{self._base.lock}",
            self._book,
            one.stream,
            one.number,
        )
        slots = self._slots.unpacked(b"".join([data for _, _, data in rows]))
        if len(slots) != one.size:
            raise StudyDamaged(f"round {one.number} has {len(slots)} slots, not {one.size}: restore a backup")
        for index, (chunk, seal, _) in enumerate(rows):
            mine = slots[index << self._slots.bits : (index + 1) << self._slots.bits]
            marks = leading(mine)
            filled = (marks != PENDING) & (marks != UNWANTED)
            if seal_of((chunk << self._slots.bits) + np.flatnonzero(filled), mine[filled]) != seal:
                raise StudyDamaged(f"losses of round {one.number} fail their checksum: restore a backup, restored=True")
        return slots

    # ------------------------------------------------------------------ what was released

    def releases(self, stream: int, known: int) -> Sequence[Release]:
        """Return what was released of a stream, from round `known` on; without numbers, where a round was dropped."""
        rows = self._base.run(
            f"SELECT e.state, e.released, {ROUND} FROM sottovoce_releases e "
            "JOIN sottovoce_rounds r ON r.book = e.book AND r.stream = e.stream AND r.number = e.round "
            "WHERE e.book = ? AND e.stream = ? AND e.round >= ? ORDER BY e.round",
            self._book,
            stream,
            known,
        )
        found = []
        for state, released, *row in rows:
            one = self._read_round(*row)
            record = unpacked(released, f"the release of round {one.number}")
            wanted = one.size - len(record["unwanted"])
            found.append(Release(one, record.get("numbers"), record["missing"], wanted, state == DROPPED))
        return found

    def let_go(self, stream: int) -> None:
        """Let go of nothing: others may want it."""

    def closed(self) -> dict[int, int]:
        """Return how many rounds of each stream are closed."""
        return dict(self._base.run("SELECT stream, closed FROM sottovoce_streams WHERE book = ?", self._book))

    def believed(self, known: Mapping[int, int]) -> dict[int, tuple[int, Record]]:
        """Return what is believed of streams, after more of their rounds than is known: how many, and a record."""
        learned = self._base.run(
            "SELECT stream, learned FROM sottovoce_streams WHERE book = ? AND believed IS NOT NULL", self._book
        )
        found = {}
        for stream, count in learned:
            if count > known.get(stream, -1):
                ((count, record),) = self._base.run(
                    "SELECT learned, believed FROM sottovoce_streams WHERE book = ? AND stream = ?", self._book, stream
                )
                found[stream] = count, unpacked(record, f"what is believed of stream {stream}")
        return found


class _NotWaiting(Exception):
    """A slot does not wait for the loss that was told."""


def _all_found(rows: list[list[Any]]) -> list[list[Any]]:
    if not all(rows):
        raise _NotWaiting
    return rows
