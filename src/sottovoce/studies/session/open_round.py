"""Rounds that are open, or not reserved to their end; their stretches of actions; and what a process has in hand."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce.exploration import Decisions, Draw, Record
from sottovoce.learning.bandit.rounds import OpenRound

__all__ = ["TERMS", "DrawnBlock", "Hand", "StudyRound", "Taken"]

TERMS = ("horizon", "segments", "least")
"""What holds for a segment among others when a round begins: of `Settings`, and among what is stored of the round."""


@dataclass(slots=True, eq=False)
class StudyRound:
    """A round with its place in the study."""

    number: int
    epoch: int
    first: int
    open: OpenRound
    full_at: float | None = None
    full_after: int | None = None  # events that were asked by then
    closed: bool = False
    learned: int | None = None  # rounds that its epoch had learned from when it began; studies of old do not say
    whole: bool = False  # no action of it that wants a loss is still to be reserved
    terms: Record = field(default_factory=dict)  # what it rests on beyond what its epoch has learned
    _quantiser: Callable[[float], int] | None = None

    @property
    def end(self) -> int:
        """The event after the last one."""
        return self.first + self.open.size

    def quantise(self, losses: Floats) -> Integers:
        """Return the integers of losses."""
        return np.asarray(self.open.epoch.grid.quantise(losses), dtype=np.int64)

    def quantise_one(self, loss: float) -> int:
        """Return the integer of one loss."""
        if self._quantiser is None:
            self._quantiser = self.open.epoch.grid.quantiser()
        return self._quantiser(loss)


@dataclass(slots=True, eq=False)
class DrawnBlock:
    """Consecutive events of a round that were drawn together."""

    round: StudyRound
    first: int
    draw: Draw
    asked: int = 0  # events that were reserved
    _menu: Floats | None = None

    def row(self, event: int) -> Floats:
        """Return what one event plays, written out; events that play the same share it."""
        actions = self.draw.actions
        if not isinstance(actions, Decisions):
            return np.asarray(actions[event])
        if self._menu is None:
            self._menu = actions.menu.written()
            self._menu.setflags(write=False)
        return np.asarray(self._menu[actions.index[event]])

    @property
    def size(self) -> int:
        """Its events."""
        return len(self.draw.actions)

    @property
    def wants_loss(self) -> NDArray[np.bool_]:
        """Which events take a loss."""
        wants = self.draw.wants_loss
        return np.ones(self.size, dtype=bool) if wants is None else wants


class Taken(NamedTuple):
    """A cell that this process has reserved: events `start` to before `stop` of a block."""

    block: DrawnBlock
    start: int
    stop: int

    @property
    def first(self) -> int:
        """Its first slot in the round."""
        return self.block.first - self.block.round.first + self.start

    @property
    def size(self) -> int:
        """Its events."""
        return self.stop - self.start


class _Held(NamedTuple):
    """What a hand holds; replaced as a whole, so that an exception leaves it as it was or as it should be."""

    cells: tuple[Taken, ...]
    ends: tuple[int, ...]  # events up to the end of each cell
    passed: int  # events that were handed out


class Hand:
    """Cells that were reserved, and whose actions are handed out one after the other, without asking the storage.

    Examples
    --------
    >>> hand = Hand()
    >>> hand.count
    0
    """

    def __init__(self) -> None:
        self._held = _Held((), (), 0)

    @property
    def count(self) -> int:
        """Events that are left."""
        held = self._held
        return held.ends[-1] - held.passed if held.ends else 0

    def add(self, cells: Sequence[Taken]) -> None:
        """Take cells in hand."""
        held = self._held
        done = bisect_right(held.ends, held.passed)
        before = held.ends[done - 1] if done else 0
        kept = (*held.cells[done:], *cells)
        self._held = _Held(kept, tuple(accumulate(one.size for one in kept)), held.passed - before)

    def take(self, size: int) -> list[Taken]:
        """Hand out events; there must be as many."""
        cells, ends, passed = self._held
        end, place, taken = passed + size, bisect_right(ends, passed), []
        at = passed
        while at < end:
            block, _, stop = cells[place]
            shift = stop - ends[place]  # from places in the hand to places in the block
            taken.append(Taken(block, at + shift, min(end, ends[place]) + shift))
            at, place = ends[place], place + 1
        self._held = _Held(cells, ends, end)
        return taken

    def unused(self) -> Iterator[tuple[Taken, int]]:
        """Yield cells that are not handed out to their end, the last first, with how many of their events are."""
        cells, ends, passed = self._held
        for cell, end in zip(reversed(cells), reversed(ends), strict=True):
            if end > passed:
                yield cell, max(0, passed - (end - cell.size))

    def wanted(self) -> int:
        """How many of its events take a loss."""
        return sum(int(cell.block.wants_loss[cell.start + used : cell.stop].sum()) for cell, used in self.unused())

    def slots_of(self, round_number: int) -> Integers:
        """Return the slots of a round that are not handed out yet."""
        mine = [
            np.arange(one.first + used, one.first + one.size)
            for one, used in self.unused()
            if one.block.round.number == round_number
        ]
        return np.concatenate(mine) if mine else np.empty(0, dtype=np.int64)

    def drop(self, closed: int | None = None) -> None:
        """Let go of the rounds that are closed, so many of them; of everything, if it is not said how many."""
        cells, ends, passed = self._held
        done = bisect_right(ends, passed)
        kept = [] if closed is None else [one for one in cells[done:] if one.block.round.number >= closed]
        if len(kept) == len(cells) - done:
            return
        if kept and kept[0] is cells[done]:
            used = passed - (ends[done] - cells[done].size)
            kept[0] = kept[0]._replace(start=kept[0].start + used)
        self._held = _Held(tuple(kept), tuple(accumulate(one.size for one in kept)), 0)
