"""Rounds that are not closed, or not asked to their end: as this process knows them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce.errors import StudyDamaged
from sottovoce.learning.bandit.rounds import PENDING, TOLD, UNWANTED, Block, OpenRound

__all__ = ["StudyRound"]


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
    blocks: list[Block] = field(default_factory=list)
    forgotten: list[Integers] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The event after the last one."""
        return self.first + self.open.size

    @property
    def complete(self) -> bool:
        """Whether all of its losses are in."""
        return not self.open.outstanding

    @property
    def outstanding(self) -> int:
        """Actions that were asked and wait for their loss."""
        return sum(
            block.outstanding if block.asked == block.size else int(block.pending(np.arange(block.asked)).sum())
            for block in self.blocks
        )

    def pending(self) -> Integers:
        """Return the slots that wait for their loss; those that were never asked among them."""
        found = [
            block.first - self.first + np.flatnonzero(block.pending(np.arange(block.size))) for block in self.blocks
        ]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def states(self, slots: Integers) -> NDArray[np.uint8]:
        """Return PENDING, TOLD or UNWANTED for each slot."""
        states = np.empty(len(slots), dtype=np.uint8)
        for block, picked, inside in self._split(slots):
            states[picked] = np.frombuffer(block.states, dtype=np.uint8)[inside]
        return states

    def quantise(self, losses: Floats) -> Integers:
        """Return the integers of losses."""
        return np.asarray(self.blocks[0].grid.quantise(losses), dtype=np.int64)

    def fill(self, slots: Integers, integers: Integers | None) -> None:
        """Put integers, or for None the middle of the range, into pending slots."""
        for block, picked, inside in self._split(slots):
            if not (np.frombuffer(block.states, dtype=np.uint8)[inside] == PENDING).all():
                raise StudyDamaged(f"round {self.number} was told a loss twice")
            block.fill(inside, block.grid.middle if integers is None else integers[picked])
        if integers is None:
            self.forgotten.append(slots)

    def progress(self) -> dict[str, int]:
        """Return how many losses were told, and how many given up."""
        filled = sum(block.states.count(TOLD) for block in self.blocks)
        forgotten = len(self.missing())
        return {"told": filled - forgotten, "forgotten": forgotten}

    def missing(self) -> Integers:
        """Return the slots that were closed without their loss."""
        return np.sort(np.concatenate(self.forgotten)) if self.forgotten else np.empty(0, dtype=np.int64)

    def wanted(self) -> Integers | None:
        """Return the slots whose loss was wanted; None for all of them."""
        states = [np.frombuffer(block.states, dtype=np.uint8) for block in self.blocks]
        unwanted = np.concatenate(states) == UNWANTED
        return np.flatnonzero(~unwanted) if unwanted.any() else None

    def _split(self, slots: Integers) -> list[tuple[Block, NDArray[np.bool_] | slice, Integers]]:
        starts = np.array([block.first - self.first for block in self.blocks])
        whose = np.searchsorted(starts, slots, side="right") - 1
        found: list[tuple[Block, NDArray[np.bool_] | slice, Integers]] = []
        for index in np.unique(whose).tolist():
            picked = whose == index
            found.append((self.blocks[index], picked, slots[picked] - int(starts[index])))
        return found
