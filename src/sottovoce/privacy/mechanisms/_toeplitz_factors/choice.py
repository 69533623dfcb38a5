"""Which factor serves a run of a given length, and how much noise it leaves in the running sums.

Tests: tests/privacy/test_factors.py.
"""

from functools import lru_cache

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.privacy.mechanisms._toeplitz_factors.buffered import fit_buffers
from sottovoce.privacy.mechanisms._toeplitz_factors.factor import Factor
from sottovoce.privacy.mechanisms._toeplitz_factors.square_root import SquareRoot

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
