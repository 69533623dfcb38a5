"""The rounds that are begun and not yet released: where each loss belongs, and what may not be told.

Every change is one assignment (or one call of C) away from done, so that an exception between any two lines leaves
nothing half done that `settle` does not find and finish:

- a block is open once it is in the list of blocks, and its ids are known by its place there;
- the losses of a call are in once `_filling` holds them: they are put into their slots, now or by `settle`;
- a round is closed once `closed` says so.
"""

from bisect import bisect_right
from collections import deque
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._losses import as_floats
from sottovoce.errors import AlreadyTold, UnknownAction
from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.open_losses import (
    FORGOTTEN,
    TOLD,
    UNWANTED,
    AnySlots,
    already_told,
    block_of,
    split,
    too_late,
)
from sottovoce.learning.bandit.outstanding import Outstanding, WaitingRound

__all__ = ["OpenRounds", "as_ids", "refuse_actions"]

Filling = tuple[
    AnySlots, Integers, Any
]  # a block, slots that wait, what to put there: for each a value, or one for all
Place = tuple[AnySlots, NDArray[np.bool_] | slice, Integers]  # a block, which of the ids are its own, their slots
_FAR = np.iinfo(np.int64).max


class _Gone(NamedTuple):
    """What is kept of a block that was let go: its first id, and a bit for each id that nobody wanted, or forgotten."""

    first: int
    unwanted: NDArray[np.uint8]
    forgotten: NDArray[np.uint8]


class Round(Protocol):
    """What a round has to be, for its losses to be kept here."""

    number: int
    first: int
    size: int
    full_at: int | None  # what was asked after the call that asked its last event

    @property
    def end(self) -> int:
        """The id after its last."""

    @property
    def outstanding(self) -> int:
        """Events whose losses it lacks."""

    def erase(self) -> None:
        """Overwrite what is private."""


AnyRound = TypeVar("AnyRound", bound=Round)


