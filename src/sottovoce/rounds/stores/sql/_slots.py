"""Slots as bytes, and the cells that they are in.

A cell holds integers of four or eight bytes, big-endian; where they have four, marks are the lowest of those.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.rounds.round import PENDING, PLACES, UNUSED, UNWANTED, Draw, Round, Shape, fresh_slots

__all__ = ["PLACE", "Piece", "Slots", "leading", "signed"]

PLACE = (1 << PLACES) - 1
"""Of an id, the place within its incarnation."""

_LOW32, _LOW64 = -(2**31), -(2**63)


class Piece(NamedTuple):
    """Slots of one cell that follow one another: the cell, where they begin in it, and which of a round's they are."""

    cell: int
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
        self.width, self.integer_bytes, self.bits = shape.width, shape.integer_bytes, shape.cell_bits
        self.bytes, self.per_cell = self.width * self.integer_bytes, 1 << self.bits
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
        """Cut slots of a round that begins at some place where cells end."""
        while start < stop:
            place = first + start
            slot = place & self.per_cell - 1
            end = min(stop, start + self.per_cell - slot)
            yield Piece(place >> self.bits, slot, start, end)
            start = end

    def cell_size(self, one: Round, cell: int) -> int:
        """How many slots a cell of a round has."""
        return min(self.per_cell, (one.first & PLACE) + one.size - (cell << self.bits))


def leading(slots: Integers) -> Integers:
    """The integer of each slot that tells its state: the first."""
    return slots if slots.ndim == 1 else slots[:, 0]


def signed(value: int) -> int:
    """Return a number of 64 bits as databases keep it."""
    return (value & 2**64 - 1) - 2**64 if value & 2**63 else value & 2**64 - 1
