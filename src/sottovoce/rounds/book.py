"""The book: ask, tell, forget, patience, releases. One promise, kept here for everybody who makes it.

*Hand out slots, take each loss once, release each round once under one noise, erase its losses.* Optimizers, studies,
evaluations and baselines are books: what differs is the store, where open rounds live, and the policy, which says what
a round plays and what becomes of its slots. The book knows neither losses nor decisions.

How far an exception at any line can reach is said in stores/memory.py and stores/sql/store.py; what is here changes
nothing that they do not keep. Locks are taken and released on one line with what they guard: so there is no moment in
between.

Tests: tests/rounds.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, wraps
from itertools import islice
from operator import length_hint
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Integers
from sottovoce._losses import as_floats
from sottovoce._records import Record
from sottovoce._threads import single_threaded
from sottovoce.errors import (
    UNRECORDED,
    AlreadyTold,
    HorizonReached,
    InvalidLoss,
    RoundClosed,
    StorageError,
    StudyBehind,
    StudyDamaged,
    UnknownAction,
)
from sottovoce.rounds.lease import NOTHING, Lease, Piece
from sottovoce.rounds.people import Askers, hashed, missing_person, people_of
from sottovoce.rounds.round import Draft, Draw, Release, Round, TextIds
from sottovoce.rounds.store import BEHIND, CONSEQUENCES, EARLIER, LATE, TOLD, UNASKED, UNKNOWN, WAITING, Store

_FAR = 2**62
_ATTEMPTS = 100  # at a block that others tell at the same time
Streams = TypeVar("Streams", int, Integers | int)
Given = ParamSpec("Given")
Found = TypeVar("Found")


def locked(method: Callable[Given, Found]) -> Callable[Given, Found]:
    """Let a method of a book hold its lock."""

    @wraps(method)
    def call(*given: Given.args, **named: Given.kwargs) -> Found:
        book: Any = given[0]
        with book._lock: return method(*given, **named)  # noqa: E701  # fmt: skip

    return call


def computing(method: Callable[Given, Found]) -> Callable[Given, Found]:
    """Let a method of a book hold its lock while linear algebra has one thread: it may learn from what was released."""

    @wraps(method)
    def call(*given: Given.args, **named: Given.kwargs) -> Found:
        book: Any = given[0]
        with book._lock, single_threaded(): return method(*given, **named)  # noqa: E701  # fmt: skip

    return call


class Grid(Protocol):
    """Where the integers of losses live."""

    def quantise(self, losses: Any) -> Integers:
        """Return the integers of losses, clipped; refuse those that are not finite, without showing them."""

    def quantiser(self) -> Callable[[Any], int]:
        """Return a function from one loss to its integer."""


class Policy(Protocol):
    """What a book is kept for. It sees released values and public coins, and slots only to release them."""

    @property
    def grid(self) -> Grid:
        """Where the integers of losses live."""

    def join(self, stream: int, name: str) -> Any:
        """Begin a stream of that name."""

    def start_over(self) -> None:
        """Forget all streams, and what was learned from them: the store was restored, and may never have had them."""

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round of a stream, which begins after so many of its events."""

    def draw(self, round: Round, start: int, count: int) -> Draw:
        """Return what slots of a round play: the same whenever it is called."""

    def compute(self, round: Round, slots: Integers) -> NDArray[Any] | None:
        """Return what is released of a complete round: its sums, with noise."""

    def learn(self, release: Release) -> None:
        """Take in what was released: each round of a stream once, in order. What is cut short is done again."""

    def to_record(self, stream: int) -> Record:
        """Return what the next round of a stream follows from, with `begun` and `learned`, its rounds so far."""

    def adopt(self, stream: int, record: Record) -> None:
        """Go on from what `to_record` returned, in whatever process."""

    def kind(self, round: Round) -> type[tuple[Any, ...]]:
        """What asking one by one hands out: a tuple of an id, what it plays, and whether its loss is wanted."""

    def ready(self, lease: Lease) -> Sequence[Any]:
        """Return what each slot of a lease plays, quick to look up one at a time."""


class HandedOut(NamedTuple):
    """What a call of ask hands out: an id, an action and whether its loss is wanted, for each event."""

    ids: Integers
    actions: list[Any]
    wanted: NDArray[np.bool_]
    order: Integers | None
    rounds: list[Round]


