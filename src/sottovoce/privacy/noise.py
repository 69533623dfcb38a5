"""Integer noise: one interface, a secure source and a simulated one.

What is drawn: discrete Laplace with P(z) ~ exp(-|z|/scale), or discrete Gaussian with P(z) ~ exp(-z^2/(2 scale^2)), on
the integers. What is noised is an integer too, so no floating-point rounding stands between the proof and the program:
the low-order bits of a released number say nothing about the sum behind it (Mironov 2012).

`add` saturates at +-2^61. With |sum| <= 2^61 this equals saturating the *exact* sum + noise: noise that the sampler or
`add` itself cut off at 2^62 or beyond lands on the bound whatever the sum was. So saturation is post-processing, and
the guarantee is exact even in the far tail.

No draw is handed out twice: the differences of two numbers under one noise are those of the sums behind them, exactly.
What is drawn ahead waits in a deque, and is only ever taken out of it by `popleft`, which removes what it returns in
one indivisible step. So two threads, or a signal handler and what it interrupted, never take the same number; an
exception at any moment loses noise at worst. There is no lock that an exception could leave closed, or that a forked
child could inherit closed; a child refuses what its parent drew.

Tests: tests/privacy/test_noise.py, tests/privacy/test_noise_sharing.py (threads, forks, an exception at every
instruction; all sources, found by discovery).
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, Self

import numpy as np

from sottovoce import _fork
from sottovoce._arrays import Integers
from sottovoce._checks import number, whole
from sottovoce.errors import CopyRefused, ForkRefused, StateRefused

LARGEST_SUM = 2**61
_CUT = 2**62
_FIRST_BLOCK, _LAST_BLOCK = 256, 8192


class ScaleRefused(ValueError):
    """Noise that is too little or too much for this grid; on another one it may do."""


@dataclass(frozen=True)
class Noise:
    """A distribution of integer noise, scale in steps of the grid.

    Attributes
    ----------
    family
        "laplace" or "gaussian", over the integers.
    scale
        The scale of the Laplace distribution, or the standard deviation of the Gaussian.

    Examples
    --------
    >>> Noise("laplace", 1000.0).standard_deviation
    1414.213562373095
    """

    family: Literal["laplace", "gaussian"]
    scale: float

    def __post_init__(self) -> None:
        if not 1.0 <= self.scale <= 2.0**56:
            raise ScaleRefused(
                f"the noise scale must be between 1 and 2^56 steps of the grid, got {self.scale!r}: "
                "below, a sampler hands the data through; above, the tail leaves 64 bits. Choose another grid"
            )

    @property
    def standard_deviation(self) -> float:
        """Standard deviation in steps of the grid (of the continuous distribution; equal to many digits)."""
        return self.scale * (math.sqrt(2) if self.family == "laplace" else 1.0)


class Sampler(Protocol):
    """Draws integers from one distribution."""

    def draw(self, size: int) -> Integers:
        """Return `size` fresh integers; no two calls ever return the same draw, whatever threads they are made in."""


class NoiseSource(Protocol):
    """Where noise comes from."""

    @property
    def simulated(self) -> bool:
        """Whether an adversary who knows the program could reproduce the noise."""

    def sampler(self, noise: Noise) -> Sampler:
        """Return a sampler of one distribution.

        Parameters
        ----------
        noise
            Its family and scale.
        """


def noise_source(noise: Any) -> "NoiseSource":
    """Return the source that `noise=` names, the secure one for None, or say what it may be.

    Examples
    --------
    >>> noise_source(None)
    SecureNoise()
    >>> noise_source(5)
    Traceback (most recent call last):
    TypeError: noise must be sv.SecureNoise() or, for simulations, sv.SimulatedNoise(seed), got 5
    """
    if noise is None:
        return SecureNoise()
    if isinstance(noise, type) or not (hasattr(noise, "simulated") and callable(getattr(noise, "sampler", None))):
        raise TypeError(f"noise must be sv.SecureNoise() or, for simulations, sv.SimulatedNoise(seed), got {noise!r}")
    source: NoiseSource = noise
    return source


class SecureNoise:
    """Noise from OpenDP's exact samplers on cryptographic randomness: the default.

    Draws are made in blocks ahead of use, since a call costs far more than a number; blocks live in memory only. A
    sampler refuses to be copied, pickled, or used in a forked child: two holders of one block would share their noise.

    Examples
    --------
    >>> SecureNoise().sampler(Noise("laplace", 100.0)).draw(3).shape
    (3,)
    """

    simulated = False

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return sources to test."""
        return [cls()]

    def sampler(self, noise: Noise) -> Sampler:
        """Return a sampler of one distribution."""
        return _SecureSampler(_measurement(noise.family, noise.scale))

    def __repr__(self) -> str:
        return "SecureNoise()"


