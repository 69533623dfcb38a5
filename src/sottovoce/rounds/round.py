"""Rounds, their slots, and the ids by which a loss finds its slot.

A *stream* is a sequence of rounds: a segment has one, an evaluation has one, an optimizer without segments has one in
all. A *round* is a number of *slots*, one for each event. Slots are kept in *chunks* of equal length, and every round
begins with a chunk of its own. An id is `incarnation << 36 | place`; its place says the chunk, and the slot in that
chunk. So an id alone says where its loss belongs, whoever asks, and nothing has to be searched, shortened or joined.

In a slot is an integer (or one for each of k items): a loss on its grid, or one of three marks. A loss and the state of
its slot are therefore the same value, and change in one assignment.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import Record

__all__ = [
    "MISSING",
    "PENDING",
    "PLACES",
    "UNUSED",
    "UNWANTED",
    "Draft",
    "Draw",
    "Release",
    "Round",
    "Shape",
    "fresh_slots",
]

PLACES = 36
"""Bits of an id within its incarnation: 68,000 million places; of incarnations there are 2^27."""

_LOWEST = -(2**63)
PENDING, MISSING, UNWANTED, UNUSED = _LOWEST, _LOWEST + 1, _LOWEST + 2, _LOWEST + 3
"""Marks: it waits for its loss; it was closed without it; it has no use for one; nobody has it. No loss is so low."""

_ROW = 1024  # bytes of a chunk in a database: small rows are written anew quickly


class Shape(NamedTuple):
    """What a slot holds.

    Attributes
    ----------
    width
        How many integers: one, or one for each item of a decision.
    low, high
        The range of a loss as an integer.
    """

    width: int = 1
    low: int = 0
    high: int = 2**18

    @property
    def integer_bytes(self) -> int:
        """Bytes of an integer in a database: marks are the lowest numbers that fit, and no loss is among them."""
        return 4 if self.low >= -(2**31) + 4 and self.high < 2**31 else 8

    @property
    def slot_bytes(self) -> int:
        """Bytes of a slot in a database."""
        return self.width * self.integer_bytes

    @property
    def chunk_bits(self) -> int:
        """The binary logarithm of the slots of a chunk.

        Examples
        --------
        >>> [2 ** Shape(width).chunk_bits for width in (1, 5, 20, 1000)]
        [256, 32, 8, 1]
        """
        return max(0, (_ROW // self.slot_bytes).bit_length() - 1)


class Draft(NamedTuple):
    """A round that is to begin: it follows from released values and public coins only."""

    size: int
    public: Record


class Round(NamedTuple):
    """A round that has begun.

    Attributes
    ----------
    stream, number
        Whose it is, and how many rounds its stream had before it.
    first
        The id of its first slot; the others follow.
    size
        Its slots.
    public
        What its decisions follow from.
    position
        How many events of its stream came before it.
    """

    stream: int
    number: int
    first: int
    size: int
    public: Record
    position: int = 0

    @property
    def end(self) -> int:
        """The id after its last."""
        return self.first + self.size


class Draw(NamedTuple):
    """What consecutive slots of a round play.

    Attributes
    ----------
    actions
        A row for each, or `Decisions`.
    wanted
        Which of them take a loss; None if all do.
    people
        The hashed person that each is for, where people are counted.
    """

    actions: Any
    wanted: NDArray[np.bool_] | None = None
    people: Sequence[bytes] | None = None


class Release(NamedTuple):
    """What is left of a round: its numbers with noise, and which slots had no loss.

    Attributes
    ----------
    round
        The round.
    numbers
        What was released; None if nothing was, since nothing will follow from it.
    missing
        The slots, from 0, that were closed without their loss.
    wanted
        How many slots took a loss.
    dropped
        Whether its losses were lost: the storage was restored from a backup.
    """

    round: Round
    numbers: NDArray[Any] | None
    missing: Integers
    wanted: int
    dropped: bool = False


def fresh_slots(draw: Draw, count: int, width: int) -> Integers:
    """Return slots that wait for their loss, or have no use for one.

    Examples
    --------
    >>> slots = fresh_slots(Draw(None, np.array([True, False])), 2, 1)
    >>> (slots == PENDING).tolist(), (slots == UNWANTED).tolist()
    ([True, False], [False, True])
    """
    slots = np.full((count, width) if width > 1 else count, PENDING, dtype=np.int64)
    if draw.wanted is not None:
        slots[~draw.wanted] = UNWANTED
    return slots
