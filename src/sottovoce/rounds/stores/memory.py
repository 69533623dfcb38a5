"""Open rounds in memory: for optimizers and evaluations that end with their process.

An exception between any two lines leaves nothing half done. What belongs together changes in one statement whose values
are computed before: Python deals with signals at calls and loops, and so not between the assignments of one statement.
And what is a sum of other things is not kept, but for `left`, which may be too low: at zero they are counted. A signal
handler may tell, forget and look at any moment; one that asks in the midst of an ask is not provided for.

- Slots are handed out once their lease says so (lease.py), leased once the lease is held.
- A round has begun, or is closed, once the lists of open rounds say so.
- The loss of one call is in once it is in its slot; those of a block are put in by one call that runs no Python.

Losses are overwritten when their round is released. The lock is the book's.
"""

import secrets
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from operator import call, length_hint, setitem
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Integers
from sottovoce._records import Record
from sottovoce.errors import ForkRefused
from sottovoce.rounds.lease import Lease
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
    FullRound,
    OpenRound,
    Orders,
    Store,
    states_of,
)

CHUNK = 4096
"""Slots that are leased when one is asked for: enough for numpy, little for the memory."""

_NONE: Integers = np.empty(0, dtype=np.int64)
_PLAIN = Shape()
_KEPT = 128  # releases of a stream that are kept once they are learned from


class _Open:
    """A round until its release."""

    __slots__ = ("first", "full_at", "left", "round", "slots", "stream", "width")

    def __init__(self, round: Round, width: int) -> None:
        self.round, self.stream, self.first, self.width = round, round.stream, round.first, width
        self.slots = array("q", [UNUSED]) * (width * round.size)  # plain: far quicker than numpy one at a time
        self.left = 0  # of the slots that were leased, how many wait for their loss: or less
        self.full_at: int | None = None

    @property
    def view(self) -> Integers:
        """The slots as numpy sees them: a row for each where there are several integers."""
        view: Integers = np.frombuffer(self.slots, dtype=np.int64)
        return view if self.width == 1 else view.reshape(-1, self.width)


class _Stream:
    """The rounds of one stream: those that are open, and what was released."""

    __slots__ = ("open", "releases")

    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.releases: list[Release] = []  # the newest: those of long ago are let go of

    @property
    def next_number(self) -> int:
        """The number of the round that begins next."""
        return self.open[-1].round.number + 1 if self.open else self.closed

    @property
    def closed(self) -> int:
        """Rounds that are closed."""
        return self.releases[-1].round.number + 1 if self.releases else 0


class _Closed(NamedTuple):
    """What is remembered of a released round: which ids were its own, and which never had a loss."""

    first: int
    size: int
    missing: bytes
    unwanted: bytes


