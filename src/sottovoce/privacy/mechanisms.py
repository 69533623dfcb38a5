"""Private running sums of integer vectors behind one interface: choose a mechanism, ask its error, stream through it.

Who are neighbours, and why each is private, stands at the top of each mechanism's own file. In all of them `length` is
how many sums are released, one after each round; `l1` and `l2` bound how far a contribution moves a round's vector.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import choice, number, whole
from sottovoce.privacy.factors import factor_for, variance_sums
from sottovoce.privacy.fresh import FreshSums, fresh_noise
from sottovoce.privacy.guarantees import Guarantee
from sottovoce.privacy.honaker import HonakerSums, honaker_noise, node_variance
from sottovoce.privacy.noise import Integers, Noise, NoiseSource
from sottovoce.privacy.toeplitz import ToeplitzSums, toeplitz_bits, toeplitz_noise
from sottovoce.privacy.tree import TreeAggregator, TreeSensitivity, tree_noise

__all__ = ["MECHANISMS", "RunningSums", "SumError", "noise_of", "running_sums", "sum_error"]

MECHANISMS = ("tree", "honaker", "toeplitz", "fresh")


class RunningSums(Protocol):
    """Streams running sums: integers in, floats out."""

    @property
    def round(self) -> int:
        """Rounds that were taken in."""
        ...

    @property
    def last(self) -> NDArray[np.float64]:
        """What the last of them released."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    def start(self) -> NDArray[np.float64]:
        """Return the sum before any data."""
        ...

    def add(self, vector: Integers) -> NDArray[np.float64]:
        """Take in the next round's vector, whole or not at all; return the noisy sum of all rounds so far."""
        ...


@dataclass(frozen=True)
class SumError:
    """Standard deviation of the noise in one coordinate of a running sum, in steps of the grid.

    Attributes
    ----------
    rms
        Root mean square over the sums 1..length.
    worst
        The largest of them.
    """

    noise: Noise
    rms: float
    worst: float
    _variance: Callable[[int], float]  # of the t-th sum
    _length: int

    def at(self, t: int) -> float:
        """Return the standard deviation of the t-th running sum."""
        return math.sqrt(self._variance(whole("t", t, most=self._length)))

    def __repr__(self) -> str:
        return f"SumError(rms={self.rms:.6g}, worst={self.worst:.6g}, noise={self.noise})"


def running_sums(
    mechanism: str, guarantee: Guarantee, *, l1: int, l2: float, length: int, dimension: int, source: NoiseSource
) -> RunningSums:
    """Return a stream of private running sums, with the least noise that keeps the guarantee.

    Parameters
    ----------
    mechanism
        "tree", "honaker", "toeplitz" (Gaussian noise only) or "fresh".
    guarantee
        PureDP (Laplace noise), ApproxDP or ZCDP (Gaussian), for streams in which one person's contributions change.
    l1, l2
        How far one contribution can move one round's vector.
    length, dimension
        How many sums are released, and the length of a vector.
    source
        Where noise comes from: `SecureNoise()`, or `SimulatedNoise(seed)` for simulations.

    Examples
    --------
    >>> from sottovoce.privacy import ZCDP, SimulatedNoise
    >>> sums = running_sums(
    ...     "toeplitz", ZCDP(rho=0.5), l1=1000, l2=1000.0, length=100, dimension=3, source=SimulatedNoise(0)
    ... )
    >>> [sums.add(np.array([1000, 0, -1000])).shape for _ in range(2)], sums.round
    ([(3,), (3,)], 2)
    """
    sampler = source.sampler(noise_of(mechanism, guarantee, l1=l1, l2=l2, length=length, dimension=dimension))
    if mechanism == "tree":
        return TreeAggregator(length + 1, dimension, sampler)  # one more round, whose sum is never released
    if mechanism == "honaker":
        return HonakerSums(length, dimension, sampler)
    if mechanism == "toeplitz":
        return ToeplitzSums(length, dimension, sampler, l2=l2)
    return FreshSums(dimension, sampler)


