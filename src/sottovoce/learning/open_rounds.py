"""The rounds that are begun and not yet released: where each loss belongs, and what may not be told."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._losses import as_floats
from sottovoce.errors import AlreadyTold, UnknownAction
from sottovoce.learning.rounds import Action, Actions, Block, OpenRound

__all__ = ["OpenRounds", "as_ids", "refuse_actions"]

Integers = NDArray[np.int64]
Place = tuple[Block, NDArray[np.bool_] | slice, Integers]  # a block, which of the ids are its own, their slots


class OpenRounds:
    """The blocks and rounds that are begun, ids in order. Losses fill slots in any order; rounds leave in order.

    Parameters
    ----------
    first
        The lowest id that there can be: those of an earlier life, before a restart, lie below.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._closed: list[tuple[int, NDArray[np.uint8]]] = []  # blocks let go: first id, a bit for each unwanted one
        self._blocks: deque[Block] = deque()
        self._rounds: deque[OpenRound] = deque()

    def append(self, begun: Block) -> None:
        """Add the next block, and its round if that is new."""
        self._blocks.append(begun)
        if not self._rounds or self._rounds[-1] is not begun.round:
            self._rounds.append(begun.round)

    def complete(self) -> OpenRound | None:
        """The first round, if all of its losses are in."""
        return self._rounds[0] if self._rounds and not self._rounds[0].outstanding else None

    def close(self, released: OpenRound) -> None:
        """Let the first round go, and erase its sums."""
        assert released is self._rounds[0]
        released.erase()
        self._rounds.popleft()

    def drop_finished(self) -> None:
        """Let go of leading blocks that are complete: a long round then takes no more memory than a short one."""
        while self._blocks and not self._blocks[0].outstanding and self._blocks[0].asked == self._blocks[0].size:
            block = self._blocks.popleft()
            if not block.wants_loss.all():
                self._closed.append((block.first, np.packbits(~block.wants_loss)))

    @property
    def outstanding(self) -> int:
        """Actions that were asked, and whose loss is neither told nor forgotten."""
        return sum(int(block.pending(np.arange(block.asked)).sum()) for block in self._blocks)

    def fill(self, ids: Integers, losses: NDArray[Any] | None, *, asked: int) -> None:
        """Put losses (or, for None, the middle of the range) where they belong: all of them or none."""
        if losses is not None and losses.shape != ids.shape:
            raise ValueError(f"losses must have the shape of ids, {ids.shape}, got {losses.shape}")
        ids, values = ids.ravel(), None if losses is None else losses.ravel()
        if self._closed and (late := self._late_and_unwanted(ids)).any():
            ids, values = ids[~late], None if values is None else values[~late]
        fillings = []
        for block, picked, slots in self._locate(ids, asked):
            wanted = block.pending(slots)  # what is not wanted is dropped unread, not even validated
            integers: Integers | int = block.grid.middle
            if values is not None:
                integers = block.grid.quantise(as_floats(values[picked][wanted]))
            fillings.append((block, slots[wanted], integers))
        for block, slots, integers in fillings:  # every check is behind us
            block.fill(slots, integers)
        self.drop_finished()

    def locate_one(self, one: int, *, asked: int) -> tuple[Block, int] | None:
        """Return the block and the slot of an id; None if its block is gone and its loss was never wanted."""
        if not self._first <= one < asked:  # before numpy sees it: an int may be larger than it can hold
            raise UnknownAction(f"id {one} was never handed out{self._here}; nothing was changed")
        if self._closed and self._late_and_unwanted(np.array([one])).any():
            return None
        ((block, _, slots),) = self._locate(np.array([one], dtype=np.int64), asked)
        return block, int(slots[0])

    def _late_and_unwanted(self, ids: Integers) -> NDArray[np.bool_]:
        """Mark ids of blocks that are gone whose loss was not wanted: they are dropped unread, as before."""
        gone = self._blocks[0].first if self._blocks else np.iinfo(np.int64).max
        marks = np.zeros(len(ids), dtype=bool)
        for i in np.flatnonzero(ids < gone).tolist():
            one = int(ids[i])
            index = bisect_right(self._closed, one, key=lambda block: block[0]) - 1
            slot = one - self._closed[index][0] if index >= 0 else -1
            bits = self._closed[index][1]
            marks[i] = 0 <= slot < 8 * len(bits) and bool(bits[slot // 8] >> (7 - slot % 8) & 1)
        return marks

    @property
    def _here(self) -> str:
        return " since this optimizer was restored" if self._first else ""

    def _locate(self, ids: Integers, asked: int) -> list[Place]:
        """Return the places of ids; refuse those that were never asked, or have their loss already."""
        if not len(ids):
            return []
        ascending = bool((ids[1:] > ids[:-1]).all())
        low, high = (int(ids[0]), int(ids[-1])) if ascending else (int(ids.min()), int(ids.max()))
        if low < self._first or high >= asked:
            unknown = low if low < self._first else high
            raise UnknownAction(f"id {unknown} was never handed out{self._here}; nothing of this call was recorded")
        if not self._blocks or low < self._blocks[0].first:
            raise AlreadyTold(f"id {low} has its loss already, or was forgotten; nothing of this call was recorded")
        if not ascending and len(np.unique(ids)) < len(ids):
            raise AlreadyTold("an id stands twice in one call; nothing of it was recorded")
        places = list(self._split(ids, low, high))
        for block, _, slots in places:
            filled = block.told(slots)
            if filled.any():
                told = block.first + int(slots[filled][0])
                raise AlreadyTold(
                    f"id {told} has its loss already, or was forgotten; nothing of this call was recorded"
                )
        return places

    def _split(self, ids: Integers, low: int, high: int) -> Iterator[Place]:
        starts = [block.first for block in self._blocks]
        lowest, highest = bisect_right(starts, low) - 1, bisect_right(starts, high) - 1
        if lowest == highest:  # the usual case
            block = self._blocks[lowest]
            yield block, slice(None), ids - block.first
            return
        whose = np.searchsorted(starts, ids, side="right") - 1
        for index in np.unique(whose):
            block = self._blocks[int(index)]
            picked = whose == index
            yield block, picked, ids[picked] - block.first


def refuse_actions(ids: Any) -> None:
    """Say what to pass, if actions were passed instead of their ids."""
    if isinstance(ids, Action):
        raise TypeError("ids is an Action: pass its id, as in tell(action.id, loss)")
    if isinstance(ids, Actions):
        raise TypeError("ids is a block of Actions: pass their ids, as in tell(actions.ids, losses)")


def as_ids(ids: Any) -> Integers:
    """Return ids as integers."""
    refuse_actions(ids)
    given = np.asarray(ids)
    if given.size == 0:
        return given.astype(np.int64)
    if given.dtype.kind not in "iu":
        raise UnknownAction(f"ids must be the integers that ask returned, got an array of {given.dtype}")
    return given.astype(np.int64)
