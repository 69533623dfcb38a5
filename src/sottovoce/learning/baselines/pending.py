"""Losses that have not come home yet, for algorithms without privacy: where each belongs, and what may not be told."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce.errors import AlreadyTold, InvalidLoss, UnknownAction
from sottovoce.learning.bandit.outstanding import Outstanding, WaitingRound

__all__ = ["Pending", "Round"]


class Round:
    """Events that share a point: their actions, their losses as they come in, and what learning from them needs."""

    __slots__ = ("actions", "asked", "first", "losses", "memo", "outstanding", "size", "told")

    def __init__(self, first: int, actions: Floats, memo: Any) -> None:
        actions.setflags(write=False)
        self.first, self.actions, self.memo = first, actions, memo
        self.size = self.outstanding = len(actions)
        self.asked = 0
        self.losses: Floats = np.empty(self.size)
        self.told: NDArray[np.bool_] = np.zeros(self.size, dtype=bool)


class Pending:
    """The rounds that are begun, ids in order. Losses come in any order; rounds leave in order, once complete."""

    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = low, high
        self._rounds: deque[Round] = deque()

    def append(self, begun: Round) -> None:
        """Add the next round."""
        self._rounds.append(begun)

    def pop_complete(self) -> Round | None:
        """Let the first round go, if all of its losses are in."""
        return self._rounds.popleft() if self._rounds and not self._rounds[0].outstanding else None

    def outstanding(self, *, asked: int, closed: int, limit: int | None) -> Outstanding:
        """Return the actions that were asked, and whose loss is neither told nor forgotten, the oldest `limit`."""
        ids, rounds, waiting = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], []
        for number, begun in enumerate(self._rounds, start=closed):
            found = begun.first + np.flatnonzero(~begun.told[: begun.asked])
            if len(found):
                ids.append(found)
                rounds.append(np.full(len(found), number))
                waiting.append(WaitingRound(number, len(found), begun.asked, begun.size, None))
        shown = np.concatenate(ids)[:limit]
        return Outstanding(shown, np.concatenate(rounds)[:limit], asked - shown - 1, tuple(waiting))

    def waiting(self, ids: Integers, *, asked: int) -> Integers:
        """Return those ids, once each, that still wait for their loss; refuse those that were never handed out."""
        ids = np.unique(ids)
        if not len(ids):
            return ids
        self._check_known(ids, asked)
        ids = ids[ids >= (self._rounds[0].first if self._rounds else asked)]
        found = [begun.first + slots[~begun.told[slots]] for begun, _, slots in self._split(ids)]
        return np.concatenate([ids[:0], *found])

    def fill(self, ids: Integers, losses: Floats, *, asked: int) -> None:
        """Put losses where they belong, clipped: all of them or none."""
        if len(ids) == 1 and len(self._rounds) == 1:  # a loop over single events: no time to lose
            self._fill_one(int(ids[0]), float(losses[0]), asked)
            return
        places = self._locate(ids, asked)
        if not np.isfinite(losses).all():
            raise InvalidLoss(
                "a loss is not a finite number; nothing of this block was recorded. Fix it, and tell again"
            )
        for begun, picked, slots in places:  # every check is behind us
            begun.losses[slots] = np.clip(losses[picked], self._low, self._high)
            begun.told[slots] = True
            begun.outstanding -= len(slots)

    def _fill_one(self, one: int, loss: float, asked: int) -> None:
        begun = self._rounds[0]
        slot = one - begun.first
        if not 0 <= slot < begun.asked or begun.told[slot]:
            self._locate(np.array([one]), asked)  # says what is wrong
        if not -np.inf < loss < np.inf:
            raise InvalidLoss("the loss is not a finite number; it was not recorded. Fix it, and tell again")
        begun.losses[slot] = self._low if loss < self._low else self._high if loss > self._high else loss
        begun.told[slot] = True
        begun.outstanding -= 1

    def _locate(self, ids: Integers, asked: int) -> list[tuple[Round, Any, Integers]]:
        """Return rounds, which of the ids are theirs, and their slots; refuse what may not be told."""
        if not len(ids):
            return []
        self._check_known(ids, asked)
        low = int(ids.min())
        if not self._rounds or low < self._rounds[0].first:
            raise AlreadyTold(f"id {low} has its loss already, or was forgotten; nothing of this call was recorded")
        if len(np.unique(ids)) < len(ids):
            raise AlreadyTold("an id stands twice in one call; nothing of it was recorded")
        places = list(self._split(ids))
        for begun, _, slots in places:
            if begun.told[slots].any():
                told = begun.first + int(slots[begun.told[slots]][0])
                raise AlreadyTold(f"id {told} has its loss already; nothing of this call was recorded")
        return places

    @staticmethod
    def _check_known(ids: Integers, asked: int) -> None:
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= asked:
            unknown = low if low < 0 else high
            raise UnknownAction(f"id {unknown} was never handed out; nothing of this call was recorded")

    def _split(self, ids: Integers) -> Iterator[tuple[Round, Any, Integers]]:
        if not len(ids):
            return
        starts = [begun.first for begun in self._rounds]
        lowest = bisect_right(starts, int(ids.min())) - 1
        if lowest == bisect_right(starts, int(ids.max())) - 1:  # the usual case
            yield self._rounds[lowest], slice(None), ids - starts[lowest]
            return
        whose = np.searchsorted(starts, ids, side="right") - 1
        for index in np.unique(whose):
            picked = whose == index
            yield self._rounds[int(index)], picked, ids[picked] - starts[int(index)]
