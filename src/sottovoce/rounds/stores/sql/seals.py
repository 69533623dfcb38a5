"""Seals of cells: a checksum that can be changed without reading what it is of.

A cell's seal is the exclusive or of one number for each slot that has its loss, or was closed without it. A tell
changes the slots and the seal in one statement. It finds damage, not malice: whoever can write to the database can seal
as well.
"""

import numpy as np

from sottovoce._arrays import Integers

__all__ = ["FIRST", "GOLDEN", "SECOND", "seal_of"]

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Of splitmix64."""


def seal_of(places: Integers, integers: Integers) -> int:
    """Return the exclusive or of the numbers of slots, signed."""
    if not len(places):
        return 0
    mixed = _mixed(places.astype(np.uint64))
    for column in integers.reshape(len(places), -1).T:
        mixed = _mixed(mixed + column.astype(np.uint64))
    found = int(np.bitwise_xor.reduce(mixed))
    return found - 2**64 if found >= 2**63 else found


def _mixed(values: "np.typing.NDArray[np.uint64]") -> "np.typing.NDArray[np.uint64]":
    values = values + np.uint64(GOLDEN)
    values = (values ^ values >> np.uint64(30)) * np.uint64(FIRST)
    values = (values ^ values >> np.uint64(27)) * np.uint64(SECOND)
    return values ^ values >> np.uint64(31)