class SimulatedNoise:
    """Noise from a seeded generator: reproducible, fast, and NOT PRIVATE.

    Parameters
    ----------
    seed
        Seeds the noise alone. The stream never coincides with that of an optimizer's `seed`, equal numbers included.

    Examples
    --------
    >>> a, b = (SimulatedNoise(7).sampler(Noise("gaussian", 50.0)).draw(4) for _ in range(2))
    >>> bool((a == b).all())
    True
    """

    simulated = True
    _STREAM = 0x6E6F697365  # "noise": public coins have no such spawn key

    def __init__(self, seed: int) -> None:
        self.seed = whole("seed", seed, least=0)
        self._taken: dict[int, object] = {}  # numbers of samplers

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return sources to test."""
        return [cls(7)]

    def sampler(self, noise: Noise) -> Sampler:
        """Return a sampler of one distribution, with a stream of its own."""
        number, mine = len(self._taken) + 1, object()
        while self._taken.setdefault(number, mine) is not mine:  # another thread was quicker
            number += 1
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self._STREAM, number))
        return _SimulatedSampler(noise, np.random.Generator(np.random.SFC64(sequence)))

    def __repr__(self) -> str:
        return f"SimulatedNoise(seed={self.seed})"


class _SecureSampler:
    def __init__(self, measurement: Any) -> None:
        self._measurement = measurement
        self._ahead: deque[int] = deque()  # drawn, and not handed out
        self._next_block = _FIRST_BLOCK
        self._fork_count = _fork.fork_count()

    def draw(self, size: int) -> Integers:
        if self._fork_count != _fork.fork_count():
            self._ahead = deque()
            raise ForkRefused("this noise belongs to the parent process; create the optimizer after the fork")
        drawn: list[int] = []
        while len(drawn) < size:
            try:
                drawn.append(self._ahead.popleft())  # looking and removing are one step: see the top of this file
            except IndexError:
                missing, block = size - len(drawn), self._next_block
                self._next_block = min(2 * block, _LAST_BLOCK)
                fresh = self._measurement([0] * max(missing, block))
                drawn += fresh[:missing]
                self._ahead.extend(fresh[missing:])
        return np.array(drawn, dtype=np.int64)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise CopyRefused(
            "secure noise cannot be copied or pickled: the same losses would be released under two noises"
        )


class _SimulatedSampler:
    """Draws nothing ahead; numpy's generators have a lock of their own, so that no two threads get the same draw."""

    def __init__(self, noise: Noise, generator: np.random.Generator) -> None:
        self._noise, self._generator = noise, generator
        self._fork_count = _fork.fork_count()

    def draw(self, size: int) -> Integers:
        if self._fork_count != _fork.fork_count():
            # A forked child goes on with a copy of the stream: its lock may have been held when the parent forked.
            bits: np.random.BitGenerator = np.random.SFC64()
            bits.state = self._generator.bit_generator.state
            self._generator = np.random.Generator(bits)
            self._fork_count = _fork.fork_count()
        if self._noise.family == "laplace":
            values = self._generator.laplace(scale=self._noise.scale, size=size)
        else:
            values = self._generator.normal(scale=self._noise.scale, size=size)
        return np.rint(np.clip(values, -_CUT, _CUT)).astype(np.int64)


def add(sums: Integers, noise: Integers) -> Integers:
    """Return sums + noise, saturated at +-2^61: the exact mechanism, post-processed (see the top of this file)."""
    return np.clip(within(sums) + np.clip(noise, -_CUT, _CUT), -LARGEST_SUM, LARGEST_SUM)


def within(sums: Integers, largest: int = LARGEST_SUM) -> Integers:
    """Return sums that are 64-bit integers of at most `largest` in absolute value; refuse all others.

    Two of them add up without wrapping around. (`np.abs` would not do: that of -2^63 is -2^63.)

    Examples
    --------
    >>> within(np.array([-(2**63)]))
    Traceback (most recent call last):
    ...
    OverflowError: a sum left the range that planning proved; nothing was released
    """
    if sums.dtype != np.int64:
        raise TypeError(f"sums must be 64-bit integers, got {sums.dtype}")
    if sums.size and not -largest <= int(sums.min()) <= int(sums.max()) <= largest:
        raise OverflowError("a sum left the range that planning proved; nothing was released")
    return sums


def laplace_for(sensitivity: int, epsilon: float) -> Noise:
    """Return the least discrete Laplace noise for an integer l1 sensitivity, as OpenDP's own map sees it.

    sensitivity/epsilon rounds to a float whose guarantee is just above epsilon in almost half of all cases, so the
    scale is raised until the map, computed with outward rounding, says epsilon or less.

    Examples
    --------
    >>> laplace_for(1000, 0.1).scale
    10000.0
    """
    whole("sensitivity", sensitivity)
    scale = max(sensitivity / number("epsilon", epsilon, above=0), 1.0)
    while _measurement("laplace", scale).map(sensitivity) > epsilon:
        scale = math.nextafter(scale, math.inf)
    return Noise("laplace", scale)


@cache
def _opendp() -> Any:
    import opendp.prelude as dp  # slow to import, and not needed without privacy

    dp.enable_features("contrib")
    return dp


def _measurement(family: str, scale: float) -> Any:
    dp = _opendp()
    integers = dp.vector_domain(dp.atom_domain(T="i64"))
    if family == "laplace":
        return dp.m.make_laplace(integers, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(integers, dp.l2_distance(T="f64"), scale=scale)


class WithheldNoise:
    """The noise of somebody who only looks: it is not there, and nothing can be released.

    A study with simulated noise does not store its seed. With this in its place, it can be read.
    """

    simulated = True

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return sources to test: none, since nothing comes of it."""
        return []

    def sampler(self, noise: Noise) -> Sampler:
        """Return a sampler that refuses to draw."""
        return self

    def draw(self, size: int) -> Integers:
        """Refuse."""
        raise StateRefused("its noise was simulated, and its seed is not stored: pass noise=SimulatedNoise(seed)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
