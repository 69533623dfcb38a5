r"""Square-root Toeplitz factorisation: running sums with half the noise of a tree. Gaussian noise only.

What is released: after round t, the integer vector v_t = M x_t + round(sum_{k>=1} c_k M x_{t-k}) + z_t, z_t discrete
Gaussian, c the column of its factor, M = 2^bits. The running sum is (A C^{-1} v)_t / M, in floating point.

Neighbours: streams in which one *round's* vector moves by at most `l2` in norm, per contribution.

Sensitivity: a change D of round s moves what is noised at s by M D, and at s + k by c_k M D and by what rounding makes
of it: less than R in every coordinate that D touches (`Column.rounding`), since a product's rounding error is within
1/2, so that those of two neighbours differ by less than 1, and a buffer forgets its differences at its rate. In norm:
M l2 at k = 0, at most c_k M l2 + sqrt(dimension) R at k > 0: numbers that no output can change.

Proof. Given the past, v_t is a discrete Gaussian release of integers moved by at most the k-th of these numbers, so the
mu add up in squares: mu = K sqrt((M l2)^2 + sum_{k=1}^{N-1} (c_k M l2 + sqrt(dimension) R)^2)/scale for K contributions
(the norms of several changes add up), however later vectors depend on earlier outputs. The rest is post-processing.
This form was chosen, and not correlated noise x + C^{-1} z, because buffers of real numbers put C x off the lattice of
z: two neighbours would have different supports. Here what is noised is an integer, whatever the fit and the rounding.

M is the least power of two for which rounding costs at most a thousandth of the noise; on the fine grids of a bandit it
is 1. Laplace noise is not offered: the columns of C have a large l1 norm, and a tree is better.

Tests: tests/privacy/test_toeplitz.py (neighbours with noise held fixed, exhaustively for short runs; errors against the
literature's).
"""

import math
from functools import lru_cache

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import number, whole
from sottovoce.privacy.calibration import noise_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee
from sottovoce.privacy.mechanisms._fixed_point import LARGEST_FACTOR
from sottovoce.privacy.mechanisms._state import MechanismState, ReleasesRounds
from sottovoce.privacy.mechanisms._toeplitz_factors import factor_for, variance_sums
from sottovoce.privacy.mechanisms._vectors import check_vector
from sottovoce.privacy.mechanisms.mechanism import Mechanism, Sensitivity, Variances
from sottovoce.privacy.noise import Noise, Sampler, add, within

_ROUNDING_SHARE = 1e-3
_MOST_BITS = 40


def toeplitz_sensitivity(*, l2: float, length: int, dimension: int, bits: int) -> float:
    """How far one contribution moves the vector of all that is noised, in l2 norm, in units of 2^-bits.

    Examples
    --------
    >>> round(toeplitz_sensitivity(l2=1e6, length=100, dimension=1, bits=0) / 1e6, 3)
    1.591
    """
    column = factor_for(whole("length", length)).column(length)
    moved = math.ldexp(number("l2", l2, above=0), bits)
    rounding = math.sqrt(whole("dimension", dimension)) * column.rounding if length > 1 else 0.0
    later = moved**2 * column.squares + 2 * moved * rounding * column.total + (length - 1) * rounding**2
    return math.sqrt(moved**2 + later) * (1 + 1e-9)  # on the safe side of the roundings of this formula


@lru_cache(maxsize=1024)
def toeplitz_bits(*, l2: float, length: int, dimension: int) -> int:
    """Return log2 of M: the least for which rounding adds at most a thousandth to the sensitivity.

    Examples
    --------
    >>> toeplitz_bits(l2=1.0, length=100, dimension=1), toeplitz_bits(l2=2.0**36, length=10**6, dimension=100)
    (12, 0)
    """
    ideal = l2 * math.sqrt(1 + factor_for(whole("length", length)).column(length).squares)
    for bits in range(_MOST_BITS + 1):
        sensitivity = toeplitz_sensitivity(l2=l2, length=length, dimension=dimension, bits=bits)
        if sensitivity <= math.ldexp(ideal, bits) * (1 + _ROUNDING_SHARE):
            return bits
    raise ValueError(f"l2 = {l2!r} is too small for {length} rounds in {dimension} dimensions; use a finer grid")


@lru_cache(maxsize=1024)
def toeplitz_noise(guarantee: Guarantee, *, l2: float, length: int, dimension: int) -> Noise:
    """Return the least noise per number that keeps the guarantee, in units of 2^-bits, if `length` sums are released.

    Parameters
    ----------
    guarantee
        What is to be kept.
    l2
        Norm of what one contribution changes in one round's vector, at most.
    length
        How many sums are released.
    dimension
        Of the vectors.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import ZCDP
    >>> round(toeplitz_noise(ZCDP(rho=0.5), l2=1e6, length=100, dimension=10).scale / 1e6, 3)
    1.591
    """
    bits = toeplitz_bits(l2=l2, length=length, dimension=dimension)
    sensitivity = toeplitz_sensitivity(l2=l2, length=length, dimension=dimension, bits=bits)
    contributions = guarantee.contributions
    return noise_for(guarantee, l1=None, l2=contributions * sensitivity, numbers=length * dimension)


