"""Products of private integers with public fractions, in integers alone.

A fraction in [0, 1) is stored as multiplier/2^shift with a multiplier of 32 bits, so small fractions keep their
relative precision. `times` returns the product with an integer rounded to the *nearest* integer, exactly, although the
full product may take 95 bits: both factors are split so that no intermediate leaves 64 bits.

Why it matters: the rounding error of a product is within 1/2 whatever the private value is, so those of two neighbours
differ by less than 1. That is all that toeplitz.py needs to charge rounding to the sensitivity.

Tests: tests/privacy/test_fixed_point.py (against Python's unbounded integers).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers

LARGEST_FACTOR = 2**60  # in absolute value, of an integer that is multiplied
_BITS = 32
_HALF_WORD = 31
_LARGEST_SHIFT = 62


@dataclass(frozen=True, eq=False)
class Fractions:
    """A column of fractions in [0, 1), as integers over powers of two.

    Examples
    --------
    >>> half, third = fixed_point([0.5, 1 / 3]).times(np.array([[3, 100], [3, 100]]))
    >>> half, third
    (array([ 2, 50]), array([ 1, 33]))
    """

    multiplier: Integers
    shift: Integers

    @property
    def values(self) -> NDArray[np.float64]:
        """The fractions as floats: exact, since 32 bits fit."""
        return np.ldexp(self.multiplier[:, 0].astype(np.float64), -self.shift[:, 0])

    def times(self, integers: Integers) -> Integers:
        """Return row i of `integers`, times fraction i, to the nearest integer (halves up)."""
        high = integers >> _HALF_WORD
        low = integers & (2**_HALF_WORD - 1)
        carried = self.multiplier * high + ((self.multiplier * low) >> _HALF_WORD)
        half = np.left_shift(np.int64(1), self.shift - _BITS)
        rounded: Integers = (carried + half) >> (self.shift - _HALF_WORD)
        return rounded


def fixed_point(fractions: list[float] | NDArray[np.float64]) -> Fractions:
    """Return fractions in [0, 1) to 32 significant bits (fewer below 2^-30)."""
    columns = []
    for fraction in np.asarray(fractions, dtype=np.float64).tolist():
        if not 0 <= fraction < 1:
            raise ValueError(f"fractions must be at least 0 and below 1, got {fraction!r}")
        shift = min(_BITS - math.frexp(fraction)[1], _LARGEST_SHIFT)
        columns.append((min(round(math.ldexp(fraction, shift)), 2**_BITS - 1), shift))
    pairs = np.array(columns, dtype=np.int64).reshape(-1, 2)
    return Fractions(pairs[:, :1].copy(), pairs[:, 1:].copy())