class Recorded(NamedTuple):
    """What came of a call of tell.

    Attributes
    ----------
    recorded
        Losses that are on record by this call.
    already
        Losses that were on record before: a call that was repeated.
    dropped
        Losses that came too late, or were not wanted; they were not read.
    """

    recorded: int
    already: int
    dropped: int


_ONE = Recorded(1, 0, 0)


class Book:
    """Ask and tell over rounds in a store.

    Parameters
    ----------
    store
        Where open rounds live.
    policy
        What rounds play, and what becomes of their slots.
    horizon
        How many events there will be; None if unknown.
    """

    patience: int | None = None
    """How many later events, of all streams, are asked before a full round is closed without what it lacks."""

    deadline: float | None = None
    """The same in seconds."""

    _releases = True  # or it only looks

    _alone = False  # whether there is one stream, and nobody else who asks: then actions come straight from a lease

    _texts: TextIds | None = None  # ids as callers have them, where they are no plain numbers

    _counted = False  # whether calls have to say for whom they ask, as far as is known here
    _person_key: bytes | None = None  # that people are hashed with, where they are counted
    _most_losses = 1  # that a person gives, where they are counted

    def __init__(self, store: Store, policy: Policy, *, horizon: int | None = None) -> None:
        self._store, self._policy, self.horizon = store, policy, horizon
        self._record_one, self._quantise = store.record_one, policy.grid.quantiser()
        self._known: dict[int, int] = {}  # rounds of each stream that the policy has learned from
        self._incarnation = store.incarnation
        self._names: list[str] = []  # of the streams that the policy knows
        self._seen: dict[int, int] = {}  # of streams that others learn for as well: how new is what is known here
        self._stored: dict[int, int] = {}  # the same of those that begin rounds, as it will be once that is committed
        self._news: set[int] = set()  # streams that were learned for, and not stored yet
        self._undone = False  # whether the policy may have begun a round that was undone: what is stored tells
        self._current = False  # whether a call that leases has learned what was released
        self._lock = threading.RLock()
        _fork.tell(self)
        self._left = 0  # events that may be asked one by one before somebody has to poll
        self._until: float | None = None  # when somebody has to, however few were asked
        # Where it is `_alone`, these but for the first, and for the last of a lease. Whoever has the lock takes it away
        # before handing out otherwise, for others take from it without the lock.
        self._at_hand = NOTHING

    # ------------------------------------------------------------------ asking

    def _ask_one(self, stream: int) -> Any:
        """Return the next action of a `stream`."""
        lease = self._store.leases.get(stream)
        if (
            lease is None
            or self._left <= 0
            or lease.actions is NOTHING
            or not length_hint(lease.ids)
            or (self._until is not None and time.monotonic() > self._until)
        ):
            lease = self._poll(stream)
        self._left -= 1
        if length_hint(lease.ids) == 1:  # at its end a round may be full
            self._poll_next()
            self._store.drained.add(stream)
        return next(lease.actions)  # now it is handed out

    def _poll_next(self) -> None:
        """Let the next call that asks one by one poll first."""
        self._left, self._at_hand = 0, NOTHING

    def _ask_block(self, size: int, streams: Integers | int, people: Sequence[bytes] | None = None) -> HandedOut:
        """Return the next actions.

        Events of one call do not count against the rounds that it asks to their end. Where people are counted, each
        event is for one of the hashed `people`.
        """
        self._poll_next()  # rounds may be full after it
        streams = self._checked(streams)
        self._refuse_unnamed(people)
        self._check_remaining(size)
        self._close_overdue()
        if isinstance(streams, int):
            counts, order = {streams: size}, None
        else:
            numbers = np.bincount(streams)
            # Few numbers in few bytes are sorted several times as quickly.
            order = np.argsort(streams.astype(np.uint16) if len(numbers) < 2**16 else streams, kind="stable")
            found = np.flatnonzero(numbers)
            counts = dict(zip(found.tolist(), numbers[found].tolist(), strict=True))
        askers = None if people is None else self._askers(counts, order, people)
        held = zip(counts.items(), map(self._store.leases.get, counts), strict=True)
        ending = [(one, count) for (one, count), lease in held if lease is None or length_hint(lease.ids) < count]
        short = {one: lacking for one, count in ending if (lacking := count - self._store.left(one)) > 0}
        if short and not self._lease(short, size, self._store.ahead(size), askers):
            return self._ask_block(size, streams, people)
        handed, pieces = self._next(counts, order)
        self._store.hand_out(pieces)
        return handed

    def _hashed(self, people: Sequence[str] | None) -> list[bytes] | None:
        """Return all that is kept of people; from the first of them on, they are counted."""
        if people is None:
            return None
        if not self._counted or self._person_key is None:
            self._person_key = self._store.people_key(self._most_losses)
            self._counted = True
        return [hashed(self._person_key, one) for one in people]

    @locked
    def erase_people(self) -> int:
        """Erase all that is kept of people who were counted, and the key that they were hashed with; return how many.

        For the end: nobody is asked any more after it. Losses of those who were asked before can still be told.
        """
        self._person_key, erased = None, self._store.erase_people()
        return erased

    @locked
    def keyed_hash(self, person: str | Sequence[str]) -> str:
        """Return a text that is the same for the same people, and says nothing of them without the key.

        For whoever has to remember that a call was made, and not for whom. From here on people are counted.

        Parameters
        ----------
        person
            Who it is, or a list of them.
        """
        found = self._hashed([person] if isinstance(person, str) else people_of(person))
        return hashlib.sha256(b"".join(found or ())).hexdigest()

    def _refuse_unnamed(self, people: Any) -> None:
        """Refuse a call that does not say for whom it asks, where people are counted."""
        if people is None and self._counted:
            raise missing_person()

    def _askers(self, counts: dict[int, int], order: Integers | None, people: Sequence[bytes]) -> Askers:
        """Say whom slots of each stream are leased for; those that are leased for others are closed first.

        A call that was cut short leaves such slots: they are handed out to the same people only.
        """
        sorted_people = people if order is None else [people[at] for at in order.tolist()]
        whom, at = {}, 0
        for stream, count in counts.items():
            mine, at = list(sorted_people[at : at + count]), at + count
            held = [one for lease in self._store.held(stream) for one in (lease.draw.people or ())[lease.at :]]
            if len(held) != self._store.left(stream) or held != mine[: len(held)]:
                self._close_leases(stream)
                held = []
            whom[stream] = mine[len(held) :]
        return Askers(whom, self._policy.draw, self._store.count)

    def _close_leases(self, stream: int) -> None:
        """Close slots that are leased for people who never got them."""
        pieces = [(lease, lease.at, lease.size) for lease in self._store.held(stream) if lease.left]
        if pieces:
            self._store.hand_out(pieces)
            ids = [np.arange(lease.first + start, lease.first + stop) for lease, start, stop in pieces]
            self._release(self._store.forget(np.concatenate(ids))[1])

    def _checked(self, streams: Streams) -> Streams:
        """Look at the store; return the numbers that streams have now: once it was restored, they may be others."""
        self._store.check()
        if self._incarnation == self._store.incarnation:
            return streams
        names = self._names
        self._refresh()
        numbers = np.arange(1 + np.max(streams))
        for one in np.intersect1d(streams, np.arange(len(names))).tolist():
            numbers[one] = self._stream_named(names[one])
        return numbers[streams] if isinstance(streams, np.ndarray) else int(numbers[streams])

    def _stream_named(self, name: str) -> int:
        """Return the stream of a name, added if there is none."""
        stream = self._store.stream(name, partial(self._admit, name))
        self._refresh()
        return stream

    def _admit(self, name: str) -> None:
        """Refuse a stream that is about to be added."""

    def _next(self, counts: dict[int, int], order: Integers | None = None) -> tuple[HandedOut, list[Piece]]:
        """Return the next slots of streams, which are leased; and the pieces of leases that they are."""
        pieces = list[Piece]()
        for (stream, count), lease in zip(counts.items(), map(self._store.leases.get, counts), strict=True):
            if lease is None or (left := length_hint(lease.ids)) < count:
                self._gather(stream, count, pieces)
            else:
                pieces.append((lease, lease.size - left, lease.size - left + count))
        return _handed_out(pieces, order), pieces

    def _lease(self, orders: dict[int, int], handed: int, ahead: int = 0, askers: Askers | None = None) -> bool:
        """Lease more slots of streams; False if all that is leased had to be given back first: then look again.

        What is leased and not handed out, of whichever stream, counts against the horizon in the store. What is leased
        for `askers` is theirs: nothing is leased ahead.
        """
        try:
            with single_threaded():  # rounds are begun and learned from: matrices of a few dozen rows
                self._lease_more(orders, handed, ahead if askers is None else 0, askers)
        except HorizonReached:
            if not self._store.close():
                raise
            return False
        return True

    def _lease_more(self, orders: dict[int, int], handed: int, ahead: int, askers: Askers | None) -> None:
        """Lease to the ends of rounds first, which may be complete then."""
        ends = {stream: rest for stream, count in orders.items() if 0 < (rest := self._store.rest(stream)) < count}
        if ends:
            self._reserve(ends, 0, handed, askers)
            orders = {stream: count - ends.get(stream, 0) for stream, count in orders.items()}
        self._release({stream for stream, count in orders.items() if self._store.rest(stream) < count})
        self._reserve(orders, ahead, handed, askers)

    def _reserve(self, orders: dict[int, int], ahead: int, handed: int, askers: Askers | None) -> None:
        """Reserve slots; what was begun by an attempt that was undone is forgotten, and read again, before the next."""

        def attempt() -> dict[int, int]:
            self._forget_begun()
            if self._incarnation != self._store.incarnation:  # streams may have other numbers now
                raise StudyBehind(f"the storage was restored as this call began. {CONSEQUENCES}")
            if askers is not None:
                askers.go_back()
            return orders

        self._current = False
        draw = self._policy.draw if askers is None else askers.draw
        try:
            self._store.reserve(attempt, self._begin, draw, handed, ahead)
        except BaseException:
            self._undone = self._store.shared
            self._forget_begun()
            raise
        if askers is not None:
            askers.keep()
        self._seen |= self._stored
        self._news -= self._stored.keys()
        self._stored = {}

    def _forget_begun(self) -> None:
        self._seen = {stream: known for stream, known in self._seen.items() if stream not in self._stored}
        self._current, self._stored = False, {}

    def _gather(self, stream: int, count: int, pieces: list[Piece]) -> None:
        """Find the next slots of a stream, which several leases have."""
        for lease in self._store.held(stream):
            taken = min(count, lease.left)
            if taken:
                pieces.append((lease, lease.at, lease.at + taken))
                count -= taken

    def _begin(self, stream: int, number: int, position: int) -> Draft:
        """Begin a round, with all that was released by now; where others ask as well, store what it follows from."""
        if not self._current:  # once for all rounds that a call begins: nothing is released meanwhile
            self._catch_up()
            self._current = True
        self._stored[stream] = self._seen.get(stream, -1)  # first: from here on the policy may be ahead of the store
        draft = self._policy.begin(stream, number, position)
        if self._store.shared:
            for one in {stream, *(self._news - self._stored.keys())}:
                record = self._policy.to_record(one)
                self._stored[one] = record["begun"] + record["learned"]
                self._store.believe(one, self._stored[one], record)
        return draft

    def _rest_of_round(self, stream: int, most: int | None = None, person: bytes | None = None) -> int:
        """Return how many actions are left of the round of a `stream`, `most` at most; of the next one, if none are.

        The next one is begun by leasing its first slot: for a hashed `person`, where people are counted.
        """
        self._refuse_unnamed(person)
        left = self._left_of_begun(stream)
        if not left:
            askers = None if person is None else Askers({stream: [person]}, self._policy.draw, self._store.count)
            self._lease({stream: 1}, 1, 0, askers)
            return self._rest_of_round(stream, most, person)
        return left if most is None else min(left, most)

    def _left_of_begun(self, stream: int) -> int:
        """Return how many actions are left of the round of a `stream`: 0, if the next one must be begun to know."""
        lease = self._store.current(stream) or self._store.newest(stream)
        return 0 if lease is None else lease.round.size - lease.start - lease.at

    def _poll(self, stream: int) -> Lease:
        """See to what asking one by one does not look at every time: rounds that are overdue, the next lease."""
        stream = self._checked(stream)
        self._refuse_unnamed(None)
        remaining, patience = self._check_remaining(1), self.patience
        self._store.drained.add(stream)
        self._release(self._store.close_overdue(patience, self.deadline))
        if self._store.current(stream) is None and not self._lease({stream: 1}, 1, self._store.ahead(1)):
            return self._poll(stream)
        lease = self._store.current(stream)
        assert lease is not None
        if lease.actions is NOTHING:
            lease.line_up(self._policy, None if self._texts is None else self._texts.text)
        self._store.leases[stream] = lease
        due = self._store.until_due(patience)
        self._left = max(1, min(one for one in (due, remaining, _FAR) if one is not None))
        self._until = None if self._store.fresh is None else time.monotonic() + self._store.fresh
        if self._alone:
            self._at_hand = islice(lease.actions, max(0, min(self._left, lease.left - 1) - 1))
            self._left = 0
        return lease

    def _check_remaining(self, size: int) -> int | None:
        """Refuse to ask for a `size` beyond the horizon; return what is left of it."""
        remaining = self.remaining
        if remaining is not None and size > remaining:
            raise HorizonReached(
                f"size={size} actions were asked for, and {remaining} of horizon={self.horizon} are left; "
                "plan with a longer horizon, or with horizon=None if it is unknown"
            )
        return remaining

    @property
    def asked(self) -> int:
        """Events that were asked."""
        return self._store.clock

    @property
    def remaining(self) -> int | None:
        """Events that are left to ask; None if the horizon is unknown."""
        return None if self.horizon is None else self.horizon - self.asked

    # ------------------------------------------------------------------ telling

    @locked
    def _tell_one(self, one: int, loss: Any, late: str = "error", repeat: str = "error") -> Recorded:
        """Take the `loss` of `one` action; `late` and `repeat` are as for `tell`."""
        try:
            stream = self._record_one(one, self._quantise(loss))
        except InvalidLoss:
            states = self._acceptable(_alone(one), late, repeat)
            if (states == WAITING).any():
                raise
            return recorded_of(states)  # dropped unread
        if stream is None:
            return self._tell_block(_alone(one), as_floats([loss]), late, repeat)
        if stream >= 0:
            self._release({stream})
        return _ONE

    @locked
    def _tell_block(self, ids: Integers, losses: NDArray[Any], late: str = "error", repeat: str = "error") -> Recorded:
        """Take the `losses` of `ids`, in any order: all of them or none; `late` and `repeat` are as for `tell`."""
        told = Recorded(len(ids), 0, 0)
        try:
            filled = self._store.record(ids, self._policy.grid.quantise(as_floats(losses)))
        except InvalidLoss:
            filled = None
        for _ in range(_ATTEMPTS):  # again, if somebody else tells one of them meanwhile
            if filled is not None:
                self._release(filled)
                return told
            states = self._acceptable(ids, late, repeat)
            kept, told = states == WAITING, recorded_of(states)
            filled = self._store.record(ids[kept], self._policy.grid.quantise(as_floats(losses[kept])))
        raise StudyDamaged("losses are waited for, and not taken: restore a backup, with restored=True")

    def _acceptable(self, ids: Integers, late: str, repeat: str) -> NDArray[np.int8]:
        """Return what became of each slot: losses of those that wait are taken, others dropped; or refuse all."""
        states = self._store.look(ids)
        for state, refused in (
            (UNKNOWN, True),
            (UNASKED, True),
            (BEHIND, True),
            (EARLIER, True),
            (LATE, late == "error"),
            (TOLD, repeat == "error"),
        ):
            if refused and (states == state).any():
                raise self._refusal(state, int(ids[states == state][0]))
        waiting = np.flatnonzero(states == WAITING)
        _, first = np.unique(ids[waiting], return_index=True)
        if len(first) < len(waiting) and repeat == "error":
            raise AlreadyTold("an id stands twice in one call", UNRECORDED)
        states[np.delete(waiting, first)] = TOLD  # by the first of them
        return states

    def _refusal(self, state: int, one: int) -> Exception:
        shown = self._id_text(one)
        if state == TOLD:
            return AlreadyTold(f"id {shown} has its loss already", UNRECORDED)
        if state == LATE:
            return RoundClosed(
                f"id {shown} was closed without its loss, which now comes too late",
                f"{UNRECORDED}. It was forgotten, or its round ran out of patience; late='drop' drops such losses",
            )
        if state == BEHIND:
            return StudyBehind(
                f"id {shown} was handed out by a newer state of the storage than the present one. {CONSEQUENCES}"
            )
        if state == EARLIER:
            return UnknownAction(f"id {shown} was handed out before the storage was restored", UNRECORDED)
        if state == UNASKED:
            return UnknownAction(f"id {shown} was leased ahead, or given back: nobody has it", UNRECORDED)
        return UnknownAction(f"id {shown} was never handed out", UNRECORDED)

    def _id_text(self, one: int) -> Any:
        """Return an id as callers have it, in words."""
        return one if self._texts is None else repr(self._texts.text(one))

    def _shown(self, ids: Integers) -> NDArray[Any]:
        """Return ids as callers have them."""
        return ids if self._texts is None else np.array(self._texts.texts(ids))

    @locked
    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come; return how many were waited for."""
        states = self._store.look(ids)
        for state in (UNKNOWN, BEHIND, EARLIER):
            if (states == state).any():
                raise self._refusal(state, int(ids[states == state][0]))
        count, filled = self._store.forget(ids[states != UNASKED])
        self._release(filled)
        return count

    # ------------------------------------------------------------------ releasing

    def _close_overdue(self) -> None:
        """Close rounds that have been full for longer than patience, or a deadline, lasts."""
        self._release(self._store.close_overdue(self.patience, self.deadline))

    def _release(self, streams: set[int]) -> None:
        """Release complete rounds after a call: it is on record, and has not failed if this does; it is tried again."""
        with suppress(StorageError):
            self._release_complete(streams)

    def _release_complete(self, streams: set[int]) -> None:
        """Release complete rounds, in order; when a round closes never depends on the value of a loss."""
        if self._incarnation != self._store.incarnation:
            self._refresh()  # what is known of rounds is of another life
        while streams and self._releases:
            streams = self._store.release(streams, self._policy.compute)

    def _refresh(self) -> None:
        """Take over what other processes have begun and learned; all of it, once the store was restored."""
        names = self._store.names()
        if self._incarnation != self._store.incarnation or names[: len(self._names)] != self._names:
            self._policy.start_over()
            self._counted = False  # or whoever asks finds that it is
            self._names, self._known, self._seen, self._stored, self._news = [], {}, {}, {}, set()
            self._incarnation = self._store.incarnation
        for name in names[len(self._names) :]:
            self._policy.join(len(self._names), name)
            self._names.append(name)
        for stream, (version, record) in self._store.believed({**self._seen, **self._stored}).items():
            self._policy.adopt(stream, record)
            self._known[stream], self._seen[stream] = record["learned"], version
        self._undone = False

    def _catch_up(self) -> set[int]:
        """Let the policy learn what was released since it last did, each round once; return the streams of these."""
        self._refresh()
        learned, known = set[int](), self._known
        for stream in [one for one, closed in self._store.closed().items() if closed > known.get(one, 0)]:
            self._news.add(stream)
            learned.add(stream)
            for release in self._store.releases(stream, self._known.get(stream, 0)):
                self._policy.learn(release)
                self._known[stream] = release.round.number + 1  # of the present store: learning may look around
        return learned

    # ------------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, Any]:
        dropped = ("_lock", "_record_one", "_quantise", "_at_hand")
        return {name: value for name, value in vars(self).items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._record_one, self._quantise = self._store.record_one, self._policy.grid.quantiser()
        self._in_child()
        _fork.tell(self)

    def _in_child(self) -> None:
        """Take a new lock in a forked child: whoever holds the old one is not there."""
        self._lock = threading.RLock()
        self._poll_next()


def recorded_of(states: NDArray[np.int8]) -> Recorded:
    """Return what comes of telling losses of slots in these `states`, if those that wait for theirs get it."""
    recorded, already = (int(np.count_nonzero(states == state)) for state in (WAITING, TOLD))
    return Recorded(recorded, already, len(states) - recorded - already)


def _alone(one: int) -> Integers:
    try:
        return np.array([one], dtype=np.int64)
    except OverflowError:
        raise UnknownAction(f"id {one} was never handed out; {UNRECORDED}") from None


def _handed_out(pieces: list[Piece], order: Integers | None) -> HandedOut:
    actions = [lease.draw.actions[start:stop] for lease, start, stop in pieces]
    held, starts, stops = zip(*pieces, strict=True)
    firsts, counts = np.add([lease.first for lease in held], starts), np.subtract(stops, starts)
    ends = np.cumsum(counts)
    ids = np.arange(ends[-1]) + np.repeat(firsts - ends + counts, counts)
    wanted, rounds = [lease.draw.wanted for lease in held], [lease.round for lease in held]
    if all([one is None for one in wanted]):  # noqa: C419  # a list is quicker
        return HandedOut(ids, actions, np.ones(len(ids), dtype=bool), order, rounds)
    whole = [
        np.ones(stop - start, dtype=bool) if one is None else one[start:stop]
        for one, start, stop in zip(wanted, starts, stops, strict=True)
    ]
    return HandedOut(ids, actions, np.concatenate(whole), order, rounds)
