"""Open rounds in memory: for optimizers and evaluations that end with their process.

Slots lie in pages, by their ids, whichever round and stream they belong to, and all pages in one array: so a block of
losses finds its slots at once, however many streams it spans. An exception between any two lines leaves nothing half
done that `_settle`, with the next call, does not find and finish:

- slots are handed out once the lease says so (`at`); those of a block once `_moves` says so of all its leases;
- a round has begun once it is in the list of its stream;
- the loss of one call is in once it is in its slot; those of a block once `_intents` holds them;
- what is drawn for a round stays with it before anything else uses it: no round is drawn for twice.

Losses are overwritten when their round is released. The lock is the book's.
"""

import secrets
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Integers
from sottovoce._records import Record
from sottovoce.errors import ForkRefused
from sottovoce.rounds.lease import Lease, Leases, Piece
from sottovoce.rounds.people import people_erased, people_uncounted
from sottovoce.rounds.round import (
    MISSING,
    PENDING,
    UNUSED,
    UNWANTED,
    Draw,
    Release,
    Round,
    Shape,
    fresh_slots,
    leading,
)
from sottovoce.rounds.store import (
    LATE,
    TOLD,
    UNKNOWN,
    UNWANTED_LOSS,
    WAITING,
    Begin,
    Compute,
    Drawing,
    OpenRound,
    Orders,
    states_of,
)

CHUNK = 4096
"""Slots that are leased when one is asked for: enough for numpy, little for the memory."""

_PAGE = 14  # bits of a slot within its page
_WITHIN = (1 << _PAGE) - 1
_BUSY = -1  # in place of the fork's number while a change is under way
_ENDED = -1  # in place of a stream: the events of those that have ended
_NONE: Integers = np.empty(0, dtype=np.int64)
_PLAIN = Shape()
_KEPT = 128  # releases of a stream that are kept once they are learned from


