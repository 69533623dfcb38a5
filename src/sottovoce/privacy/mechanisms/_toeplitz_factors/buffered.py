"""Buffered linear Toeplitz matrices: a few decaying buffers stand for the whole past.

BLTs are due to Dvijotham, McMahan, Pillutla, Steinke & Thakurta (2024).

c_k = sum_i weight_i (1 - rate_i)^(k-1) for k >= 1. Fitted to the square root, eight buffers come within a tenth of a
percent of its error at a million rounds. Privacy does not rest on the fit: `column` speaks of the fitted column itself.

Tests: tests/privacy/test_factors.py.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from sottovoce._arrays import Floats, Integers
from sottovoce.privacy.mechanisms._toeplitz_factors.factor import Column
from sottovoce.privacy.mechanisms._toeplitz_factors.fixed_point import fixed_point
from sottovoce.privacy.mechanisms._toeplitz_factors.square_root import square_root_column

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