def noise_of(mechanism: str, guarantee: Guarantee, *, l1: int, l2: float, length: int, dimension: int) -> Noise:
    """Return the least noise per drawn number with which a mechanism keeps the guarantee.

    Examples
    --------
    >>> from sottovoce.privacy import PureDP
    >>> noise_of("fresh", PureDP(epsilon=1.0), l1=300, l2=100.0, length=50, dimension=9)
    Noise(family='laplace', scale=300.0)
    """
    choice("mechanism", mechanism, MECHANISMS)
    l1, l2, length, dimension = (
        whole("l1", l1),
        number("l2", l2, above=0),
        whole("length", length),
        whole("dimension", dimension),
    )
    if mechanism == "tree":
        return tree_noise(guarantee, TreeSensitivity(l1=l1, l2=l2, length=length + 1, dimension=dimension))
    if mechanism == "honaker":
        return honaker_noise(guarantee, l1=l1, l2=l2, length=length, dimension=dimension)
    if mechanism == "toeplitz":
        return toeplitz_noise(guarantee, l2=l2, length=length, dimension=dimension)
    return fresh_noise(guarantee, l1=l1, l2=l2, dimension=dimension)


def sum_error(mechanism: str, guarantee: Guarantee, *, l1: int, l2: float, length: int, dimension: int) -> SumError:
    """Return how much noise a coordinate of the running sums will have, before anything is run.

    Examples
    --------
    >>> from sottovoce.privacy import ZCDP
    >>> for mechanism in MECHANISMS:
    ...     error = sum_error(mechanism, ZCDP(rho=0.5), l1=1000, l2=1000.0, length=1000, dimension=1)
    ...     print(mechanism, round(error.rms / 1000, 2))
    tree 7.03
    honaker 5.36
    toeplitz 3.11
    fresh 22.37
    """
    noise = noise_of(mechanism, guarantee, l1=l1, l2=l2, length=length, dimension=dimension)
    bits = toeplitz_bits(l2=l2, length=length, dimension=dimension) if mechanism == "toeplitz" else 0
    unit = math.ldexp(noise.standard_deviation, -bits) ** 2
    variance, mean, worst = _UNIT_VARIANCES[mechanism](length)
    return SumError(noise, math.sqrt(unit * mean), math.sqrt(unit * worst), lambda t: unit * variance(t), length)


# Of the t-th sum, their mean, and the largest; for noise of variance 1.
_Variances = tuple[Callable[[int], float], float, float]


def _nodes(length: int, of_level: Callable[[int], float]) -> _Variances:
    """One node for each 1-bit of t, each with the variance of its level."""
    variances = [of_level(level) for level in range(length.bit_length())]

    def variance(t: int) -> float:
        return math.fsum(value for level, value in enumerate(variances) if t >> level & 1)

    def ones(level: int) -> int:  # how many of 0..length have that bit set
        period, beyond = 2 << level, (length + 1) % (2 << level)
        return (length + 1) // period * (period // 2) + max(0, beyond - period // 2)

    mean = math.fsum(value * ones(level) for level, value in enumerate(variances)) / length
    # The worst t is `length` itself, or it falls below it at one bit and has all ones from there on.
    candidates = [length, *((length >> level << level) - 1 for level in range(length.bit_length()))]
    return variance, mean, max(variance(t) for t in candidates if t > 0)


def _toeplitz(length: int) -> _Variances:
    factor = factor_for(length)
    last, every = variance_sums(factor, length)
    return (lambda t: variance_sums(factor, t)[0]), every / length, last


_UNIT_VARIANCES: dict[str, Callable[[int], _Variances]] = {
    "tree": lambda length: _nodes(length, lambda level: 1.0),
    "honaker": lambda length: _nodes(length, node_variance),
    "toeplitz": _toeplitz,
    "fresh": lambda length: (float, (length + 1) / 2, float(length)),
}
