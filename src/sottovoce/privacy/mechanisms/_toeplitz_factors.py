"""Lower-triangular Toeplitz factors C of the running sums: what toeplitz.py streams through.

The first column c_0 = 1, c_1, c_2, .. says all about C. It is that of the coefficients in *fixed point*, which the
program really multiplies with, so that the sensitivity is exact whatever they were meant to be.

*The square root* of the matrix of running sums has c_k = c_{k-1} (2k - 1)/(2k): C C is all ones from there down. It is
within a constant of the best factorisation there is (Fichtenberger, Henzinger & Upadhyay 2023). Applying it takes
the whole past, so it is for short runs.

*Buffered linear Toeplitz matrices* stand in for it in long ones: a few decaying buffers for the whole past (Dvijotham,
McMahan, Pillutla, Steinke & Thakurta 2024). c_k = sum_i weight_i (1 - rate_i)^(k-1) for k >= 1. Fitted to the square
root, eight buffers come within a tenth of a percent of its error at a million rounds. Privacy does not rest on the fit:
`column` speaks of the fitted column itself.

Tests: tests/privacy/test_factors.py.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import scipy
from scipy.special import gammaln

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce.privacy.mechanisms._fixed_point import Fractions, fixed_point


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


BUFFERS = 8
_FITTED_AT = 300  # lags, spread evenly in their logarithm


class Buffered:
    """A sum of decaying exponentials in place of the square root's column.

    Buffer i holds s <- s - rate_i s + x_t, and c_k x_{t-k} summed over the past is sum_i weight_i s_i.

    Examples
    --------
    >>> buffered = Buffered(rates=[0.5, 0.01], weights=[0.4, 0.1])
    >>> round(buffered.column(1000).squares, 3)
    0.874
    """

    def __init__(self, rates: list[float] | Floats, weights: list[float] | Floats) -> None:
        self._rate_fractions, self._weight_fractions = fixed_point(rates), fixed_point(weights)
        self.rates, self.weights = self._rate_fractions.values, self._weight_fractions.values
        if not (self.rates > 0).all() or not (self.weights > 0).all():
            raise ValueError(f"rates and weights must be positive, got {rates!r} and {weights!r}")

    def column(self, length: int) -> Column:
        """Return sums over the first column, as geometric series: all terms are positive, so nothing cancels.

        Rounding: a buffer forgets at its rate, so differences of less than 1 a round add up to less than 1/rate; the
        product with its weight is rounded once more.
        """
        joint = self.rates[:, None] + self.rates - self.rates[:, None] * self.rates  # 1 - (1 - r_i)(1 - r_j)
        pairs = self.weights[:, None] * self.weights
        return Column(
            total=float((self.weights * _geometric(self.rates, length - 1)).sum()),
            squares=float((pairs * _geometric(joint, length - 1)).sum()),
            rounding=float((self.weights / self.rates + 1).sum()) * (1 + 1e-12),
        )

    def decoder(self, lags: Floats) -> Floats:
        """Return b_k. C^{-1} is buffered too, with the eigenvalues of diag(1 - rate) - sqrt(w) sqrt(w)^T as decays."""
        root = np.sqrt(self.weights)
        decay, vectors = np.linalg.eigh(np.diag(1 - self.rates) - np.outer(root, root))
        share = (vectors.T @ root) ** 2 / (1 - decay)
        sign = np.where(decay[:, None] < 0, np.cos(np.pi * lags), 1.0)
        return np.asarray(1 - (share[:, None] * (1 - sign * np.abs(decay[:, None]) ** lags)).sum(axis=0))

    def start(self, dimension: int) -> tuple[Integers, Floats]:
        """Return the two empty states: buffers."""
        return np.zeros((len(self.rates), dimension), dtype=np.int64), np.zeros((len(self.rates), dimension))

    def tail(self, past: Integers) -> Integers:
        """Return sum_{k>=1} c_k x_{t-k}, each product rounded."""
        return np.asarray(self._weight_fractions.times(past).sum(axis=0))

    def push(self, past: Integers, vector: Integers) -> Integers:
        """Return the state with x_t in it."""
        return past - self._rate_fractions.times(past) + vector

    def tail_of_floats(self, past: Floats) -> Floats:
        """Return sum_{k>=1} c_k w_{t-k}."""
        return np.asarray(self.weights @ past)

    def push_float(self, past: Floats, vector: Floats) -> Floats:
        """Return the state with w_t in it."""
        return past - self.rates[:, None] * past + vector


@lru_cache(maxsize=64)
def fit_buffers(length: int) -> Buffered:
    """Fit buffers to the square root: geometric rates, weights by non-negative least squares of relative errors.

    Examples
    --------
    >>> buffered = fit_buffers(10**6)
    >>> len(buffered.rates), bool(0 < buffered.rates.min() < 1e-6)
    (8, True)
    """
    lags = np.unique(np.round(np.geomspace(1, length, _FITTED_AT)))
    target = square_root_column(lags)

    def weights_for(ends: Any) -> tuple[Floats, float, Floats]:
        logs = np.geomspace(np.exp(ends[0]), np.exp(ends[1]), BUFFERS)
        weights, residual = scipy.optimize.nnls(np.exp(-np.outer(lags - 1, logs)) / target[:, None], np.ones(len(lags)))
        return np.asarray(weights), float(residual), logs

    def distance(ends: Any, *_: Any, **__: Any) -> float:
        return weights_for(ends)[1]

    best = scipy.optimize.minimize(distance, [math.log(0.3 / length), math.log(1.5)], method="Nelder-Mead")
    weights, _, logs = weights_for(best.x)
    kept = weights > 0
    return Buffered(-np.expm1(-logs[kept]), weights[kept])


def _geometric(rates: Floats, count: int) -> Floats:
    """Sum of (1 - rate)^k over k < count."""
    return np.asarray(-np.expm1(count * np.log1p(-rates)) / rates)


_SHORT = 256  # rounds up to which the past itself is kept
_WHOLE_SUM = 4096  # lags that are summed one by one; beyond, by quadrature over each doubling
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@lru_cache(maxsize=64)
def factor_for(length: int) -> Factor:
    """Return the factor for a number of rounds: the square root if it is short, buffers beyond.

    Examples
    --------
    >>> type(factor_for(100)).__name__, type(factor_for(10**6)).__name__
    ('SquareRoot', 'Buffered')
    """
    if length <= _SHORT:
        return SquareRoot(length)
    rounded_up = 1 << (length - 1).bit_length()
    return fit_buffers(rounded_up) if length == rounded_up else factor_for(rounded_up)


def variance_sums(factor: Factor, count: int) -> tuple[float, float]:
    """Return the sum over k < count of b_k^2, and that of (count - k) b_k^2: noise in the last sum, and in all of them.

    Examples
    --------
    >>> import math
    >>> last, every = variance_sums(factor_for(100), 100)
    >>> round(math.sqrt(last), 3), round(math.sqrt(every / 100), 3)
    (1.591, 1.49)
    """
    lags, weights = _lags(count)
    terms = weights * factor.decoder(lags) ** 2
    return float(terms.sum()), float(((count - lags) * terms).sum())


def _lags(count: int) -> tuple[Floats, Floats]:
    """Lags and weights that sum a smooth function over 0..count-1."""
    lags, weights = [np.arange(min(count, _WHOLE_SUM), dtype=np.float64)], [np.ones(min(count, _WHOLE_SUM))]
    first = _WHOLE_SUM
    while first < count:
        last = min(2 * first, count)
        # The midpoint rule backwards: a sum over whole numbers is an integral from half below to half above.
        lags.append(first - 0.5 + (last - first) * (_NODES + 1) / 2)
        weights.append((last - first) / 2 * _WEIGHTS)
        first = last
    return np.concatenate(lags), np.concatenate(weights)