class ToeplitzSums(ReleasesRounds):
    """Streams private running sums, in O(dimension) memory (times 16 for long runs, 512 at most for short ones).

    Parameters
    ----------
    length
        How many sums will be released.
    dimension
        Length of each integer vector.
    sampler
        Draws the noise of one number; see `toeplitz_noise` for its scale.
    l2
        How far one contribution can move one round's vector: the `l2` that the noise was calibrated with.

    Attributes
    ----------
    largest_sum
        The vectors' absolute values, summed over all rounds, must stay below this in every coordinate.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import ZCDP
    >>> from sottovoce.privacy.noise import SimulatedNoise
    >>> noise = toeplitz_noise(ZCDP(rho=0.5), l2=100.0, length=8, dimension=2)
    >>> sums = ToeplitzSums(8, 2, SimulatedNoise(0).sampler(noise), l2=100.0)
    >>> [sums.add(np.array([1000, -1000])).shape for _ in range(3)], sums.round
    ([(2,), (2,), (2,)], 3)
    """

    def __init__(self, length: int, dimension: int, sampler: Sampler, *, l2: float) -> None:
        self.length = whole("length", length)
        self.dimension = whole("dimension", dimension)
        self.bits = toeplitz_bits(l2=l2, length=self.length, dimension=self.dimension)
        self._sampler = sampler
        self._factor = factor_for(self.length)
        # The state of the encoder and the absolute values so far, which are private; that of the decoder, and the sum.
        exact, decoded = self._factor.start(self.dimension)
        self._state = MechanismState(
            0, None, (exact, np.zeros(self.dimension, dtype=np.int64), decoded, np.zeros(self.dimension))
        )

    @property
    def largest_sum(self) -> int:
        """What the absolute values of the vectors, summed over all rounds, must stay below in every coordinate."""
        return (LARGEST_FACTOR - 1) >> self.bits

    def start(self) -> Floats:
        """Return the sum before any data."""
        return np.zeros(self.dimension)

    def add(self, vector: Integers) -> Floats:
        """Take in the next round's vector; return the noisy sum of all rounds so far."""
        vector = check_vector(vector, self.dimension)
        if self.round >= self.length:
            raise RuntimeError(f"this factorisation releases {self.length} sums, and all were released")
        exact, absolute, decoded, total = self._state.memory
        absolute = within(absolute + np.abs(within(vector, self.largest_sum)), self.largest_sum)
        scaled = vector << self.bits
        released = add(scaled + self._factor.tail(exact), self._sampler.draw(self.dimension))
        # From here on everything is post-processing.
        own = np.ldexp(released.astype(np.float64), -self.bits) - self._factor.tail_of_floats(decoded)
        total = np.asarray(total + own)
        memory = self._factor.push(exact, scaled), absolute, self._factor.push_float(decoded, own), total
        self._state = MechanismState(self.round + 1, total, memory)  # a round is taken in whole or not at all
        return total.copy()


def _noise(guarantee: Guarantee, sensitivity: Sensitivity) -> Noise:
    return toeplitz_noise(guarantee, l2=sensitivity.l2, length=sensitivity.length, dimension=sensitivity.dimension)


def _bits(sensitivity: Sensitivity) -> int:
    return toeplitz_bits(l2=sensitivity.l2, length=sensitivity.length, dimension=sensitivity.dimension)


def _moved_in_all(sensitivity: Sensitivity) -> float:
    return toeplitz_sensitivity(
        l2=sensitivity.l2, length=sensitivity.length, dimension=sensitivity.dimension, bits=_bits(sensitivity)
    )


def _variances(length: int) -> Variances:
    factor = factor_for(length)
    last, every = variance_sums(factor, length)
    return (lambda t: variance_sums(factor, t)[0]), every / length, last


TOEPLITZ = Mechanism(
    name="toeplitz",
    takes=("vectors",),
    releases="sums",
    guarantees=(ApproxDP, ZCDP),  # the columns of C have a large l1 norm: with Laplace noise a tree is better
    noise=_noise,
    open=lambda sensitivity, sampler: ToeplitzSums(
        sensitivity.length, sensitivity.dimension, sampler, l2=sensitivity.l2
    ),
    variances=_variances,
    moved_in_all=_moved_in_all,
    scale_bits=_bits,
    headroom=4,  # its buffers hold up to 2^60, where trees hold 2^61
    unasked=True,
)
