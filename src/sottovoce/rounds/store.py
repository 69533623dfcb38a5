"""Where open rounds live: the one interface between a book and its memory or database.

A store hands out leases on slots, takes each loss once, releases each round once, and erases its losses with that.
Every call is all or nothing, and what it has answered holds. Stores see integers and public records: what they mean is
the business of the book's policy.

`tests/rounds/test_contract.py` is what every store has to pass.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import Record
from sottovoce.rounds.lease import Leases
from sottovoce.rounds.round import MISSING, PENDING, UNUSED, UNWANTED, Draft, Draw, Release, Round

WAITING, TOLD, LATE, UNWANTED_LOSS, UNKNOWN, BEHIND, EARLIER, UNASKED = range(8)
"""What `look` says of an id: it waits for its loss; it has it; it was closed without it; it has no use for one; it was
never handed out; it was handed out by a newer state of this store than the present one; it was handed out before this
store was restored; it was leased ahead, seen by others, and handed out to nobody."""

CONSEQUENCES = (
    "Losses that were not released are dropped, and ids handed out before are refused from now on; ask for new actions"
)
"""What a storage that went back means for those who use it."""


def states_of(marks: Integers, unused: int) -> NDArray[np.int8]:
    """Return what slots with such leading integers are; `unused` is what is said of those that nobody has."""
    states = np.full(len(marks), TOLD, dtype=np.int8)
    for mark, state in ((PENDING, WAITING), (MISSING, LATE), (UNWANTED, UNWANTED_LOSS), (UNUSED, unused)):
        states[marks == mark] = state
    return states


Begin = Callable[[int, int, int], Draft]
"""From a stream, the number of a round and the events asked so far to the round that is to begin."""

Orders = Callable[[], Mapping[int, int]]
"""Says how many slots of which streams: it is called while nobody else can lease, and may read and write `common`."""

Drawing = Callable[[Round, int, int], Draw]
"""From a round, a slot of it and a count to what these slots play: the same whenever, and wherever, it is called."""

Compute = Callable[[Round, Integers], NDArray[Any] | None]
"""From a round and its slots, marks and all, to what is released of it, noise included; None if nothing is."""


class OpenRound(NamedTuple):
    """A round that is not released.

    Attributes
    ----------
    round
        The round.
    asked
        How many of its slots were handed out.
    waiting
        How many of these wait for their loss.
    full_at, full_time
        How many events were asked, of all streams, and what time it was, when its last slot was handed out; None before
        that.
    told, missing
        How many slots have their loss, and how many were closed without it.
    """

    round: Round
    asked: int
    waiting: int
    full_at: int | None
    full_time: float | None = None
    told: int = 0
    missing: int = 0


class FullRound(NamedTuple):
    """An open round that was handed out to its end: its stream, its ids, and when that was, as `OpenRound` has it."""

    stream: int
    first: int
    end: int
    full_at: int
    full_time: float | None = None


class Store(Leases, Protocol):
    """Where a book is kept.

    Attributes
    ----------
    shared
        Whether other processes ask as well, and what is learned is to be stored for them.
    fresh
        Seconds for which leases are handed out without a poll; None if nobody else can have changed anything.
    incarnation
        What ids begin with; another, once the store was restored, and ids of before are refused.
    """

    shared: bool
    fresh: float | None
    incarnation: int

    def check(self) -> None:
        """Refuse a process that must not go on with it; finish what a call has left that was cut short."""

    @property
    def clock(self) -> int:
        """How many events were asked, of all streams."""

    def names(self) -> Sequence[str]:
        """Return the names of the streams that there are, in order."""

    def stream(self, name: str, check: Callable[[], None] | None = None) -> int:
        """Return the stream of a name, added if there is none; `check`, which may look at `names`, can refuse it."""

    def asked(self, stream: int) -> int:
        """How many events of a stream were asked."""

    def reserve(self, orders: Orders, begin: Begin, draw: Drawing, handed: int, ahead: int = 0) -> None:
        """Lease so many more slots of each of these streams; begin rounds where none are left. All of it or nothing.

        Of the last rounds of these, `ahead` more may be leased. The call hands out `handed` in all.
        """

    def ahead(self, size: int) -> int:
        """How many slots to lease beyond the `size` that are asked for."""

    def renew(self) -> None:
        """Let go of leases of which others have closed a slot meanwhile: of none, where nobody else can."""
        return

    # ------------------------------------------------------------------ patience

    def full(self) -> Sequence[FullRound]:
        """Return open rounds that were handed out to their end, if they may wait for losses."""

    def now(self) -> float:
        """The time, by the one clock of all who share the store."""
        return time.time()

    def until_due(self, patience: int | None) -> int | None:
        """How many events may be asked before a round is to be closed without what it lacks; None: any number."""

    def overdue(self, patience: Callable[[int], int | None], deadline: float | None = None) -> list[FullRound]:
        """Return full rounds that have waited for as many events as their size is patient for, or for a deadline."""
        clock, now = self.clock, 0.0 if deadline is None else self.now()
        return [
            one
            for one in self.full()
            if ((wait := patience(one.end - one.first)) is not None and one.full_at + wait <= clock)
            or (deadline is not None and one.full_time is not None and one.full_time <= now - deadline)
        ]

    def close_overdue(self, patience: int | None, deadline: float | None = None) -> set[int]:
        """Close what full rounds lack, `patience` events or `deadline` seconds after their last slot was handed out.

        Return streams as `record` does.
        """
        due = self.until_due(patience)
        if deadline is None and (due is None or due > 0):
            return set()
        ids = [np.arange(one.first, one.end) for one in self.overdue(lambda size: patience, deadline)]
        if not ids:
            return set()
        _, filled = self.forget(np.concatenate(ids))
        self.renew()
        return filled

    # ------------------------------------------------------------------ losses

    def record_one(self, one: int, integer: int) -> int | None:
        """Take one loss; return the stream that may have a complete round by it, -1 if none has, or None: not taken."""

    def record(self, ids: Integers, integers: Integers) -> set[int] | None:
        """Take losses, all or none; return the streams that may have a complete round, or None: nothing was taken."""

    def forget(self, ids: Integers) -> tuple[int, set[int]]:
        """Close slots without their loss, those that wait for it; return how many, and streams as `record` does."""

    def release(self, streams: set[int], compute: Compute) -> set[int]:
        """Release the oldest open round of each stream, if it is complete, once; erase its losses in the same step.

        Return those of which a round was released that other open ones follow.
        """

    def closed(self) -> Mapping[int, int]:
        """How many rounds of each stream are closed."""

    def believed(self, known: Mapping[int, int]) -> Mapping[int, tuple[int, Record]]:
        """Return what was stored by `believe`, with its version, of streams that it is newer of than what is known."""

    def believe(self, stream: int, version: int, record: Record) -> None:
        """Store what was learned, together with the round that is about to begin: called from `reserve` alone."""

    def releases(self, stream: int, known: int) -> Sequence[Release]:
        """Return what was released of a stream, from round `known` on; without numbers, where a round was dropped."""

    def let_go(self, stream: int) -> None:
        """Let go of what was released of a stream long ago, and learned from, where nobody else may want it."""

    def round_with(self, one: int) -> Round | None:
        """Return the round of an id that waits for its loss; None if it was released meanwhile."""

    def look(self, ids: Integers) -> NDArray[np.int8]:
        """Say of each id what became of its slot."""

    def open_rounds(self) -> Sequence[OpenRound]:
        """Return the rounds that are not released, in the order in which they began."""

    def waiting(self, limit: int | None) -> Integers:
        """Return the ids that were handed out and wait for their loss, the oldest first."""

    def close(self) -> int:
        """Give back what was leased and not handed out."""

    # ------------------------------------------------------------------ people

    @property
    def counts_people(self) -> bool:
        """Whether people are counted, or were until they were erased."""

    def people_key(self, most: int) -> bytes:
        """Return the key that people are hashed with; from the first call on, each has `most` losses and no more.

        Refused once events were asked of people who were not counted, and once people were erased.
        """

    def count(self, people: Sequence[bytes]) -> list[bool]:
        """Count a loss of each hashed person; say whose was none too many. Called from `reserve` alone, by `draw`."""

    def erase_people(self) -> int:
        """Erase who was counted, and the key, for good; return how many people there were."""

    # ------------------------------------------------------------------ streams of one round: evaluations

    common: Record
    """What is kept for all streams together: public, and written while nobody else can lease."""

    def open_stream(self, begin: Begin) -> int:
        """Add a stream, and begin its round; return its number: they are numbered from 0."""

    def round_of(self, stream: int) -> Round:
        """Return the newest round of a stream."""

    def room(self) -> dict[int, int]:
        """Return how many slots this process can hand out of the newest round of each stream; of open rounds only."""

    def finish(self, stream: int) -> None:
        """End the newest round of a stream with the slots that were handed out; close those that wait for a loss."""

    def drop(self, stream: int) -> None:
        """Close the open round of a stream without a release; erase its losses."""

    def retire(self, stream: int) -> None:
        """Let go of what only a stream with an open round needs."""
