"""Actions, and the open rounds that their losses come home to."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.exploration import Draw, Exploration, Probed, Weighted
from sottovoce.learning.estimates import CompleteRound, Grid

if TYPE_CHECKING:
    from sottovoce.learning.epoch import Epoch

__all__ = ["PENDING", "TOLD", "UNWANTED", "Action", "Actions", "Block", "OpenRound"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PENDING, TOLD, UNWANTED = 0, 1, 2  # states of a slot


class Action(NamedTuple):
    """One decision to carry out: its id, the decision itself, and whether its loss is of any use."""

    id: int | str
    x: Floats
    wants_loss: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Actions:
    """A block of decisions: `ids` (size,), `x` (size, n), `wants_loss` (size,). Iterating gives single actions."""

    ids: NDArray[Any]
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

    __slots__ = ("_products", "_weights", "epoch", "exploration", "last", "opened", "outstanding", "point", "size")

    def __init__(self, epoch: "Epoch", point: Floats, exploration: Exploration, size: int, last: bool) -> None:
        self.last = last  # of its epoch
        self.epoch = epoch
        self.point = point
        self.exploration = exploration
        self.size = size
        self.opened = 0  # events that were drawn
        self.outstanding = size
        self._products: Integers = np.zeros(exploration.numbers, dtype=np.int64)
        self._weights: Integers = np.zeros(exploration.numbers, dtype=np.int64)

    def absorb(self, losses: Integers, weights: Weighted | Probed) -> None:
        """Add a block of losses, with their weights, to the sums."""
        self._products += weights.sum(losses)
        self._weights += weights.total()
        self.outstanding -= len(losses)

    def complete(self) -> CompleteRound:
        """What a complete round adds up to."""
        return CompleteRound(self.exploration, self._products, self._weights)

    def erase(self) -> None:
        """Overwrite the private sums of a released round."""
        self._products[:] = 0

    def __repr__(self) -> str:
        return f"OpenRound(size={self.size}, opened={self.opened}, outstanding={self.outstanding})"


class Block:
    """Consecutive events of one round, with the integers of their losses.

    A round is cut into blocks so that memory does not grow with it. Slots are filled by position, never by the order in
    which losses arrive, so a missing loss cannot shift the others. Events whose loss is not wanted have none to fill.
    """

    __slots__ = (
        "_losses",
        "_states",
        "actions",
        "asked",
        "first",
        "grid",
        "outstanding",
        "quantise",
        "round",
        "size",
        "slots",
        "states",
        "wants_loss",
        "weights",
    )

    def __init__(self, round: OpenRound, first: int, draw: Draw, grid: Grid) -> None:
        self.round = round
        self.first = first
        self.actions = draw.actions
        self.actions.setflags(write=False)
        self.size = len(draw.actions)
        self.weights: Weighted | Probed | None = draw.weights
        self.wants_loss = np.ones(self.size, dtype=bool) if draw.wants_loss is None else draw.wants_loss
        self.asked = 0
        self.grid = grid
        self.slots = array("q", [0]) * self.size  # plain arrays: far quicker than numpy one at a time
        self.states = bytearray(self.size)
        self._derive()
        self._states[~self.wants_loss] = UNWANTED
        self.outstanding = int(self.wants_loss.sum())
        if not self.outstanding:
            self.finish()

    def _derive(self) -> None:
        self.quantise = self.grid.quantiser()
        self._losses: Integers = np.frombuffer(self.slots, dtype=np.int64)
        self._states = np.frombuffer(self.states, dtype=np.uint8)

    def take(self, count: int) -> slice:
        """Hand out the next `count` events."""
        start, self.asked = self.asked, self.asked + count
        return slice(start, self.asked)

    def pending(self, slots: Integers) -> NDArray[np.bool_]:
        """Which of these slots still wait for their loss."""
        return np.asarray(self._states[slots] == PENDING)

    def told(self, slots: Integers) -> NDArray[np.bool_]:
        """Which of these slots have their loss already."""
        return np.asarray(self._states[slots] == TOLD)

    def fill(self, slots: Integers, losses: Integers | int) -> None:
        """Put losses into pending slots."""
        if not len(slots):
            return  # or a finished block would be handed over twice
        self._losses[slots] = losses
        self._states[slots] = TOLD
        self.outstanding -= len(slots)
        if not self.outstanding:
            self.finish()

    def finish(self) -> None:
        """Hand a complete block over to its round, and keep nothing but which ids were told."""
        if self.weights is None:
            raise AssertionError("a block was finished twice; its losses would count double")
        self.round.absorb(self._losses, self.weights)  # 0 where no loss is wanted
        self._losses[:] = 0
        self.weights = None

    def __repr__(self) -> str:
        return f"Block(first={self.first}, size={self.size}, asked={self.asked}, outstanding={self.outstanding})"

    def __getstate__(self) -> dict[str, object]:
        derived = ("_losses", "_states", "quantise")
        return {name: getattr(self, name) for name in self.__slots__ if name not in derived}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.actions.setflags(write=False)
        self._derive()
