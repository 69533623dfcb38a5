"""What a lower-triangular Toeplitz factor C of the running sums must know: what toeplitz.py streams through.

The first column c_0 = 1, c_1, c_2, .. says all about C. It is that of the coefficients in *fixed point*, which the
program really multiplies with, so that the sensitivity is exact whatever they were meant to be.
"""

from dataclasses import dataclass
from typing import Protocol

from sottovoce._arrays import Floats, Integers


@dataclass(frozen=True)
class Column:
    """What sensitivity needs of the first column of C over `length` rounds, the leading 1 left out."""

    total: float
    squares: float
    rounding: float  # how far apart rounding can drive two neighbours, per coordinate of a later round


class Factor(Protocol):
    """One factor C, as two streams that start at nothing: an exact one of integers and a float one that undoes it."""

    def column(self, length: int) -> Column:
        """Return sums over the first column."""

    def decoder(self, lags: Floats) -> Floats:
        """Return b_k, the first column of A C^{-1}: how the noise of a round enters the sum k rounds later."""

    def start(self, dimension: int) -> tuple[Integers, Floats]:
        """Return the two empty states."""

    def tail(self, past: Integers) -> Integers:
        """Return sum_{k>=1} c_k x_{t-k}, each product rounded."""

    def push(self, past: Integers, vector: Integers) -> Integers:
        """Return the state with x_t in it; the old one stays as it was."""

    def tail_of_floats(self, past: Floats) -> Floats:
        """Return sum_{k>=1} c_k w_{t-k}."""

    def push_float(self, past: Floats, vector: Floats) -> Floats:
        """Return the state with w_t in it."""
