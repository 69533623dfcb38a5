"""Leases: slots of a round that one process may hand out, without asking anybody."""

from collections.abc import Iterator, Sequence
from typing import Any

from sottovoce.rounds.round import Draw, Round


class Lease:
    """Consecutive slots of one round; those before `at` are handed out.

    Parameters
    ----------
    round
        Whose slots they are.
    start
        The first of them, counted from the round's first.
    draw
        What they play.
    before
        How many events of the stream were leased before.

    Attributes
    ----------
    at
        How many are handed out. To raise it is to hand them out: one assignment.
    ready, wants, kind
        What each plays and whether its loss is wanted (None: always), quick to look up one at a time; and what is
        handed out one by one.
    stop
        How many may be handed out one by one: none, until that is made ready.
    next
        The lease after this one, if there is one already.
    """

    __slots__ = ("at", "before", "draw", "first", "kind", "next", "ready", "round", "size", "start", "stop", "wants")

    def __init__(self, round: Round, start: int, draw: Draw, before: int) -> None:
        self.round, self.start, self.draw, self.before = round, start, draw, before
        self.first = round.first + start  # the id of its first slot
        self.size = len(draw.actions)
        self.at = self.stop = 0
        self.ready: Sequence[Any] = ()
        self.wants: list[bool] | None = None
        self.kind: type[tuple[Any, ...]] = tuple
        self.next: Lease | None = None

    @property
    def left(self) -> int:
        """How many are not handed out."""
        return self.size - self.at

    def make_ready(self, plays: Sequence[Any], kind: type[tuple[Any, ...]]) -> None:
        """Let slots be handed out one by one, as a kind of tuple, now that what each of them plays is at hand."""
        self.ready, self.kind = plays, kind
        self.wants = None if self.draw.wanted is None else self.draw.wanted.tolist()
        self.stop = self.size

    def moved_to(self, at: int) -> "Lease":
        """Return the same lease with so many handed out, to be put in its place."""
        moved = Lease(self.round, self.start, self.draw, self.before)
        moved.at, moved.next = at, self.next
        return moved

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name not in ("kind", "ready", "wants", "stop")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.ready, self.wants, self.stop, self.kind = (), None, 0, tuple

    def __repr__(self) -> str:
        return f"Lease(stream={self.round.stream}, round={self.round.number}, size={self.size}, at={self.at})"


Piece = tuple[Lease, int, int]
"""Slots of a lease that one call hands out: from so many on, and before so many."""


class Leases:
    """The leases that a process holds: of each stream a chain, from the one that is handed out from to the newest.

    Attributes
    ----------
    leases
        Of each stream, the lease that is handed out from.
    drained
        Streams of which a lease was handed out to its end, and nobody has looked since whether that fills a round.
    """

    def __init__(self) -> None:
        self.leases: dict[int, Lease] = {}
        self.drained = set[int]()
        self._waiting: dict[int, Lease] = {}  # of streams that nothing was handed out of, the first one

    def after(self, stream: int, lease: Lease | None) -> Lease | None:
        """Return the lease of a stream that follows another one, or is its first."""
        return self._waiting.get(stream) if lease is None else lease.next

    def held(self, stream: int) -> Iterator[Lease]:
        """Go through the leases of a stream that are not handed out to their end, or are the newest."""
        lease = self.leases.get(stream) or self._waiting.get(stream)
        while lease is not None:
            yield lease
            lease = lease.next

    def newest(self, stream: int) -> Lease | None:
        """Return the newest lease of a stream."""
        last = None
        for last in self.held(stream):  # noqa: B007
            pass
        return last

    def hold(self, stream: int, lease: Lease) -> None:
        """Add a lease, with those that follow it, to those of a stream: one assignment."""
        last = self.newest(stream)
        if last is None:
            self._waiting[stream] = lease
        else:
            last.next = lease
        self._let_go()

    def rest(self, stream: int) -> int:
        """How many slots of a stream's newest round are not leased, as far as is known here."""
        last = self.newest(stream)
        return 0 if last is None else last.round.size - last.start - last.size

    def left(self, stream: int) -> int:
        """How many slots of a stream are leased, and not handed out."""
        lease, left = self.leases.get(stream) or self._waiting.get(stream), 0
        while lease is not None:
            left += lease.size - lease.at
            lease = lease.next
        return left

    def hand_out(self, pieces: Sequence[Piece]) -> None:
        """Hand out slots of several streams, of each in order: all of these pieces, or none."""
        self.leases = self.leases | {lease.round.stream: lease.moved_to(end) for lease, _, end in pieces}
        self._let_go()

    def _let_go(self) -> None:
        """Let go of leases that were handed out to their end: the first one holds all that follow."""
        for stream in self._waiting.keys() & self.leases.keys():
            del self._waiting[stream]
