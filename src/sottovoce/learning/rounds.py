"""Actions, and the open rounds that their losses come home to."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.learning.estimates import RoundData
from sottovoce.privacy import LossGrid

__all__ = ["PENDING", "Action", "Actions", "OpenRound"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PENDING = -1  # integers of losses are never negative


class Action(NamedTuple):
    """One decision to carry out: its id, the decision itself, and whether its loss is of any use."""

    id: int
    x: Floats
    wants_loss: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Actions:
    """A block of decisions: `ids` (size,), `x` (size, n), `wants_loss` (size,). Iterating gives single actions."""

    ids: Integers
    x: Floats
    wants_loss: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Action]:
        for one, x, wants in zip(self.ids.tolist(), self.x, self.wants_loss.tolist(), strict=True):
            yield Action(one, x, wants)


class OpenRound:
    """A round from its first action until its release.

    The integers of its losses live here and nowhere else. Slots are filled by position, never by the order in which
    losses arrive, so a missing loss cannot shift the others.
    """

    __slots__ = (
        "_losses",
        "actions",
        "asked",
        "directions",
        "epoch",
        "first",
        "grid",
        "outstanding",
        "point",
        "quantise",
        "size",
        "slots",
    )

    def __init__(
        self, epoch: object, first: int, point: Floats, directions: Integers, actions: Floats, grid: LossGrid
    ) -> None:
        self.epoch = epoch
        self.grid = grid
        self.quantise = grid.quantiser()
        self.first = first
        self.point = point
        self.size = len(actions)
        self.directions = directions
        actions.setflags(write=False)
        self.actions = actions
        self.asked = 0
        self.outstanding = self.size
        self.slots = array("q", [PENDING]) * self.size  # far quicker than numpy one at a time
        self._losses: Integers = np.frombuffer(self.slots, dtype=np.int64)

    def take(self, count: int) -> slice:
        """Hand out the next `count` slots."""
        taken = slice(self.asked, self.asked + count)
        self.asked = taken.stop
        return taken

    def filled(self, slots: Integers) -> NDArray[np.bool_]:
        """Which of these slots have their loss already."""
        return np.asarray(self._losses[slots] != PENDING)

    def fill(self, slots: Integers, losses: Integers | int) -> None:
        """Put losses into slots; the caller has checked that all were asked, and none filled."""
        self._losses[slots] = losses
        self.outstanding -= len(slots)

    def data(self) -> RoundData:
        """Everything of a complete round."""
        return RoundData(self._losses, self.directions)

    def erase(self) -> None:
        """Overwrite the losses of a released round; its slots stay filled."""
        self._losses[:] = 0

    def __repr__(self) -> str:
        return f"OpenRound(first={self.first}, size={self.size}, asked={self.asked}, outstanding={self.outstanding})"

    def __getstate__(self) -> dict[str, object]:
        derived = ("_losses", "quantise")
        return {name: getattr(self, name) for name in self.__slots__ if name not in derived}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.actions.setflags(write=False)
        self.quantise = self.grid.quantiser()
        self._losses = np.frombuffer(self.slots, dtype=np.int64)