class _Pages:
    """Slots by their ids: pages of consecutive ones, all of them in one array.

    Attributes
    ----------
    slots, view
        All slots; as numpy sees them, a row for each where there are several integers.
    starts
        Where each page begins, by its number.
    """

    __slots__ = ("_free", "slots", "starts", "view", "width")

    def __init__(self, width: int) -> None:
        self.width, self.slots = width, array("q")  # plain: far quicker than numpy one at a time
        self.starts: dict[int, int] = {}
        self._free: list[int] = []
        self.look()

    def add(self, first: int, end: int) -> None:
        """See to it that there are pages for these ids."""
        for number in range(first >> _PAGE, (end - 1 >> _PAGE) + 1):
            if number not in self.starts:
                if not self._free:
                    self._grow()
                self.starts[number] = self._free.pop()  # cut short in between, a page is lost, and nothing else

    def _grow(self) -> None:
        """Make room for twice as many; nothing is left in the room there was."""
        old, pages = self.view, len(self.slots) // self.width >> _PAGE
        self.slots = self.slots + array("q", [UNUSED]) * (max(1, pages) * self.width << _PAGE)
        self.look()
        old[:] = UNUSED
        self._free += range(pages << _PAGE, len(self.slots) // self.width, 1 << _PAGE)

    def parts(self, first: int, end: int) -> Iterator[Integers]:
        """Go through the slots of consecutive ids, page by page."""
        while first < end:
            stop = min(end, (first >> _PAGE) + 1 << _PAGE)
            start = self.starts[first >> _PAGE] + (first & _WITHIN)
            yield self.view[start : start + stop - first]
            first = stop

    def places(self, ids: Integers) -> Integers | None:
        """Return where the slots of ascending ids are; None if there are none for some of them."""
        numbers, begins, ends = _stretches(ids >> _PAGE)
        starts = list(map(self.starts.get, numbers))
        if None in starts:
            return None
        return np.asarray(np.repeat(np.array(starts), np.subtract(ends, begins)) + (ids & _WITHIN))

    def drop(self, number: int) -> None:
        """Let go of a page of which nothing is in use."""
        self._free.append(self.starts.pop(number))

    def look(self) -> None:
        """See the slots with numpy's eyes."""
        view: Integers = np.frombuffer(self.slots, dtype=np.int64)
        self.view = view if self.width == 1 else view.reshape(-1, self.width)

    def __getstate__(self) -> Any:
        return self.width, self.slots, self.starts, self._free

    def __setstate__(self, state: Any) -> None:
        self.width, self.slots, self.starts, self._free = state
        self.look()


class _Open:
    """A round until its release."""

    __slots__ = ("before", "full_at", "left", "places", "release", "reserved", "round", "stream")

    def __init__(self, round: Round, before: int) -> None:
        self.round, self.stream = round, round.stream
        self.places = round.size  # that it has on pages, however early it ends
        self.before = before  # events of its stream before it
        self.reserved = 0  # slots that were leased
        self.left = 0  # of these, how many wait for their loss: too low at worst, and counted again at zero
        self.full_at: int | None = None
        self.release: Release | None = None  # what was drawn, once it is

    @property
    def end(self) -> int:
        """Events of its stream up to its end."""
        return self.before + self.round.size


class _Stream:
    """The rounds of one stream: those that are open, and what was released."""

    __slots__ = ("open", "releases")

    def __init__(self) -> None:
        self.open: deque[_Open] = deque()
        self.releases: list[Release] = []  # the newest: those of long ago are let go of

    @property
    def next_number(self) -> int:
        """The number of the round that begins next."""
        return self.open[-1].round.number + 1 if self.open else self.closed

    @property
    def closed(self) -> int:
        """Rounds that are closed."""
        return self.releases[-1].round.number + 1 if self.releases else 0


class _PendingSlots(NamedTuple):
    """Ids that wait for their loss: where their slots are, in which order, and how many are of which round."""

    order: Integers | None
    places: Integers
    rounds: list[tuple[_Open, int]]


class _Closed(NamedTuple):
    """What is remembered of a released round: which ids were its own, and which never had a loss."""

    first: int
    size: int
    missing: bytes
    unwanted: bytes


class MemoryStore(Leases):
    """Open rounds in memory.

    Parameters
    ----------
    shape
        What a slot holds.
    forks
        Whether a forked child may go on with it: not if it releases in earnest.
    """

    shared = False
    fresh: float | None = None

    def __init__(self, shape: Shape = _PLAIN, *, forks: bool = False) -> None:
        super().__init__()
        self._width, self._forks = shape.width, forks
        self.incarnation = self._next = 0
        self._names: list[str] = []
        self._pages = _Pages(shape.width)
        self._streams: dict[int, _Stream] = {}
        self._past: dict[int, _Stream] = {}  # those that have ended
        self.opened = 0
        self.note: Record = {}
        self._newest: dict[int, Lease] = {}  # of each stream, or one before it
        self._open: list[_Open] = []  # of all streams, by their first id
        self._firsts: list[int] = []  # that id
        self._closed: list[_Closed] = []  # by their first id
        self._moves: Sequence[Piece] = ()  # what one call hands out: handed out, once it is here
        self._counts: dict[int, int] = {}  # how many rounds of each stream are closed
        self._intent: tuple[Integers, Any] | None = None  # what one call puts into slots: in, once it is here
        self._settings: tuple[int | None, float | None] = None, None
        self._people: dict[bytes, int] | None = None  # how many losses of each person were asked for, by their hash
        self._most, self._person_key = 0, b""  # how many there may be; what people are hashed with, until it is erased
        self._fork_count = self._ready = _fork.fork_count()

    def check(self) -> None:
        """Refuse a forked child, unless it may go on; finish what a call has left that was cut short."""
        self._settle()

    # ------------------------------------------------------------------ asking

    @property
    def clock(self) -> int:
        """How many events were asked, of all streams."""
        if self._moves:
            self._move()
        return sum([lease.before + lease.at for lease in self.leases.values()])

    def names(self) -> Sequence[str]:
        """Return the names of the streams that there are, in order."""
        return self._names

    def stream(self, name: str, check: Callable[[], None] | None = None) -> int:
        """Return the stream of a name; add it, if there is none and `check` has nothing against it."""
        if name not in self._names:
            if check is not None:
                check()
            self._names = [*self._names, name]
        return self._names.index(name)

    def asked(self, stream: int) -> int:
        """How many events of a stream were asked."""
        lease = self.leases.get(stream)
        return 0 if lease is None else lease.before + lease.at

    def ahead(self, size: int) -> int:
        """Lease plenty: nobody else wants them."""
        return max(0, CHUNK - size)

    def reserve(self, orders: Orders, begin: Begin, draw: Drawing, ahead: int = 0, handed: int | None = None) -> None:
        """Lease so many more slots of each of these streams; begin rounds where none are left."""
        self._settle()
        for stream, count in (orders() if callable(orders) else orders).items():
            left = count
            while left > 0:
                left -= self._lease(stream, left, ahead, begin, draw)

    def hand_out(self, pieces: Sequence[Piece]) -> None:
        """Hand out slots of several streams, of each in order: all of these pieces, or none."""
        self._ready = _BUSY
        self._moves = pieces  # now all of it is handed out
        self._move()
        self._ready = self._fork_count

    def _move(self) -> None:
        leases = self.leases
        for lease, _, end in self._moves:
            lease.at = end
            stream = lease.round.stream
            if end == lease.size or leases.get(stream) is not lease:
                self.drained.add(stream)
                leases[stream] = lease
        self._moves = ()
        self._let_go()

    def _lease(self, stream: int, want: int, ahead: int, begin: Begin, draw: Drawing) -> int:
        """Lease slots of one round, `want` and `ahead` at most; return how many."""
        line = self._streams.get(stream)
        if line is None:
            line = self._streams[stream] = _Stream()
        self._ready = _BUSY
        newest = line.open[-1] if line.open else None
        if newest is None or newest.reserved == newest.round.size:
            newest = self._begin(line, stream, begin)
        start = newest.reserved
        count = min(want + ahead, newest.round.size - start)
        drawn = draw(newest.round, start, count)
        last = start + count == newest.round.size
        if last and count > want and drawn.wanted is not None and not drawn.wanted[-1]:
            count -= 1  # no round is complete before its last slot is handed out, which here takes no loss
            drawn = Draw(drawn.actions[:count], drawn.wanted[:count])
        slots = fresh_slots(drawn, count, self._width)
        self._write(newest.round.first + start, slots)
        self.hold(stream, Lease(newest.round, start, drawn, newest.before + start))  # now they are leased
        newest.reserved = start + count
        newest.left += int(np.count_nonzero(leading(slots) == PENDING))
        self._ready = self._fork_count
        return count

    def _begin(self, line: _Stream, stream: int, begin: Begin) -> _Open:
        before = self._leased(stream)
        draft = begin(stream, line.next_number, before)
        first = self._next
        end = first + draft.size
        opened = _Open(Round(stream, line.next_number, first, draft.size, draft.public, before), before)
        self._pages.add(first, end)
        line.open.append(opened)  # now it has begun
        self._next = end
        self._open.append(opened)
        self._firsts.append(first)
        return opened

    def _leased(self, stream: int) -> int:
        """How many events of a stream were leased."""
        newest = self.newest(stream)
        return 0 if newest is None else newest.before + newest.size

    def newest(self, stream: int) -> Lease | None:
        """Return the newest lease of a stream, from where it was last: a block may lease thousands of rounds."""
        lease = self._newest.get(stream) or self.leases.get(stream) or self._waiting.get(stream)
        while lease is not None and lease.next is not None:
            lease = lease.next
        if lease is not None:
            self._newest[stream] = lease
        return lease

    # ------------------------------------------------------------------ telling

    def record_one(self, one: int, integer: int) -> int | None:
        """Take one loss; return how many its round waits for, or None: it does not wait for this one."""
        if self._ready != _fork.current:
            self._settle()
        pages = self._pages
        start = pages.starts.get(one >> _PAGE)
        if start is None:
            return None
        slot = start + (one & _WITHIN)
        if pages.slots[slot] != PENDING:
            return None
        opened = self._open[bisect_right(self._firsts, one) - 1]
        lease = self.leases[opened.stream]
        if one >= lease.first + lease.at:
            return None  # leased, and not handed out
        left = opened.left - 1
        opened.left = left  # before the loss is in: at zero it is counted again, should this be cut short here
        pages.slots[slot] = integer  # now it is in
        return left

    def stream_of(self, one: int) -> int:
        """Return the stream of an id that was recorded; of any, if its round was released meanwhile."""
        return self._open[bisect_right(self._firsts, one) - 1].stream if self._open else 0

    def round_with(self, one: int) -> Round:
        """Return the round of an id that waits for its loss."""
        return self._open[bisect_right(self._firsts, one) - 1].round

    def record(self, ids: Integers, integers: Integers) -> set[int] | None:
        """Take losses, all or none; return the streams that may have a complete round, or None: nothing was taken."""
        self._settle()
        found = self._found(ids)
        return None if found is None else self._fill(found, integers if found.order is None else integers[found.order])

    def _found(self, ids: Integers) -> _PendingSlots | None:
        """Return where ids are, if all of them were handed out and wait for their loss, and none of them twice."""
        order = None
        if not len(ids):
            return _PendingSlots(order, ids, [])
        if not (ids[1:] > ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            ids = ids[order]
            if (ids[1:] == ids[:-1]).any():
                return None
        places = self._pages.places(ids)
        if places is None or not (leading(self._pages.view[places]) == PENDING).all():
            return None
        numbers, starts, ends = _stretches(np.searchsorted(self._firsts, ids, side="right"))
        rounds = [self._open[number - 1] for number in numbers]  # there is one: who else would wait
        leases = map(self.leases.get, [one.stream for one in rounds])
        limits = [0 if lease is None else lease.first + lease.at for lease in leases]
        if not (ids[np.subtract(ends, 1)] < limits).all():
            return None
        return _PendingSlots(order, places, list(zip(rounds, np.subtract(ends, starts).tolist(), strict=True)))

    def _handed_out(self, opened: _Open) -> int:
        """The id below which those of a round are handed out."""
        lease = self.leases.get(opened.stream)
        return 0 if lease is None else min(opened.round.end, lease.first + lease.at)

    def _fill(self, found: _PendingSlots, values: Any) -> set[int]:
        """Put what one call brings into slots that wait for it; return the streams whose round may be complete."""
        self._ready = _BUSY
        self._intent = found.places, values  # now all of it is in
        self._pages.view[found.places] = values
        self._intent = None
        filled = set()
        for opened, count in found.rounds:
            opened.left -= count
            if opened.left <= 0:
                filled.add(opened.stream)
        self._ready = self._fork_count
        return filled

    def forget(self, ids: Integers) -> tuple[int, set[int]]:
        """Close slots without their loss, those that wait for it; return how many, and streams as `record` does."""
        self._settle()
        waiting = np.unique(ids)
        waiting = waiting[self.look(waiting) == WAITING]
        found = self._found(waiting)
        assert found is not None
        return len(waiting), self._fill(found, MISSING)

    def close_overdue(self, patience: int | None, deadline: float | None = None) -> set[int]:
        """Close what full rounds lack, `patience` events after their last slot was handed out."""
        self._settle()
        self._note_full()
        full = [(one, one.full_at) for one in self._open if one.full_at is not None and one.left > 0]
        if patience is None or not full:
            return set()
        since = self.clock - patience
        ids = [self._waiting_of(one) for one, full_at in full if full_at <= since]
        return self.forget(np.concatenate(ids))[1] if ids else set()

    def until_due(self, patience: int | None) -> int | None:
        """How many events may be asked before a round is to be closed without what it lacks; None: any number."""
        if patience is None:
            return None
        full = [one.full_at for one in self._open if one.full_at is not None]
        return min(full) + patience - self.clock if full else None

    def _note_full(self) -> None:
        """Note when rounds were handed out to their end: by the last call, if it is not noted yet."""
        self._ready = _BUSY
        drained, self.drained = self.drained, set()
        lines = [(line, self.asked(stream)) for stream in drained if (line := self._streams.get(stream)) and line.open]
        full = [one for line, asked in lines for one in line.open if one.full_at is None and one.end <= asked]
        now = self.clock if full else 0
        for opened in full:
            opened.full_at = now
        self._ready = self._fork_count

    # ------------------------------------------------------------------ releasing

    def complete(self, streams: set[int]) -> set[int]:
        """All of them may: releasing looks."""
        return streams

    def release(self, streams: set[int], compute: Compute) -> set[int]:
        """Release the oldest open round of each stream, if it is complete, once; erase its losses in the same step.

        Return those of which a round was released that other open ones follow.
        """
        return {one for one in sorted(streams) if self._release(one, compute)}

    def _release(self, stream: int, compute: Compute) -> int:
        """Release the oldest open round of a stream; return how many follow it, 0 if it was not complete."""
        self._settle()
        line = self._streams.get(stream)
        if line is None or not line.open:
            return 0
        oldest = line.open[0]
        if oldest.release is None:
            if oldest.reserved < oldest.round.size or oldest.left > 0:
                return 0
            slots = self._slots_of(oldest)
            marks = leading(slots)
            oldest.left = int(np.count_nonzero(marks == PENDING))
            if oldest.left:
                return 0
            missing, wanted = np.flatnonzero(marks == MISSING), int(np.count_nonzero(marks != UNWANTED))
            self._ready = _BUSY
            drawn = Release(oldest.round, compute(oldest.round, slots), missing, wanted)
            if oldest.release is None:  # or a signal handler was here meanwhile: what it has released stays
                oldest.release = drawn  # for all time
            slots[:] = UNUSED
        self._ready = _BUSY
        self._finish(line, oldest)
        self._ready = self._fork_count
        return len(line.open)

    def _finish(self, line: _Stream, oldest: _Open) -> None:
        """See to what follows from a release: done again by the next call, should this be cut short."""
        if line.closed == oldest.round.number:
            assert oldest.release is not None
            self._remember(oldest)
            line.releases.append(oldest.release)
            self._counts[oldest.stream] = line.closed
        self._erase(oldest)
        if line.open and line.open[0] is oldest:
            line.open.popleft()

    def _remember(self, oldest: _Open) -> None:
        assert oldest.release is not None
        release, one, missing, unwanted = oldest.release, oldest.release.round, b"", b""
        if len(release.missing):
            missing = np.packbits(np.bincount(release.missing, minlength=one.size).astype(bool)).tobytes()
        if release.wanted < one.size:
            unwanted = np.packbits(leading(self._slots_of(oldest))[: one.size] == UNWANTED).tobytes()
        at = bisect_right(self._closed, one.first, key=_first_id)
        if not at or self._closed[at - 1].first != one.first:
            self._closed.insert(at, _Closed(one.first, one.size, missing, unwanted))

    def _erase(self, oldest: _Open) -> None:
        """Overwrite the losses of a round, and let go of pages that no open round has slots in."""
        first, end = oldest.round.first, oldest.round.first + oldest.places
        place = bisect_right(self._firsts, first) - 1
        if place >= 0 and self._open[place] is oldest:
            del self._firsts[place], self._open[place]
        for number in range(first >> _PAGE, (end - 1 >> _PAGE) + 1):
            if number not in self._pages.starts:
                continue
            start, stop = number << _PAGE, number + 1 << _PAGE
            for part in self._pages.parts(max(first, start), min(end, stop)):
                part[:] = UNUSED
            last = bisect_right(self._firsts, stop - 1) - 1
            if self._next >= stop and (last < 0 or self._open[last].round.end <= start):
                self._pages.drop(number)

    def closed(self) -> Mapping[int, int]:
        """How many rounds of each stream are closed."""
        return self._counts

    def believed(self, known: Mapping[int, int]) -> Mapping[int, tuple[int, Record]]:
        """Return nothing: nobody else learns."""
        return {}

    def believe(self, stream: int, version: int, record: Record) -> None:
        """Store nothing: the policy knows it."""

    def releases(self, stream: int, known: int) -> Sequence[Release]:
        """Return what was released of a stream, from round `known` on."""
        line = self._past.get(stream) or self._streams.get(stream)
        if line is None or not line.releases:
            return []
        return line.releases[max(0, known - line.releases[0].round.number) :]

    def let_go(self, stream: int) -> None:
        """Let go of what was released of a stream long ago, and learned from."""
        line = self._streams.get(stream)
        if line is not None and len(line.releases) > 2 * _KEPT:
            line.releases = line.releases[-_KEPT:]

    def erase(self) -> int:
        """There are no logs."""
        return 0

    def settings(self) -> tuple[int | None, float | None]:
        """Return patience and deadline, as they were set last."""
        return self._settings

    def set_patience(self, patience: int | None, deadline: float | None) -> None:
        """Change both."""
        self._settings = patience, deadline

    # ------------------------------------------------------------------ people

    @property
    def counts_people(self) -> bool:
        """Whether people are counted, or were until they were erased."""
        return self._people is not None

    def people_key(self, most: int) -> bytes:
        """Return the key that people are hashed with; begin to count them, if nothing was asked so far."""
        if self._people is None:
            if self.clock:
                raise people_uncounted()
            self._most, self._person_key, self._people = most, secrets.token_bytes(32), {}
        if not self._person_key:
            raise people_erased()
        return self._person_key

    def count(self, people: Sequence[bytes]) -> list[bool]:
        """Count a loss of each hashed person; say whose was none too many."""
        assert self._people is not None
        granted = []
        for one in people:
            before = self._people.get(one, 0)
            granted.append(before < self._most)
            if before < self._most:
                self._people[one] = before + 1
        return granted

    def erase_people(self) -> int:
        """Erase who was counted, and the key, for good; return how many people there were."""
        if self._people is None:
            return 0
        erased, self._person_key, self._people = len(self._people), b"", {}
        return erased

    # ------------------------------------------------------------------ looking

    def look(self, ids: Integers) -> NDArray[np.int8]:
        """Say of each id what became of its slot."""
        self._settle()
        states = self._closed_states(ids)
        places = np.searchsorted(self._firsts, ids, side="right") - 1
        for place in np.unique(places[places >= 0]).tolist():
            opened = self._open[place]
            where = np.flatnonzero((places == place) & (ids < self._handed_out(opened)))
            slots = leading(self._slots_of(opened))
            states[where] = states_of(slots[ids[where] - opened.round.first], UNKNOWN)
        return states

    def _closed_states(self, ids: Integers) -> NDArray[np.int8]:
        states = np.full(len(ids), UNKNOWN, dtype=np.int8)
        for i, one in enumerate(ids.tolist()):
            at = bisect_right(self._closed, one, key=_first_id) - 1
            if at >= 0 and one - self._closed[at].first < self._closed[at].size:
                closed, slot = self._closed[at], one - self._closed[at].first
                states[i] = (
                    LATE if _bit(closed.missing, slot) else UNWANTED_LOSS if _bit(closed.unwanted, slot) else TOLD
                )
        return states

    def open_rounds(self) -> Sequence[OpenRound]:
        """Return the rounds that are not released, in the order in which they began."""
        self._settle()
        self._note_full()
        found = [opened for line in self._streams.values() for opened in line.open]
        return [self._described(opened) for opened in sorted(found, key=lambda one: one.round.first)]

    def _described(self, opened: _Open) -> OpenRound:
        slots, waiting = leading(self._slots_of(opened)), len(self._waiting_of(opened))
        missing = int(np.count_nonzero(slots == MISSING))
        told = int(np.count_nonzero(slots > UNUSED))
        return OpenRound(opened.round, self._asked(opened), waiting, opened.full_at, None, told, missing)

    def _asked(self, opened: _Open) -> int:
        """How many slots of a round were handed out."""
        lease = self.leases.get(opened.stream)
        return 0 if lease is None else min(opened.round.size, max(0, lease.before + lease.at - opened.before))

    def waiting(self, limit: int | None = None) -> Integers:
        """Return the ids that were handed out and wait for their loss, the oldest first."""
        self._settle()
        found = [opened for line in self._streams.values() for opened in line.open]
        ids = [self._waiting_of(opened) for opened in sorted(found, key=lambda one: one.round.first)]
        return np.concatenate([_NONE, *ids])[:limit]

    def _waiting_of(self, opened: _Open) -> Integers:
        slots = leading(self._slots_of(opened))[: self._asked(opened)]
        return opened.round.first + np.flatnonzero(slots == PENDING)

    def close(self) -> int:
        """Give back nothing: nobody else would take it."""
        return 0

    # ------------------------------------------------------------------ streams of one round: evaluations

    @property
    def ended(self) -> int:
        """How many rounds of all streams are released, or dropped."""
        return len(self._closed)

    def open_stream(self, begin: Begin) -> int:
        """Add a stream, and begin its round; return its number."""
        self._settle()
        stream, line = self.opened, _Stream()
        self.opened = stream + 1
        self._ready = _BUSY
        self._begin(line, stream, begin)
        self._streams[stream] = line  # now it is there
        self._ready = self._fork_count
        return stream

    def round_of(self, stream: int) -> Round:
        """Return the newest round of a stream."""
        line = self._past.get(stream) or self._streams[stream]
        return line.open[-1].round if line.open else line.releases[-1].round

    def room(self) -> dict[int, int]:
        """Return how many slots can be handed out of the newest round of each stream; of open rounds only."""
        self._settle()
        newest = {stream: line.open[-1] for stream, line in self._streams.items() if line.open}
        return {stream: one.round.size - self._asked(one) for stream, one in newest.items()}

    def overdue(self, patience: Callable[[int], int | None]) -> list[int]:
        """Return streams with a round that has been full for as many events as its size is patient for."""
        self._settle()
        self._note_full()
        now = self.clock
        full = [(one.round, one.full_at) for line in self._streams.values() for one in line.open]
        return [
            one.stream
            for one, at in full
            if at is not None and (wait := patience(one.size)) is not None and at + wait <= now
        ]

    def finish(self, stream: int) -> None:
        """End the newest round of a stream with the slots that were handed out; close those that wait for a loss."""
        self._settle()
        newest = self._streams[stream].open[-1]
        asked = self._asked(newest)
        self._ready = _BUSY
        newest.round = newest.round._replace(size=asked)  # now nobody else gets a slot of it
        newest.reserved = asked
        self._count(newest)
        self._ready = self._fork_count
        self.forget(self._waiting_of(newest))

    def drop(self, stream: int) -> None:
        """Close the open round of a stream without a release; erase its losses."""
        self._settle()
        line = self._streams[stream]
        oldest = line.open[0]
        asked = self._asked(oldest)
        self._ready = _BUSY
        dropped = Release(oldest.round._replace(size=asked), None, np.arange(asked), asked, dropped=True)
        oldest.release = dropped  # now it is
        self._finish(line, oldest)
        self._ready = self._fork_count

    def retire(self, stream: int) -> None:
        """Let go of what only a stream with an open round needs; its events go on to count."""
        line, lease = self._streams.get(stream), self.leases.get(stream)
        if line is None or line.open:
            return
        self._past.setdefault(stream, line)
        if lease is not None:
            others = {one: held for one, held in self.leases.items() if one not in (stream, _ENDED)}
            before = self.leases[_ENDED].before if _ENDED in self.leases else 0
            others[_ENDED] = Lease(lease.round, 0, Draw(()), before + lease.before + lease.at)
            self.leases = others
        self._waiting.pop(stream, None)
        self._newest.pop(stream, None)
        self._streams.pop(stream, None)
        self._counts.pop(stream, None)

    # ------------------------------------------------------------------ places

    def _write(self, first: int, slots: Integers) -> None:
        done = 0
        for part in self._pages.parts(first, first + len(slots)):
            part[:] = slots[done : done + len(part)]
            done += len(part)

    def _slots_of(self, opened: _Open) -> Integers:
        """Return a copy of a round's slots, as far as they were leased."""
        first = opened.round.first
        return np.concatenate([self._pages.view[:0], *self._pages.parts(first, first + opened.reserved)])

    def _count(self, opened: _Open) -> int:
        opened.left = int(np.count_nonzero(leading(self._slots_of(opened)) == PENDING))
        return opened.left

    # ------------------------------------------------------------------ the unusual

    def _settle(self) -> None:
        """See to what is unusual: a process that has forked, or a call before this one that was cut short."""
        if self._ready == _fork.current:
            return
        if self._fork_count != _fork.current:
            self._after_fork()
        self._move()
        self._pages.look()
        if self._intent is not None:
            places, values = self._intent
            self._pages.view[places] = values
            self._intent = None
        self._open = sorted((one for line in self._streams.values() for one in line.open), key=_first_of)
        self._firsts = [one.round.first for one in self._open]
        self._next = max([self._next, *(one.round.first + one.places for one in self._open)])
        self._counts = {stream: line.closed for stream, line in self._streams.items() if line.releases}
        self.drained = set(self.leases)
        for stream, line in self._streams.items():
            leased = self._leased(stream)
            for opened in list(line.open):
                if opened.release is not None:
                    self._finish(line, opened)
                    continue
                opened.reserved = max(0, min(opened.round.size, leased - opened.before))
                self._count(opened)
        self._ready = self._fork_count

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._fork_count = _fork.fork_count()
        self._ready = _BUSY

    def _after_fork(self) -> None:
        if not self._forks:
            raise ForkRefused(
                "this was created in another process: parent and child would release the same losses under two noises. "
                "Create it after the fork, in one process only"
            )
        self._fork_count = _fork.fork_count()


def _stretches(numbers: Integers) -> tuple[list[int], list[int], list[int]]:
    """Return stretches of equal numbers: the numbers, where each begins and where it ends."""
    starts = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()]
    return numbers[starts].tolist(), starts, [*starts[1:], len(numbers)]


def _first_of(one: _Open) -> int:
    return one.round.first


def _first_id(one: _Closed) -> int:
    return one.first


def _bit(bits: bytes, place: int) -> bool:
    return place < 8 * len(bits) and bool(bits[place >> 3] >> 7 - (place & 7) & 1)
