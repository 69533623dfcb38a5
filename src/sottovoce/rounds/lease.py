"""Leases: slots of a round that one process may hand out, without asking anybody."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat, starmap
from operator import call, length_hint
from typing import Any, Protocol

from sottovoce.rounds.round import Draw, Round

NOTHING: Iterator[Any] = iter(())
"""Of actions: none are lined up."""

_new = tuple.__new__


class Lease:
    """Consecutive slots of one round, some of which are handed out.

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
    first, end
        The id of its first slot, and the id after its last.
    ids
        Those that are not handed out. To take one from it is to hand it out.
    actions
        The same as what asking one by one hands out, once that is lined up: to take one is one step, which no
        interrupt and no other thread divides.
    next
        The lease after this one, if there is one already.
    """

    __slots__ = ("_ready", "actions", "before", "draw", "end", "first", "ids", "next", "round", "size", "start")

    def __init__(self, round: Round, start: int, draw: Draw, before: int) -> None:
        self.round, self.start, self.draw, self.before = round, start, draw, before
        self.size = len(draw.actions)
        self.first = round.first + start
        self.end = self.first + self.size
        self.ids = iter(range(self.first, self.end))
        self.actions = NOTHING
        self._ready: tuple[Sequence[Any], type[tuple[Any, ...]]] | None = None
        self.next: Lease | None = None

    @property
    def left(self) -> int:
        """How many are not handed out."""
        return length_hint(self.ids)

    @property
    def at(self) -> int:
        """How many are handed out."""
        return self.size - length_hint(self.ids)

    @at.setter
    def at(self, at: int) -> None:
        self.actions, self.ids = NOTHING, self.ids_from(at)

    def ids_from(self, at: int) -> Any:
        """Return the ids that are left when so many are handed out."""
        return iter(range(self.first + at, self.end))

    def line_up(self, policy: Any, text: Callable[[int], str] | None = None) -> None:
        """Let slots be handed out one by one, as tuples of an id, what it plays, and whether its loss is wanted.

        Ids are made texts, if it is said how.

        These are made as they are taken: thousands at once would be gone through again and again by the garbage
        collector.
        """
        if self._ready is None:
            self._ready = policy.ready(self), policy.kind(self.round)
        (plays, kind), at = self._ready, self.at
        wants = repeat(True) if self.draw.wanted is None else iter(self.draw.wanted[at:].tolist())
        ids = self.ids if text is None else map(text, self.ids)
        self.actions = map(partial(_new, kind), zip(ids, islice(plays, at, None), wants, strict=False))

    def __getstate__(self) -> tuple[Any, ...]:
        return self.round, self.start, self.draw, self.before, self.at, self.next

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        *made, at, following = state
        self.__init__(*made)  # type: ignore[misc]
        self.at, self.next = at, following

    def __repr__(self) -> str:
        return f"Lease(stream={self.round.stream}, round={self.round.number}, size={self.size}, at={self.at})"


Piece = tuple[Lease, int, int]
"""Slots of a lease that one call hands out: from so many on, and before so many."""

_set_ids = Lease.__dict__["ids"].__set__


class Leases(Protocol):
    """The leases that a process holds: of each stream a chain, from the one that is handed out from to the newest.

    A part of every store.

    Attributes
    ----------
    leases
        Of each stream, the lease that is handed out from.
    drained
        Streams of which a lease was handed out to its end, and nobody has looked since whether that fills a round.
    """

    leases: dict[int, Lease]
    drained: set[int]
    _tails: dict[int, Lease]  # of each stream the newest, or one before it

    def __init__(self) -> None:
        self.leases, self.drained, self._tails = {}, set(), {}

    def held(self, stream: int) -> Iterator[Lease]:
        """Go through the leases of a stream that are not handed out to their end, or are the newest."""
        lease = self.leases.get(stream)
        while lease is not None:
            yield lease
            lease = lease.next

    def current(self, stream: int) -> Lease | None:
        """Return the lease that the next slot of a stream is of, if that is leased."""
        return next((lease for lease in self.held(stream) if lease.left), None)

    def newest(self, stream: int) -> Lease | None:
        """Return the newest lease of a stream: a block may lease thousands of rounds."""
        lease = self._tails.get(stream) or self.leases.get(stream)
        while lease is not None and lease.next is not None:
            lease = lease.next
        if lease is not None:
            self._tails[stream] = lease
        return lease

    def hold(self, stream: int, lease: Lease) -> None:
        """Add a lease, with those that follow it, to those of a stream: one assignment."""
        last = self.newest(stream)
        if last is None:
            self.leases[stream] = lease
        else:
            last.next = lease

    def rest(self, stream: int) -> int:
        """How many slots of a stream's newest round are not leased, as far as is known here."""
        last = self.newest(stream)
        return 0 if last is None else last.round.size - last.start - last.size

    def left(self, stream: int) -> int:
        """How many slots of a stream are leased, and not handed out."""
        return sum([lease.left for lease in self.held(stream)])

    def hand_out(self, pieces: Sequence[Piece]) -> None:
        """Hand out slots of several streams, of each in order: all of these pieces, or none."""
        self.drained.update([lease.round.stream for lease, _, end in pieces if end == lease.size])
        for lease, _, _ in pieces:
            lease.actions = NOTHING
        steps: list[Any] = [(_set_ids, lease, lease.ids_from(end)) for lease, _, end in pieces]
        steps.append((dict.update, self.leases, {lease.round.stream: lease for lease, _, _ in pieces}))
        deque(starmap(call, steps), maxlen=0)  # one call that runs no Python: no interrupt comes in between

    def give_up_leases(self, *streams: int) -> None:
        """Let go of the leases of some streams; of all, if none are named."""
        kept = {one: lease for one, lease in self.leases.items() if streams and one not in streams}
        self.leases, self._tails = kept, {}
