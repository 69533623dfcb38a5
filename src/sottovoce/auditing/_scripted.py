"""Noise that is written down, so that a run can be played again with some of it moved. NOT PRIVATE, and says so."""

import itertools
import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.privacy import Noise
from sottovoce.privacy.noise import Sampler


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

    def __repr__(self) -> str:
        return f"Scripted({self._seed})"


class _ScriptedSampler:
    def __init__(self, script: Scripted, noise: Noise) -> None:
        self._script, self._noise = script, noise

    def draw(self, size: int) -> Integers:
        return self._script._draw(self._noise, size)
