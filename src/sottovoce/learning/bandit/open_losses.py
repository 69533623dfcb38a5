"""Losses that are still out: slots that wait for them, where an id's slot is, and what may not be told.

The one place that knows the states of a slot. `PrivateBandit` keeps its blocks of slots in `OpenRounds`, and so do the
baselines; a study keeps them with the rounds that it reads from its database, where a transaction that fails is undone.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce.errors import UNRECORDED, AlreadyTold, RoundClosed

__all__ = [
    "FORGOTTEN",
    "PENDING",
    "TOLD",
    "UNWANTED",
    "AnySlots",
    "Slots",
    "already_told",
    "block_of",
    "split",
    "too_late",
]

PENDING, TOLD, UNWANTED, FORGOTTEN = 0, 1, 2, 3  # states of a slot


class _Scale(Protocol):
    """How losses are written down: checked, clipped, and perhaps as integers."""

    @property
    def middle(self) -> Any:
        """What a loss that never comes counts as."""

    def quantise(self, losses: Floats) -> Any:
        """Return losses as they are kept; refuse those that are not finite, without showing them."""


class Slots:
    """Consecutive events with the losses that they get, each by its position, never by the order of arrival.

    A loss is in once its slot's state says so; everything else follows. An exception between two lines leaves
    `outstanding` too low at worst, never too high, and at zero the slots are counted again.

    Parameters
    ----------
    first, actions
        The id of the first event; what they play, a row each or as `Decisions`.
    grid
        How losses are written down.
    """

    round: Any  # that the events belong to
    _losses: NDArray[Any]

    __slots__ = ("_losses", "_states", "actions", "first", "grid", "outstanding", "size", "states")
    _derived: ClassVar[tuple[str, ...]] = ("_states",)  # views of other parts: a copy makes its own

    def __init__(self, first: int, actions: Any, grid: Any) -> None:
        self.first = first
        self.actions: Any = actions
        if isinstance(actions, np.ndarray):
            actions.setflags(write=False)
        self.size = self.outstanding = len(actions)
        self.grid: Any = grid
        self.states = bytearray(self.size)  # plain: far quicker than numpy one at a time
        self._derive()

    def _derive(self) -> None:
        self._states = np.frombuffer(self.states, dtype=np.uint8)

    @property
    def end(self) -> int:
        """The id after the last one."""
        return self.first + self.size

    def states_of(self, slots: Integers) -> NDArray[np.uint8]:
        """Return PENDING, TOLD, UNWANTED or FORGOTTEN for each of these slots."""
        return self._states[slots]

    def pending(self, slots: Integers | slice) -> NDArray[np.bool_]:
        """Which of these slots still wait for their loss."""
        return np.asarray(self._states[slots] == PENDING)

    def told(self, slots: Integers) -> NDArray[np.bool_]:
        """Which of these slots have their loss already."""
        return np.asarray(self._states[slots] == TOLD)

    def unwanted(self, slots: Integers | slice) -> NDArray[np.bool_]:
        """Which of these slots have no use for a loss."""
        return np.asarray(self._states[slots] == UNWANTED)

    def forgotten(self, slots: Integers | slice) -> NDArray[np.bool_]:
        """Which of these slots were closed without their loss."""
        return np.asarray(self._states[slots] == FORGOTTEN)

    def fill(self, slots: Integers, losses: Any, state: int = TOLD) -> None:
        """Put losses into pending slots."""
        if not len(slots):
            return
        self._losses[slots] = losses
        self.outstanding -= len(slots)
        self._states[slots] = state
        if self.outstanding <= 0:
            self.settle()

    def settle(self) -> None:
        """Count what is pending; see to what follows once nothing is."""
        self.outstanding = self.states.count(PENDING)
        if not self.outstanding:
            self._finish()

    def _finish(self) -> None:
        """See to what follows from the last loss: done again by the next call, if it is cut short."""

    def __getstate__(self) -> dict[str, object]:
        names = (name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ()))
        return {name: getattr(self, name) for name in names if name not in self._derived}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        if isinstance(self.actions, np.ndarray):
            self.actions.setflags(write=False)
        self._derive()


AnySlots = TypeVar("AnySlots", bound=Slots)


def split(blocks: Sequence[AnySlots], ids: Integers) -> Iterator[tuple[AnySlots, NDArray[np.bool_] | slice, Integers]]:
    """Yield the blocks that hold these ids, which of the ids are its own, and their slots there.

    Examples
    --------
    >>> blocks = [Slots(0, np.zeros((4, 1)), None), Slots(4, np.zeros((4, 1)), None)]
    >>> [(block.first, slots.tolist()) for block, _, slots in split(blocks, np.array([5, 1, 7]))]
    [(0, [1]), (4, [1, 3])]
    """
    if not len(ids):
        return
    lowest, highest = block_of(blocks, int(ids.min())), block_of(blocks, int(ids.max()))
    if lowest == highest:  # the usual case
        block = blocks[lowest]
        yield block, slice(None), ids - block.first
        return
    starts = [block.first for block in blocks[lowest : highest + 1]]
    whose = np.searchsorted(starts, ids, side="right") - 1
    for index in np.unique(whose):
        block = blocks[lowest + int(index)]
        picked = whose == index
        yield block, picked, ids[picked] - block.first


def block_of(blocks: Sequence[Slots], one: int) -> int:
    """Return the place of the block that holds an id."""
    return bisect_right(blocks, one, key=_first_id) - 1


def _first_id(block: Slots) -> int:
    return block.first


def already_told(what: str) -> AlreadyTold:
    """Return the refusal of a second loss."""
    return AlreadyTold(f"{what} has its loss already", UNRECORDED)


def too_late(what: str) -> RoundClosed:
    """Return the refusal of a loss whose action was closed without it."""
    return RoundClosed(
        f"{what} was closed without its loss, which now comes too late",
        f"{UNRECORDED}. It was forgotten, or its round ran out of patience; late='drop' drops such losses",
    )
