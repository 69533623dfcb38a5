"""Rounds that are not closed, or not asked to their end: as this process knows them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce.errors import StudyDamaged
from sottovoce.learning.bandit.open_losses import FORGOTTEN, TOLD, split
from sottovoce.learning.bandit.rounds import Block, OpenRound

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
        return self._slots_that(lambda block: block.pending(slice(None)))

    def states(self, slots: Integers) -> NDArray[np.uint8]:
        """Return the state of each slot: PENDING, TOLD, UNWANTED or FORGOTTEN."""
        states = np.empty(len(slots), dtype=np.uint8)
        for block, picked, inside in split(self.blocks, self.first + slots):
            states[picked] = block.states_of(inside)
        return states

    def quantise(self, losses: Floats) -> Integers:
        """Return the integers of losses."""
        return np.asarray(self.blocks[0].grid.quantise(losses), dtype=np.int64)

    def fill(self, slots: Integers, integers: Integers | None) -> None:
        """Put integers, or for None the middle of the range, into pending slots."""
        for block, picked, inside in split(self.blocks, self.first + slots):
            if not block.pending(inside).all():
                raise StudyDamaged(f"round {self.number} was told a loss twice")
            if integers is None:
                block.fill(inside, block.grid.middle, FORGOTTEN)
            else:
                block.fill(inside, integers[picked], TOLD)

    def progress(self) -> dict[str, int]:
        """Return how many losses were told, and how many given up."""
        counts = {"told": TOLD, "forgotten": FORGOTTEN}
        return {what: sum(block.states.count(state) for block in self.blocks) for what, state in counts.items()}

    def missing(self) -> Integers:
        """Return the slots that were closed without their loss."""
        return self._slots_that(lambda block: block.forgotten(slice(None)))

    def wanted(self) -> Integers | None:
        """Return the slots whose loss was wanted; None for all of them."""
        wanted = self._slots_that(lambda block: ~block.unwanted(slice(None)))
        return None if len(wanted) == sum(block.size for block in self.blocks) else wanted

    def _slots_that(self, holds: Callable[[Block], NDArray[np.bool_]]) -> Integers:
        """Return the slots of which something holds, in order."""
        found = [block.first - self.first + np.flatnonzero(holds(block)) for block in self.blocks]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)
