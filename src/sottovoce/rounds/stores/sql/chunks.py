"""Slots as bytes, the chunks that they are in, and the seals of these.

A chunk holds integers of four or eight bytes, big-endian; where they have four, marks are the lowest of those. Its seal
is a checksum that can be changed without reading what it is of: the exclusive or of one number for each slot that has
its loss, or was closed without it. A tell changes the slots and the seal in one statement. It finds damage, not malice:
whoever can write to the database can seal as well.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.rounds.round import PENDING, PLACES, UNUSED, UNWANTED, Draw, Round, Shape, fresh_slots

__all__ = ["FIRST", "GOLDEN", "PLACE", "SECOND", "Piece", "Slots", "leading", "seal_of", "seals_of", "signed"]


PLACE = (1 << PLACES) - 1
"""Of an id, the place within its incarnation."""

_LOW32, _LOW64 = -(2**31), -(2**63)


class Piece(NamedTuple):
    """Slots of one chunk that follow one another: the chunk, where they begin in it, and which of a round's slots."""

    chunk: int
    slot: int
    start: int
    stop: int


class Slots:
    """How the slots of a book are stored.

    Parameters
    ----------
    shape
        What a slot holds.
    """

    def __init__(self, shape: Shape) -> None:
        self.width, self.integer_bytes, self.bits = shape.width, shape.integer_bytes, shape.chunk_bits
        self.bytes, self.per_chunk = self.width * self.integer_bytes, 1 << self.bits
        self._kind = f">i{self.integer_bytes}"
        self.pending, self.unused = (self.packed(np.full(self.width, mark)) for mark in (PENDING, UNUSED))

    def packed(self, slots: Integers) -> bytes:
        """Return slots as they are stored."""
        if self.integer_bytes == 4:
            slots = np.where(slots < _LOW64 + 4, slots - _LOW64 + _LOW32, slots)
        return slots.astype(self._kind).tobytes()

    def unpacked(self, data: bytes) -> Integers:
        """Return stored slots; they may be changed."""
        slots = np.frombuffer(data, dtype=self._kind).astype(np.int64)
        if self.integer_bytes == 4:
            slots[slots < _LOW32 + 4] += _LOW64 - _LOW32
        return slots if self.width == 1 else slots.reshape(-1, self.width)

    def fresh(self, draw: Draw, count: int) -> tuple[bytes, Integers | None]:
        """Return slots that wait for their losses, as they are stored; and which of them do not, if any."""
        if draw.wanted is None or draw.wanted.all():
            return self.pending * count, None
        slots = fresh_slots(draw, count, self.width)
        return self.packed(slots), np.flatnonzero(leading(slots) == UNWANTED)

    def pieces(self, first: int, start: int, stop: int) -> Iterator[Piece]:
        """Cut slots of a round that begins at some place where chunks end."""
        while start < stop:
            place = first + start
            slot = place & self.per_chunk - 1
            end = min(stop, start + self.per_chunk - slot)
            yield Piece(place >> self.bits, slot, start, end)
            start = end

    def chunk_size(self, one: Round, chunk: int) -> int:
        """How many slots a chunk of a round has."""
        return min(self.per_chunk, (one.first & PLACE) + one.size - (chunk << self.bits))


def leading(slots: Integers) -> Integers:
    """The integer of each slot that tells its state: the first."""
    return slots if slots.ndim == 1 else slots[:, 0]


def signed(value: int) -> int:
    """Return a number of 64 bits as databases keep it."""
    return (value & 2**64 - 1) - 2**64 if value & 2**63 else value & 2**64 - 1


GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Of splitmix64."""


def seal_of(places: Integers, integers: Integers) -> int:
    """Return the exclusive or of the numbers of slots, signed."""
    return seals_of(places, integers, [0])[0] if len(places) else 0


def seals_of(places: Integers, integers: Integers, starts: list[int]) -> list[int]:
    """Return the same for each run of slots, by where these start."""
    mixed = _mixed(places.astype(np.uint64))
    for column in integers.reshape(len(places), -1).T:
        mixed = _mixed(mixed + column.astype(np.uint64))
    sealed: list[int] = np.bitwise_xor.reduceat(mixed.view(np.int64), starts).tolist()
    return sealed


def _mixed(values: "np.typing.NDArray[np.uint64]") -> "np.typing.NDArray[np.uint64]":
    values = values + np.uint64(GOLDEN)
    values = (values ^ values >> np.uint64(30)) * np.uint64(FIRST)
    values = (values ^ values >> np.uint64(27)) * np.uint64(SECOND)
    return values ^ values >> np.uint64(31)
