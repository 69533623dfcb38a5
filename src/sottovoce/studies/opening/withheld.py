"""Opening a study to look at it, without its noise."""

from collections.abc import Sequence
from typing import Self

from sottovoce._arrays import Integers
from sottovoce.errors import StateRefused
from sottovoce.privacy.noise import Noise, Sampler

__all__ = ["WithheldNoise"]


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
        return "WithheldNoise()"
