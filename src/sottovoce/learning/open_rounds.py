"""The rounds that are begun and not yet released: where each loss belongs, and what may not be told."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import AlreadyTold, InvalidLoss, UnknownAction
from sottovoce.learning.rounds import OpenRound

__all__ = ["OpenRounds", "as_float", "as_floats", "as_ids"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Place = tuple[OpenRound, NDArray[np.bool_], Integers]  # a round, which of the ids are its own, their slots


class OpenRounds:
    """A queue of rounds with consecutive ids. Losses fill slots in any order; rounds leave in order."""

    def __init__(self) -> None:
        self._queue: deque[OpenRound] = deque()

    def append(self, begun: OpenRound) -> None:
        """Add the next round."""
        self._queue.append(begun)

    def complete(self) -> OpenRound | None:
        """The first round, if all of its losses are in."""
        return self._queue[0] if self._queue and not self._queue[0].outstanding else None

    def close(self, released: OpenRound) -> None:
        """Let the first round go, and erase its losses."""
        assert released is self._queue[0]
        released.erase()
        self._queue.popleft()

    @property
    def outstanding(self) -> int:
        """Actions that were asked, and whose loss is neither told nor forgotten."""
        return sum(begun.outstanding - (begun.size - begun.asked) for begun in self._queue)

    def fill(self, ids: Integers, losses: Floats | None, *, asked: int) -> None:
        """Put losses (or, for None, the middle of the range) where they belong: all of them or none."""
        if losses is not None and losses.shape != ids.shape:
            raise ValueError(f"losses must have the shape of ids, {ids.shape}, got {losses.shape}")
        places = self._locate(ids.ravel(), asked)
        integers = [
            begun.grid.middle if losses is None else begun.grid.quantise(losses.ravel()[picked])
            for begun, picked, _ in places
        ]
        for (begun, _, slots), filling in zip(places, integers, strict=True):  # every check is behind us
            begun.fill(slots, filling)

    def locate_one(self, one: int, *, asked: int) -> tuple[OpenRound, int]:
        """Return the round and the slot of an id."""
        if not 0 <= one < asked:  # before numpy sees it: an int may be larger than it can hold
            raise UnknownAction(f"id {one} was never handed out; nothing was changed")
        ((begun, _, slots),) = self._locate(np.array([one], dtype=np.int64), asked)
        return begun, int(slots[0])

    def _locate(self, ids: Integers, asked: int) -> list[Place]:
        """Return the places of ids; refuse those that were never asked, or have their loss already."""
        if not len(ids):
            return []
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= asked:
            unknown = low if low < 0 else high
            raise UnknownAction(f"id {unknown} was never handed out; nothing of this call was recorded")
        if not self._queue or low < self._queue[0].first:
            raise AlreadyTold(f"id {low} belongs to a closed round; nothing of this call was recorded")
        if not (np.diff(ids) > 0).all() and len(np.unique(ids)) < len(ids):
            raise AlreadyTold("an id stands twice in one call; nothing of it was recorded")
        places = list(self._split(ids))
        for begun, _, slots in places:
            filled = slots[begun.filled(slots)]
            if len(filled):
                told = begun.first + int(filled[0])
                raise AlreadyTold(f"id {told} has its loss already; nothing of this call was recorded")
        return places

    def _split(self, ids: Integers) -> Iterator[Place]:
        whose = np.searchsorted([begun.first for begun in self._queue], ids, side="right") - 1
        for index in np.unique(whose):
            begun = self._queue[int(index)]
            picked = whose == index
            yield begun, picked, ids[picked] - begun.first


def as_float(loss: Any) -> float:
    """Return a loss as a float. The error is raised outside `except`, so that no context carries the value along."""
    try:
        return float(loss)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidLoss("the loss is not a number; it was not recorded")


def as_floats(losses: Any) -> Floats:
    """Return losses as an array of floats, with the same discretion."""
    try:
        return np.asarray(losses, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidLoss("losses must be an array of numbers; nothing of this block was recorded")


def as_ids(ids: Any) -> Integers:
    """Return ids as integers."""
    given = np.asarray(ids)
    if given.size == 0:
        return given.astype(np.int64)
    if given.dtype.kind not in "iu":
        raise UnknownAction(f"ids must be the integers that ask returned, got an array of {given.dtype}")
    return given.astype(np.int64)
