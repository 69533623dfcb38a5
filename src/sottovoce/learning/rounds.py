"""Actions, and the open rounds that their losses come home to."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.exploration import one_point_sum
from sottovoce.learning.estimates import RoundSums
from sottovoce.privacy import LossGrid

if TYPE_CHECKING:
    from sottovoce.learning.epoch import Epoch

__all__ = ["PENDING", "Action", "Actions", "Block", "OpenRound"]

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
    """A round from its first action until its release: its point, and the integer sums of what was told so far.

    The sums are un-noised. They live here until the round is released, and go nowhere else.
    """

    __slots__ = ("_directions", "_products", "epoch", "opened", "outstanding", "point", "size")

    def __init__(self, epoch: "Epoch", point: Floats, size: int) -> None:
        self.epoch = epoch
        self.point = point
        self.size = size
        self.opened = 0  # events whose directions are drawn
        self.outstanding = size
        self._products: Integers = np.zeros(len(point), dtype=np.int64)
        self._directions: Integers = np.zeros(len(point), dtype=np.int64)

    def absorb(self, losses: Integers, directions: Integers) -> None:
        """Add a block of losses and directions to the sums."""
        self._products += one_point_sum(losses, directions)
        self._directions += directions.sum(axis=0)
        self.outstanding -= len(losses)

    def sums(self) -> RoundSums:
        """The sums of a complete round."""
        return RoundSums(self._products, self._directions)

    def erase(self) -> None:
        """Overwrite the private sums of a released round."""
        self._products[:] = 0

    def __repr__(self) -> str:
        return f"OpenRound(size={self.size}, opened={self.opened}, outstanding={self.outstanding})"


class Block:
    """Consecutive events of one round, with the integers of their losses.

    A round is cut into blocks so that memory does not grow with it. Slots are filled by position, never by the order in
    which losses arrive, so a missing loss cannot shift the others.
    """

    __slots__ = (
        "_losses",
        "actions",
        "asked",
        "directions",
        "first",
        "grid",
        "outstanding",
        "quantise",
        "round",
        "size",
        "slots",
    )

    def __init__(self, round: OpenRound, first: int, directions: Integers, actions: Floats, grid: LossGrid) -> None:
        self.round = round
        self.first = first
        self.size = len(actions)
        self.directions = directions
        actions.setflags(write=False)
        self.actions = actions
        self.asked = 0
        self.outstanding = self.size
        self.grid = grid
        self.slots = array("q", [PENDING]) * self.size  # far quicker than numpy one at a time
        self._derive()

    def _derive(self) -> None:
        self.quantise = self.grid.quantiser()
        self._losses: Integers = np.frombuffer(self.slots, dtype=np.int64)

    def take(self, count: int) -> Floats:
        """Hand out the next `count` actions."""
        start, self.asked = self.asked, self.asked + count
        return self.actions[start : self.asked]

    def filled(self, slots: Integers) -> NDArray[np.bool_]:
        """Which of these slots have their loss already."""
        return np.asarray(self._losses[slots] != PENDING)

    def fill(self, slots: Integers, losses: Integers | int) -> None:
        """Put losses into slots; the caller has checked that all were asked, and none filled."""
        self._losses[slots] = losses
        self.outstanding -= len(slots)
        if not self.outstanding:
            self.finish()

    def finish(self) -> None:
        """Hand a complete block over to its round, and keep nothing but which ids were told."""
        self.round.absorb(self._losses, self.directions)
        self._losses[:] = 0
        self.directions, self.actions = self.directions[:0], self.actions[:0]

    def __repr__(self) -> str:
        return f"Block(first={self.first}, size={self.size}, asked={self.asked}, outstanding={self.outstanding})"

    def __getstate__(self) -> dict[str, object]:
        derived = ("_losses", "quantise")
        return {name: getattr(self, name) for name in self.__slots__ if name not in derived}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.actions.setflags(write=False)
        self._derive()
