"""Rounds of algorithms without privacy: their actions, their losses as they come in, what learning from them needs."""

from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.errors import InvalidLoss
from sottovoce.learning.bandit.open_losses import Slots

__all__ = ["BaselineRound", "Clipping"]


class Clipping(NamedTuple):
    """Losses as they are, clipped to their range: nothing is promised that would need integers."""

    low: float
    high: float
    middle: float

    def quantise(self, losses: Floats) -> Floats:
        """Return losses, clipped; refuse those that are not finite, without showing them."""
        if not np.isfinite(losses).all():
            raise InvalidLoss(
                "a loss is not a finite number; nothing of this block was recorded. Fix it, and tell again"
            )
        return np.clip(losses, self.low, self.high)

    def quantise_one(self, loss: float) -> float:
        """Return one loss, clipped: far quicker."""
        if not -np.inf < loss < np.inf:
            raise InvalidLoss("the loss is not a finite number; it was not recorded. Fix it, and tell again")
        return self.low if loss < self.low else self.high if loss > self.high else loss


class BaselineRound(Slots):
    """Events that share a point: a round in one block.

    Parameters
    ----------
    number, first
        How many rounds there were before it; the id of its first event.
    actions, memo
        What it plays, and what learning from it will need.
    grid
        How losses are written down.
    """

    __slots__ = ("full_at", "memo", "number")

    def __init__(self, number: int, first: int, actions: Floats, memo: Any, grid: Clipping) -> None:
        super().__init__(first, actions, grid)
        self.number, self.memo = number, memo
        self.full_at: int | None = None
        self._losses = np.zeros(self.size)

    @property
    def round(self) -> "BaselineRound":
        """Itself."""
        return self

    @property
    def losses(self) -> Floats:
        """Its losses, in the order of its actions, clipped to their range."""
        return self._losses

    def erase(self) -> None:
        """Nothing of it is private."""
