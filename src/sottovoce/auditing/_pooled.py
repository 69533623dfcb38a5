"""One source of noise for many short-lived optimizers."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Self

from sottovoce import _fork
from sottovoce.privacy import Noise, NoiseSource, SecureNoise, SimulatedNoise
from sottovoce.privacy.noise import Sampler


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

    def __repr__(self) -> str:
        return f"Pooled({self._source!r})"


def secure_pool() -> Pooled:
    """Return this process's pool of secure noise; a forked child gets one of its own."""
    return _secure_pool(_fork.fork_count())


@lru_cache(maxsize=1)
def _secure_pool(fork_count: int) -> Pooled:
    return Pooled(SecureNoise())