class MemoryStore(Store):
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
        self.incarnation = 0
        self.common: Record = {}
        self._names: list[str] = []
        self._streams: dict[int, _Stream] = {}
        # Of all streams, by their first ids: open rounds, and these ids.
        self._open: list[_Open] = []
        self._firsts: list[int] = []
        self._next = 0  # the next id that is nobody's
        self._ended = 0  # events of streams that have ended
        self._closed: list[_Closed] = []  # by their first id
        self._people: dict[bytes, int] | None = None  # how many losses of each person were asked for, by their hash
        self._most, self._person_key = 0, b""  # how many there may be; what people are hashed with, until it is erased
        self._fork_count = _fork.fork_count()

    def check(self) -> None:
        """Refuse a forked child, unless it may go on."""
        if self._fork_count != _fork.current:
            if not self._forks:
                raise ForkRefused(
                    "this was created in another process: parent and child would release the same losses under two "
                    "noises. Create it after the fork, in one process only"
                )
            self._fork_count = _fork.fork_count()

    # ------------------------------------------------------------------ asking

    @property
    def clock(self) -> int:
        """How many events were asked, of all streams."""
        return self._ended + sum([lease.before + lease.size - length_hint(lease.ids) for lease in self.leases.values()])

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

    def reserve(self, orders: Orders, begin: Begin, draw: Drawing, handed: int, ahead: int = 0) -> None:
        """Lease so many more slots of each of these streams; begin rounds where none are left."""
        self.check()
        for stream, count in orders().items():
            left = count
            while left > 0:
                left -= self._lease(stream, left, ahead, begin, draw)

    def _lease(self, stream: int, want: int, ahead: int, begin: Begin, draw: Drawing) -> int:
        """Lease slots of one round, `want` and `ahead` at most; return how many."""
        line = self._streams.get(stream)
        newest = line.open[-1] if line is not None and line.open else None
        if newest is None or self._leased(newest) == newest.round.size:
            newest = self._begin(stream, begin)
        one, start = newest.round, self._leased(newest)
        count = min(want + ahead, one.size - start)
        drawn = draw(one, start, count)
        last = start + count == one.size
        if last and count > want and drawn.wanted is not None and not drawn.wanted[-1]:
            count -= 1  # no round is complete before its last slot is handed out, which here takes no loss
            drawn = Draw(drawn.actions[:count], drawn.wanted[:count])
        slots = fresh_slots(drawn, count, self._width)
        wanted = int(np.count_nonzero(leading(slots) == PENDING))
        newest.view[start : start + count] = slots
        self.hold(stream, Lease(one, start, drawn, one.position + start))  # now they are leased
        newest.left += wanted
        return count

    def _begin(self, stream: int, begin: Begin) -> _Open:
        line = self._streams.get(stream) or _Stream()
        before = self._leased_of(stream)
        draft = begin(stream, line.next_number, before)
        one = Round(stream, line.next_number, self._next, draft.size, draft.public, before)
        opened = _Open(one, self._width)
        # Now it has begun.
        self._streams[stream], line.open, self._open, self._firsts, self._next = (
            line,
            [*line.open, opened],
            [*self._open, opened],
            [*self._firsts, one.first],
            one.first + one.size,
        )
        return opened

    def _leased_of(self, stream: int) -> int:
        """How many events of a stream were leased."""
        newest = self.newest(stream)
        return 0 if newest is None else newest.before + newest.size

    def _leased(self, opened: _Open) -> int:
        """How many slots of a round were leased."""
        return max(0, min(opened.round.size, self._leased_of(opened.stream) - opened.round.position))

    # ------------------------------------------------------------------ telling

    def record_one(self, one: int, integer: int) -> int | None:
        """Take one loss; return the stream that may have a complete round by it, -1 if none has, or None: not taken."""
        if self._fork_count != _fork.current:
            self.check()
        every, firsts = self._open, self._firsts  # as they are at one moment: a signal handler may close a round
        place = bisect_right(firsts, one) - 1
        if place < 0:
            return None
        opened = every[place]
        lease = self.leases.get(opened.stream)
        slots, slot = opened.slots, one - opened.first
        if lease is None or one >= lease.end - length_hint(lease.ids) or slot >= len(slots) or slots[slot] != PENDING:
            return None  # not handed out, or of a round that is closed, or told
        opened.left, slots[slot] = opened.left - 1, integer  # now it is in
        return opened.stream if opened.left <= 0 else -1

    def round_with(self, one: int) -> Round:
        """Return the round of an id that waits for its loss."""
        return self._open[bisect_right(self._firsts, one) - 1].round

    def record(self, ids: Integers, integers: Any) -> set[int] | None:
        """Take losses, all or none; return the streams that may have a complete round, or None: nothing was taken."""
        self.check()
        if not len(ids):
            return set()
        if not (ids[1:] > ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            ids, integers = ids[order], integers[order]
            if (ids[1:] == ids[:-1]).any():
                return None
        every, firsts = self._open, self._firsts
        numbers = np.searchsorted(firsts, ids, side="right") - 1
        if numbers[0] < 0:
            return None
        starts = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()]
        rounds, steps = [every[number] for number in numbers[starts].tolist()], list[Any]()
        for opened, start, stop in zip(rounds, starts, [*starts[1:], len(ids)], strict=True):
            mine, view = ids[start:stop] - opened.first, opened.view
            if mine[-1] >= self._asked(opened) or not (leading(view[mine]) == PENDING).all():
                return None
            steps.append((setitem, view, mine, integers[start:stop]))
        for opened, start, stop in zip(rounds, starts, [*starts[1:], len(ids)], strict=True):
            opened.left -= stop - start  # first: at zero they are counted, should this be cut short here
        deque(starmap(call, steps), maxlen=0)  # now all of it is in
        return {opened.stream for opened in rounds if opened.left <= 0}

    def forget(self, ids: Integers) -> tuple[int, set[int]]:
        """Close slots without their loss, those that wait for it; return how many, and streams as `record` does."""
        waiting = np.unique(ids)
        waiting = waiting[self.look(waiting) == WAITING]
        filled = self.record(waiting, np.full((len(waiting), *[self._width] * (self._width > 1)), MISSING))
        assert filled is not None
        return len(waiting), filled

    def full(self) -> Sequence[FullRound]:
        """Return open rounds that were handed out to their end: `left`, which may be too low, says nothing of them."""
        self.check()
        self._note_full()
        return [
            FullRound(one.stream, one.first, one.round.end, one.full_at)
            for one in self._open
            if one.full_at is not None
        ]

    def until_due(self, patience: int | None) -> int | None:
        """How many events may be asked before a round is to be closed without what it lacks; None: any number."""
        full = [one.full_at for one in self.full()]
        return min(full) + patience - self.clock if full and patience is not None else None

    def _note_full(self) -> None:
        """Note when rounds were handed out to their end: by the last call, if it is not noted yet."""
        drained = set(self.drained)
        lines = [line for stream in drained if (line := self._streams.get(stream)) and line.open]
        full = [
            one for line in lines for one in line.open if one.full_at is None and self._asked(one) == one.round.size
        ]
        now = self.clock if full else 0
        for opened in full:
            opened.full_at = now
        self.drained -= drained

    # ------------------------------------------------------------------ releasing

    def release(self, streams: set[int], compute: Compute) -> set[int]:
        """Release the oldest open round of each stream, if it is complete, once; erase its losses in the same step.

        Return those of which a round was released that other open ones follow.
        """
        self.check()
        return {one for one in sorted(streams) if self._release(one, compute)}

    def _release(self, stream: int, compute: Compute) -> int:
        """Release the oldest open round of a stream; return how many follow it, 0 if it was not complete."""
        line = self._streams.get(stream)
        oldest = line.open[0] if line is not None and line.open else None
        if line is None or oldest is None or oldest.left > 0 or self._leased(oldest) < oldest.round.size:
            return 0
        slots = oldest.view[: oldest.round.size].copy()
        marks = leading(slots)
        if (marks == PENDING).any() or line.open[:1] != [oldest]:  # or a signal handler has released it just now
            return 0
        missing, unwanted = np.flatnonzero(marks == MISSING), np.flatnonzero(marks == UNWANTED)
        numbers = compute(oldest.round, slots)
        slots[:] = UNUSED
        self._close(oldest, Release(oldest.round, numbers, missing, len(marks) - len(unwanted)), unwanted)
        return len(self._streams[stream].open)

    def _close(self, oldest: _Open, release: Release, unwanted: Integers) -> None:
        """Close the oldest round of a stream, and overwrite its losses; unless a signal handler has done it meanwhile.

        What is remembered of it is written first: what is said of an open round comes from its slots.
        """
        line, one = self._streams[oldest.stream], release.round
        closed = _Closed(one.first, one.size, _bits(release.missing), _bits(unwanted))
        at = bisect_right(self._closed, one.first, key=_first_id)
        known = at > 0 and self._closed[at - 1].first == one.first
        self._closed[at - known : at] = [closed]
        view, mine = oldest.view, [oldest]
        while line.open[:1] == mine:
            every, firsts = self._open, self._firsts
            at = bisect_right(firsts, one.first) - 1
            others = every[:at] + every[at + 1 :], firsts[:at] + firsts[at + 1 :]
            after = [*line.releases, release], line.open[1:], *others, UNUSED
            # Without a call, and on one line: what is looked at stays so until all of it is done.
            if every is self._open and line.open[:1] == mine: line.releases, line.open, self._open, self._firsts, view[:] = after  # noqa: E501, E701  # fmt: skip

    def closed(self) -> Mapping[int, int]:
        """How many rounds of each stream are closed."""
        return {stream: line.closed for stream, line in self._streams.items()}

    def believed(self, known: Mapping[int, int]) -> Mapping[int, tuple[int, Record]]:
        """Return nothing: nobody else learns."""
        return {}

    def believe(self, stream: int, version: int, record: Record) -> None:
        """Store nothing: the policy knows it."""

    def releases(self, stream: int, known: int) -> Sequence[Release]:
        """Return what was released of a stream, from round `known` on."""
        line = self._streams.get(stream)
        if line is None or not line.releases:
            return []
        return line.releases[max(0, known - line.releases[0].round.number) :]

    def let_go(self, stream: int) -> None:
        """Let go of what was released of a stream long ago, and learned from."""
        line = self._streams.get(stream)
        if line is not None and len(line.releases) > 2 * _KEPT:
            line.releases = line.releases[-_KEPT:]

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
        self.check()
        states: NDArray[np.int8] = np.full(len(ids), UNKNOWN, dtype=np.int8)
        every, firsts = self._open, self._firsts
        places = np.searchsorted(firsts, ids, side="right") - 1
        for place in np.unique(places[places >= 0]).tolist():
            opened = every[place]
            where = np.flatnonzero((places == place) & (ids < opened.first + self._asked(opened)))
            states[where] = states_of(leading(opened.view)[ids[where] - opened.first], UNKNOWN)
        for at in np.flatnonzero(states == UNKNOWN).tolist():
            states[at] = self._closed_state(int(ids[at]))
        return states

    def _closed_state(self, one: int) -> int:
        """Say what became of the slot of an id, if its round is closed."""
        at = bisect_right(self._closed, one, key=_first_id) - 1
        if at < 0 or one - self._closed[at].first >= self._closed[at].size:
            return UNKNOWN
        closed, slot = self._closed[at], one - self._closed[at].first
        return LATE if _bit(closed.missing, slot) else UNWANTED_LOSS if _bit(closed.unwanted, slot) else TOLD

    def open_rounds(self) -> Sequence[OpenRound]:
        """Return the rounds that are not released, in the order in which they began."""
        self.check()
        self._note_full()
        return [self._described(opened) for opened in self._open]

    def _described(self, opened: _Open) -> OpenRound:
        slots, waiting = leading(opened.view), len(self._waiting_of(opened))
        missing = int(np.count_nonzero(slots == MISSING))
        told = int(np.count_nonzero(slots > UNUSED))
        return OpenRound(opened.round, self._asked(opened), waiting, opened.full_at, None, told, missing)

    def _asked(self, opened: _Open) -> int:
        """How many slots of a round were handed out."""
        return min(opened.round.size, max(0, self.asked(opened.stream) - opened.round.position))

    def waiting(self, limit: int | None = None) -> Integers:
        """Return the ids that were handed out and wait for their loss, the oldest first."""
        self.check()
        return np.concatenate([_NONE, *map(self._waiting_of, self._open)])[:limit]

    def _waiting_of(self, opened: _Open) -> Integers:
        return opened.first + np.flatnonzero(leading(opened.view)[: self._asked(opened)] == PENDING)

    def close(self) -> int:
        """Give back nothing: nobody else would take it."""
        return 0

    # ------------------------------------------------------------------ streams of one round: evaluations

    def open_stream(self, begin: Begin) -> int:
        """Add a stream, and begin its round; return its number."""
        self.check()
        return self._begin(len(self._streams), begin).stream

    def round_of(self, stream: int) -> Round:
        """Return the newest round of a stream."""
        line = self._streams[stream]
        return line.open[-1].round if line.open else line.releases[-1].round

    def room(self) -> dict[int, int]:
        """Return how many slots can be handed out of the newest round of each stream; of open rounds only."""
        self.check()
        return {one.stream: one.round.size - self._asked(one) for one in self._open}

    def finish(self, stream: int) -> None:
        """End the newest round of a stream with the slots that were handed out; close those that wait for a loss."""
        self.check()
        newest = self._streams[stream].open[-1]
        waiting, ended = self._waiting_of(newest), newest.round._replace(size=self._asked(newest))
        view = newest.view
        newest.round, newest.left, view[ended.size :] = ended, len(waiting), UNUSED  # now nobody else gets a slot of it
        self.forget(waiting)

    def drop(self, stream: int) -> None:
        """Close the open round of a stream without a release; erase its losses."""
        self.check()
        oldest = self._streams[stream].open[0]
        asked = self._asked(oldest)
        ended = oldest.round._replace(size=asked)
        self._close(oldest, Release(ended, None, np.arange(asked), asked, dropped=True), _NONE)

    def retire(self, stream: int) -> None:
        """Let go of the lease of a stream whose round is closed; its events go on to count."""
        if not self._streams[stream].open:
            others = {one: held for one, held in self.leases.items() if one != stream}
            self.leases, self._tails, self._ended = others, {}, self._ended + self.asked(stream)

    # ------------------------------------------------------------------ copies

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._fork_count = _fork.fork_count()


def _first_id(one: _Closed) -> int:
    return one.first


def _bits(places: Integers) -> bytes:
    """Return which of some slots are meant."""
    return np.packbits(np.bincount(places).astype(bool)).tobytes()


def _bit(bits: bytes, place: int) -> bool:
    return place < 8 * len(bits) and bool(bits[place >> 3] >> 7 - (place & 7) & 1)
