"""Linear losses under an adversary that changes its mind at unannounced times."""

from typing import ClassVar, Self

import numpy as np

from sottovoce import domains
from sottovoce._arrays import Integers, Vector
from sottovoce._checks import number, whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.finite import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Kinds
from sottovoce.lab.simulation.noisy_linear import scaled_linear

KINDS = 256  # different events in each mood
TIMES = 1024  # switching times drawn together


class Switching(FiniteEnvironment):
    """Every coordinate costs 1 or nothing, by lot, and from time to time the odds change.

    The adversary has a few moods and goes through them in turn. Once in every stretch of `every` events it switches, at
    a moment drawn by lot. Half of the coordinates keep their odds in all moods, so that a fixed point can do well;
    the others have new odds in each mood, and each odd mood contradicts the one before it.

    Parameters
    ----------
    domain : Domain
    every : int
        Length of a stretch that holds one switch.
    moods : int
        At least 2.
    gap : float
        Above 0, at most 1/2: a coordinate costs 1 with probability 1/2 + gap or 1/2 - gap.
    seed : int
        Fixes the odds, the times and all costs.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.Switching(sv.domains.Hypersimplex(8, 2), every=100, moods=2, seed=3)
    >>> moods = environment.moods_of(0, 500)
    >>> int((moods[1:] != moods[:-1]).sum())
    5
    """

    name: ClassVar[str] = "switching"

    def __init__(self, domain: Domain, *, every: int = 20_000, moods: int = 4, gap: float = 0.3, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.every = whole("every", every)
        self.moods = whole("moods", moods, least=2)
        self.gap = number("gap", gap, above=0.0, at_most=0.5)
        self.library, self.lipschitz = scaled_linear(domain, self._costs())
        self.loss_range = (0.0, 1.0)

    def _costs(self) -> Vector:
        """Return the costs of all events, (mood, kind) in row mood * KINDS + kind."""
        rng = self._design_rng()
        n = self.domain.dimension
        order = rng.permutation(n)
        steady = order < (n + 1) // 2
        cheap = np.where(steady, order % 2 == 0, rng.random((self.moods, n)) < 0.5)
        cheap[1::2, ~steady] = ~cheap[
            0 : self.moods // 2 * 2 : 2, ~steady
        ]  # each odd mood contradicts the one before it
        odds = np.where(cheap, 0.5 - self.gap, 0.5 + self.gap)
        costs = rng.random((self.moods, KINDS, n)) < odds[:, None, :]
        return costs.reshape(self.moods * KINDS, n).astype(np.float64)

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return the costs of each event: the mood by position, the rest by lot."""
        return self.moods_of(start, size) * KINDS + rng.integers(0, KINDS, size=size, dtype=np.uint16)

    def moods_of(self, start: int, size: int) -> Kinds:
        """Return the mood, from 0, in which the adversary is at each event.

        Parameters
        ----------
        start
            The first event, from 0.
        size
            How many.
        """
        first, last = start // self.every, (start + size - 1) // self.every
        switches = np.arange(first, last + 1) * self.every + self._moments(first, last)
        edges = np.concatenate([[start], switches.clip(start, start + size), [start + size]])
        return np.repeat(np.arange(first, last + 2) % self.moods, np.diff(edges))

    def _moments(self, first: int, last: int) -> Integers:
        """Return when, within each stretch from `first` to `last`, the switch happens."""
        groups = range(first // TIMES, last // TIMES + 1)
        drawn = [
            np.random.default_rng([self.seed, _SWITCHES, group]).integers(0, self.every, size=TIMES) for group in groups
        ]
        return np.concatenate(drawn)[first - groups.start * TIMES : last + 1 - groups.start * TIMES]

    def __repr__(self) -> str:
        return f"Switching({self.domain!r}, every={self.every}, moods={self.moods}, gap={self.gap:g}, seed={self.seed})"

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all environments run."""
        return [cls(domains.Ball(3), every=700), cls(domains.Hypersimplex(6, 2), every=50, moods=3, gap=0.4, seed=1)]


_SWITCHES = 2
