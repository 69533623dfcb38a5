"""A source of noise that adds none, to find out what the program does with a loss. NOT PRIVATE, and says so."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.privacy import Noise
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
        return _Zeros()

    def __repr__(self) -> str:
        return "Silence()"


class _Zeros:
    def draw(self, size: int) -> Integers:
        return np.zeros(size, dtype=np.int64)