class OpenRounds(Generic[AnySlots, AnyRound]):
    """The blocks and rounds that are begun, ids in order. Losses fill slots in any order; rounds leave in order.

    Parameters
    ----------
    first
        The lowest id that there can be: those of an earlier life, before a restart, lie below.
    closed
        How many rounds are closed.
    """

    def __init__(self, first: int = 0, closed: int = 0) -> None:
        self._first = first
        self.closed = closed
        self._full = closed  # rounds that were asked to their end, and noted to be
        self._gone: list[_Gone] = []
        self._blocks: list[AnySlots] = []
        self._rounds: deque[AnyRound] = deque()
        self._filling: tuple[list[Filling[AnySlots]], int] = (
            [],
            TOLD,
        )  # the losses of one call, and the state of their slots

    # ------------------------------------------------------------------ blocks

    @property
    def end(self) -> int:
        """The id after the last one that was drawn."""
        return self._blocks[-1].end if self._blocks else self._first

    def append(self, drawn: AnySlots) -> None:
        """Add the next block, and its round if that is new."""
        if drawn.round.number >= self.closed and (not self._rounds or self._rounds[-1].number < drawn.round.number):
            self._rounds.append(drawn.round)
        self._blocks.append(drawn)

    def blocks_from(self, start: int, end: int) -> list[AnySlots]:
        """Return the blocks that hold the ids from `start` to before `end`."""
        return self._blocks[block_of(self._blocks, start) : block_of(self._blocks, end - 1) + 1]

    def drop_finished(self, asked: int) -> None:
        """Let go of leading blocks that are complete: a long round then takes no more memory than a short one.

        The newest stays, so that it is known what was drawn.
        """
        count = 0
        while count < len(self._blocks) - 1 and not self._blocks[count].outstanding:
            block = self._blocks[count]
            if block.end > asked:
                break
            noted = bool(self._gone) and self._gone[-1].first >= block.first
            if not noted and (UNWANTED in block.states or FORGOTTEN in block.states):
                forgotten = np.packbits(block.forgotten(slice(None)))
                self._gone.append(_Gone(block.first, np.packbits(block.unwanted(slice(None))), forgotten))
            count += 1
        if count:
            del self._blocks[:count]

    # ------------------------------------------------------------------ rounds

    def oldest(self) -> AnyRound | None:
        """The first round that is not closed."""
        while self._rounds and self._rounds[0].number < self.closed:
            self._rounds.popleft()
        return self._rounds[0] if self._rounds else None

    def complete(self, asked: int) -> AnyRound | None:
        """The first round that is not closed, if all of its losses are in."""
        first = self.oldest()
        return first if first is not None and not first.outstanding and first.first < asked else None

    def close(self, released: AnyRound) -> None:
        """Let the first round go; its sums are erased."""
        released.erase()
        self.closed = released.number + 1

    def settle(self, asked: int) -> None:
        """Finish what an exception has cut short: put losses into their slots, hand over blocks that have all."""
        fillings, state = self._filling
        for block, slots, integers in fillings:
            waiting = block.pending(slots)
            block.fill(slots[waiting], integers[waiting] if isinstance(integers, np.ndarray) else integers, state)
        self._filling = ([], TOLD)
        for block in self._blocks:
            block.settle()
        self.drop_finished(asked)

    # ------------------------------------------------------------------ patience

    def note_full(self, asked: int, now: int | None = None) -> None:
        """Note when rounds were asked to their end: by the last call of ask, if it is not noted yet.

        `now` is what patience counts, if that is not what was asked of these rounds alone.
        """
        first = self.oldest()
        while first is not None:
            place = max(self._full, first.number) - first.number
            if place >= len(self._rounds) or self._rounds[place].end > asked:
                return
            full = self._rounds[place]
            if full.full_at is None:
                full.full_at = asked if now is None else now
            self._full = full.number + 1

    def due(self, patience: int | None) -> int:
        """How much has to be asked for the oldest round to be closed without the losses that it lacks."""
        first = self.oldest()
        if first is None or first.full_at is None or patience is None:
            return _FAR
        return first.full_at + patience

    def forget_overdue(self, asked: int, patience: int, now: int | None = None) -> None:
        """Close the losses that rounds lack which have been full for `patience` positions."""
        fillings: list[Filling[AnySlots]] = []
        for overdue in self._rounds:
            if overdue.full_at is None or (asked if now is None else now) < overdue.full_at + patience:
                break
            for block in self._blocks[max(0, block_of(self._blocks, overdue.first)) :]:
                if block.first >= overdue.end:
                    break
                fillings.append((block, np.flatnonzero(block.pending(slice(None))), block.grid.middle))
        self.fill(fillings, FORGOTTEN)
        self.drop_finished(asked)

    def outstanding(
        self, asked: int, patience: int | None, limit: int | None = None, now: int | None = None
    ) -> Outstanding:
        """Actions that were asked, and whose loss is neither told nor forgotten."""
        now = asked if now is None else now
        self.note_full(asked, now)
        ids, numbers, waiting = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], dict[int, int]()
        for block in self._blocks:
            pending = np.flatnonzero(block.pending(slice(0, max(0, asked - block.first))))
            if len(pending):
                ids.append(block.first + pending)
                numbers.append(np.full(len(pending), block.round.number))
                waiting[block.round.number] = waiting.get(block.round.number, 0) + len(pending)
        found, rounds = np.concatenate(ids)[:limit], np.concatenate(numbers)[:limit]
        described = (
            self._described(one, waiting, asked, patience, now) for one in self._rounds if one.number in waiting
        )
        return Outstanding(found, rounds, asked - found - 1, tuple(described))

    @staticmethod
    def _described(one: Round, waiting: dict[int, int], asked: int, patience: int | None, now: int) -> WaitingRound:
        left = None if patience is None or one.full_at is None else max(0, one.full_at + patience - now)
        return WaitingRound(one.number, waiting[one.number], min(one.size, asked - one.first), one.size, left)

    # ------------------------------------------------------------------ losses

    def fill(self, fillings: list[Filling[AnySlots]], state: int = TOLD) -> None:
        """Put losses where they belong: with the first line all of them are in."""
        self._filling = (fillings, state)
        for block, slots, integers in fillings:
            block.fill(slots, integers, state)
        self._filling = ([], TOLD)

    def losses(self, ids: Integers, losses: NDArray[Any], *, asked: int, late: str) -> list[Filling[AnySlots]]:
        """Return where the losses of a call belong, as integers; refuse the whole call if anything is wrong with it."""
        if losses.shape != ids.shape:
            raise ValueError(f"losses must have the shape of ids, {ids.shape}, got {losses.shape}")
        ids, values = ids.ravel(), losses.ravel()
        if self._gone or late != "error":
            kept = ~self._marked(ids, "unwanted")
            if late == "drop":
                kept &= ~self._marked(ids, "forgotten")
            if not kept.all():
                ids, values = ids[kept], values[kept]
        fillings: list[Filling[AnySlots]] = []
        for block, picked, slots in self._locate(ids, asked):
            mine, wanted = values[picked], block.pending(slots)
            if not wanted.all():  # what is not wanted is dropped unread, not even validated
                mine, slots = mine[wanted], slots[wanted]
            fillings.append((block, slots, block.grid.quantise(as_floats(mine))))
        return fillings

    def waiting(self, ids: Integers, *, asked: int) -> list[Filling[AnySlots]]:
        """Return where ids still wait for their loss, to be forgotten; refuse those that were never handed out."""
        if not len(ids):
            return []
        ids = np.unique(ids)
        self._check_known(ids, asked)
        ids = ids[ids >= (self._blocks[0].first if self._blocks else _FAR)]
        fillings: list[Filling[AnySlots]] = []
        for block, _, slots in split(self._blocks, ids):
            fillings.append((block, slots[block.pending(slots)], block.grid.middle))
        return fillings

    def locate_one(self, one: int, *, asked: int, late: str) -> tuple[AnySlots, int] | None:
        """Return the block and the slot of an id; None if there is nothing to be done with its loss."""
        if not self._first <= one < asked:  # before numpy sees it: an int may be larger than it can hold
            raise UnknownAction(f"id {one} was never handed out{self._here}; nothing was changed")
        newest = self._blocks[-1]
        if one >= newest.first and not newest.states[one - newest.first]:  # the usual case
            return newest, one - newest.first
        ids = np.array([one], dtype=np.int64)
        if self._marked(ids, "unwanted").any() or (late == "drop" and self._marked(ids, "forgotten").any()):
            return None
        ((block, _, slots),) = self._locate(ids, asked)
        slot = int(slots[0])
        return (block, slot) if block.pending(slots).any() else None

    def _marked(self, ids: Integers, mark: str) -> NDArray[np.bool_]:
        """Mark ids whose loss nobody wants, or that were closed without it, wherever their block may be."""
        marks = np.zeros(len(ids), dtype=bool)
        if mark == "forgotten":
            low = self._blocks[0].first if self._blocks else _FAR
            here = np.flatnonzero((ids >= low) & (ids < self.end))
            for block, picked, slots in split(self._blocks, ids[here]):
                marks[here[picked]] = block.forgotten(slots)
        if self._gone:
            gone = self._blocks[0].first if self._blocks else _FAR
            for i in np.flatnonzero(ids < gone).tolist():
                marks[i] = self._marked_as_gone(int(ids[i]), mark)
        return marks

    def _marked_as_gone(self, one: int, mark: str) -> bool:
        index = bisect_right(self._gone, one, key=_first_id) - 1
        if index < 0:
            return False
        bits, slot = getattr(self._gone[index], mark), one - self._gone[index].first
        return slot < 8 * len(bits) and bool(bits[slot // 8] >> (7 - slot % 8) & 1)

    @property
    def _here(self) -> str:
        return " since this optimizer was restored" if self._first else ""

    def _check_known(self, ids: Integers, asked: int) -> int:
        """Return the lowest id; refuse those that were never handed out."""
        low, high = int(ids.min()), int(ids.max())
        if low < self._first or high >= asked:
            unknown = low if low < self._first else high
            raise UnknownAction(f"id {unknown} was never handed out{self._here}; nothing of this call was recorded")
        return low

    def _locate(self, ids: Integers, asked: int) -> list[Place[AnySlots]]:
        """Return the places of ids; refuse those that were never asked, have their loss already, or come too late."""
        if not len(ids):
            return []
        low = self._check_known(ids, asked)
        if not (ids[1:] > ids[:-1]).all() and len(np.unique(ids)) < len(ids):
            raise AlreadyTold("an id stands twice in one call; nothing of it was recorded")
        if low < self._blocks[0].first:
            self._refuse_late(ids[self._marked(ids, "forgotten")])
            raise already_told(f"id {low}")
        places = list(split(self._blocks, ids))
        for block, _, slots in places:
            if not block.pending(slots).all():
                self._refuse_filled(block, slots)
        return places

    def _refuse_filled(self, block: AnySlots, slots: Integers) -> None:
        self._refuse_late(block.first + slots[block.forgotten(slots)])
        filled = block.told(slots)
        if filled.any():
            raise already_told(f"id {block.first + int(slots[filled][0])}")

    @staticmethod
    def _refuse_late(late: Integers) -> None:
        if len(late):
            raise too_late(f"id {int(late[0])}")


def _first_id(one: _Gone) -> int:
    return one.first


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
