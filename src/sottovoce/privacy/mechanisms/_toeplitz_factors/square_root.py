"""The square root of the matrix of running sums: c_k = c_{k-1} (2k - 1)/(2k), so that C C is all ones from there down.

It is within a constant of the best factorisation there is (Fichtenberger, Henzinger & Upadhyay 2023). Applying it takes
the whole past, so it is for short runs; buffered.py stands in for it in long ones.

Tests: tests/privacy/test_factors.py.
"""

import math

import numpy as np
from scipy.special import gammaln

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce.privacy.mechanisms._toeplitz_factors.factor import Column
from sottovoce.privacy.mechanisms._toeplitz_factors.fixed_point import Fractions, fixed_point


def square_root_column(lags: Floats) -> Floats:
    """Return c_k of the square root, for any lags: binomial(2k, k)/4^k.

    Examples
    --------
    >>> square_root_column(np.arange(4.0)).round(4)
    array([1.    , 0.5   , 0.375 , 0.3125])
    """
    return np.asarray(np.exp(gammaln(lags + 0.5) - gammaln(lags + 1)) / math.sqrt(math.pi))


class SquareRoot:
    """The square root, for runs so short that the past itself can be kept.

    Examples
    --------
    >>> column = SquareRoot(100).column(100)
    >>> round(math.sqrt(1 + column.squares), 3)  # the largest column norm of C
    1.591
    """

    def __init__(self, length: int) -> None:
        self.length = whole("length", length)
        self._fractions = fixed_point(square_root_column(np.arange(1.0, self.length)))
        self._floats = self._fractions.values

    def column(self, length: int) -> Column:
        """Return sums over the first column. One round's change meets one product, and so one rounding, at a time."""
        return Column(math.fsum(self._floats[: length - 1]), math.fsum(self._floats[: length - 1] ** 2), 1.0)

    def decoder(self, lags: Floats) -> Floats:
        """Return b_k; b = A c^{-1}, by the recursion of a power series' inverse."""
        inverse = np.zeros(self.length)
        inverse[0] = 1.0
        for k in range(1, self.length):
            inverse[k] = -self._floats[:k] @ inverse[k - 1 :: -1]
        return np.asarray(np.cumsum(inverse)[lags.astype(np.int64)])

    def start(self, dimension: int) -> tuple[Integers, Floats]:
        """Return the two empty states: pasts, newest first."""
        return np.zeros((0, dimension), dtype=np.int64), np.zeros((0, dimension))

    def tail(self, past: Integers) -> Integers:
        """Return sum_{k>=1} c_k x_{t-k}, each product rounded."""
        used = Fractions(self._fractions.multiplier[: len(past)], self._fractions.shift[: len(past)])
        return np.asarray(used.times(past).sum(axis=0))

    def push(self, past: Integers, vector: Integers) -> Integers:
        """Return the state with x_t in it; what lies too far back to be met again is let go."""
        return np.concatenate([vector[None], past])[: self.length - 1]

    def tail_of_floats(self, past: Floats) -> Floats:
        """Return sum_{k>=1} c_k w_{t-k}."""
        return np.asarray(self._floats[: len(past)] @ past)

    def push_float(self, past: Floats, vector: Floats) -> Floats:
        """Return the state with w_t in it."""
        return np.concatenate([vector[None], past])[: self.length - 1]
