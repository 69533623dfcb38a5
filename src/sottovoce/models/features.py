"""What is known of coordinates beforehand: those that are alike have like losses."""

import hashlib
from typing import Any

import numpy as np

from sottovoce._arrays import Floats


class Features:
    """A row of numbers for each coordinate, public and fixed; equal if all numbers are.

    Parameters
    ----------
    rows
        (n, k), or another `Features`.

    Examples
    --------
    >>> Features([[1, 0], [1, 0], [0, 1]])
    Features(3 x 2, 901a0c)
    """

    __slots__ = ("_digest", "rows")
    rows: Floats

    def __init__(self, rows: Any) -> None:
        given = rows.rows if isinstance(rows, Features) else rows
        try:
            found: Floats = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("features must be an array of numbers, with a row for each coordinate") from None
        if found.ndim != 2 or not found.size:
            raise ValueError(f"features must have the shape (coordinates, features), got {found.shape}")
        if not np.isfinite(found).all():
            raise ValueError("features must be finite numbers")
        if not found.any():
            raise ValueError("features are all 0, and say nothing: leave them out")
        found.setflags(write=False)
        self.rows = found
        self._digest = hashlib.blake2b(repr(found.shape).encode() + found.tobytes(), digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"Features({self.rows.shape[0]} x {self.rows.shape[1]}, {self._digest.hex()[:6]})"
