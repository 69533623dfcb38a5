"""Sources of noise that audits play with: none, one for many runs, and one that is written down.

Silence and scripts are NOT PRIVATE, and say so.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import numpy as np

from sottovoce import _fork
from sottovoce._arrays import Floats, Integers
from sottovoce.privacy import Noise, NoiseSource, SecureNoise, SimulatedNoise
from sottovoce.privacy.noise import Sampler


class Silence:
    """Draws zeros.

    Examples
    --------
    >>> Silence().sampler(Noise("laplace", 10.0)).draw(3)
    array([0, 0, 0])
    """

    simulated = True

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return sources to test for noise that comes twice: none, since all of it is zero."""
        return []

    def sampler(self, noise: Noise) -> Sampler:
        """Return a sampler of zeros."""
        return self

    def draw(self, size: int) -> Integers:
        """Return zeros."""
        return np.zeros(size, dtype=np.int64)


class Pooled:
    """Hands out one sampler per distribution, to however many optimizers ask.

    Noise is drawn in blocks of hundreds, and an audited run uses a handful: with a sampler of its own, each run would
    throw nearly all of a block away. No draw is ever handed out twice, in no thread, so runs stay independent.

    Examples
    --------
    >>> from sottovoce.privacy import SimulatedNoise
    >>> pool = Pooled(SimulatedNoise(0))
    >>> one, other = (pool.sampler(Noise("laplace", 1000.0)).draw(2) for _ in range(2))
    >>> bool((one != other).all())
    True
    """

    def __init__(self, source: NoiseSource) -> None:
        self._source = source
        self._samplers: dict[Noise, Sampler] = {}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return sources to test."""
        return [cls(SecureNoise()), cls(SimulatedNoise(7))]

    @property
    def simulated(self) -> bool:
        """Whether an adversary who knows the program could reproduce the noise."""
        return self._source.simulated

    def sampler(self, noise: Noise) -> Sampler:
        """Return the sampler of one distribution."""
        if noise not in self._samplers:
            self._samplers.setdefault(noise, self._source.sampler(noise))  # one for all, whichever thread is quicker
        return self._samplers[noise]


def secure_pool() -> Pooled:
    """Return this process's pool of secure noise; a forked child gets one of its own."""
    return _secure_pool(_fork.fork_count())


@lru_cache(maxsize=1)
def _secure_pool(fork_count: int) -> Pooled:
    return Pooled(SecureNoise())


class Scripted:
    """A source whose draws are a function of a seed and of their number, moved by what is asked for.

    Attributes
    ----------
    sizes
        Of the draws so far, empty ones left out.

    Examples
    --------
    >>> one, other = Scripted(0), Scripted(0, {0: np.array([5.0])})
    >>> first, second = (source.sampler(Noise("laplace", 10.0)).draw(1) for source in (one, other))
    >>> (second - first).tolist(), other.cost
    ([5], 0.5)
    """

    simulated = True

    def __init__(self, seed: int, shifts: dict[int, Floats] | None = None) -> None:
        self._seed, self._shifts = seed, shifts or {}
        self.sizes: list[int] = []
        self._numbers = itertools.count()  # of draws: each is taken once, whatever thread takes it
        self._laplace, self._gaussian = 0.0, 0.0  # sum of moves, and of their squares, in units of the scale

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return sources to test."""
        return [cls(7)]

    @property
    def cost(self) -> float:
        """What the moves cost: epsilon where noise is Laplace, mu where it is Gaussian."""
        return self._laplace or math.sqrt(self._gaussian)

    def sampler(self, noise: Noise) -> Sampler:
        """Return a sampler; all samplers go through one script."""
        return _ScriptedSampler(self, noise)

    def _draw(self, noise: Noise, size: int) -> Integers:
        if not size:
            return np.zeros(0, dtype=np.int64)
        number = next(self._numbers)
        self.sizes.append(size)
        coins = np.random.default_rng([self._seed, number])
        drawn = getattr(coins, "laplace" if noise.family == "laplace" else "normal")(scale=noise.scale, size=size)
        moved = self._shifts.get(number, np.zeros(size))
        if noise.family == "laplace":
            self._laplace += float(np.abs(moved).sum()) / noise.scale
        else:
            self._gaussian += float((moved**2).sum()) / noise.scale**2
        return np.asarray(np.rint(drawn).astype(np.int64) + moved.astype(np.int64))


class _ScriptedSampler:
    def __init__(self, script: Scripted, noise: Noise) -> None:
        self._script, self._noise = script, noise

    def draw(self, size: int) -> Integers:
        return self._script._draw(self._noise, size)
