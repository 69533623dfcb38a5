"""Linear losses with independent noise."""

from typing import ClassVar, Self

import numpy as np

from sottovoce import domains
from sottovoce._arrays import Vector
from sottovoce._checks import number
from sottovoce.domains import Domain
from sottovoce.lab.simulation.finite import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import LinearLosses

KINDS = 1024  # different events: enough that the average noise is small


def scaled_linear(domain: Domain, costs: Vector) -> tuple[LinearLosses, float]:
    """Return losses <cost, x>, shifted and scaled to fill [0, 1] over the domain, and their Lipschitz constant."""
    lowest = min(float(cost @ domain.extreme_point(cost)) for cost in costs)
    highest = max(float(cost @ domain.extreme_point(-cost)) for cost in costs)
    spread = highest - lowest
    if spread <= 0.0:
        raise ValueError(f"{domain!r} is too small: the losses would be constant on it")
    steepest = max(float(np.linalg.norm(domain.tangent(cost))) for cost in costs)
    return LinearLosses(costs / spread, -lowest / spread), steepest / spread


class NoisyLinear(FiniteEnvironment):
    """Every coordinate costs 1 or nothing, by lot; the loss of an action is its total cost, scaled to [0, 1].

    A coordinate costs something with probability 1/2 + gap or 1/2 - gap; half of them (drawn once) are cheap.
    On k-of-n subsets the loss is, up to scale, the number of chosen items that fail.

    Parameters
    ----------
    domain : Domain
    gap : float
        Above 0, at most 1/2: how different cheap and dear coordinates are.
    seed : int
        Fixes which coordinates are cheap, and all costs.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Hypersimplex(6, 2), seed=1)
    >>> environment.loss_range
    (0.0, 1.0)
    >>> environment.comparator(10_000).point  # the best fixed choice of 2 of the 6 items
    array([0., 0., 1., 1., 0., 0.])
    """

    name: ClassVar[str] = "noisy-linear"

    def __init__(self, domain: Domain, *, gap: float = 0.3, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.gap = number("gap", gap, above=0.0, at_most=0.5)
        rng = self._design_rng()
        cheap = rng.permutation(domain.dimension) < domain.dimension / 2
        odds = np.where(cheap, 0.5 - self.gap, 0.5 + self.gap)
        costs = (rng.random((KINDS, domain.dimension)) < odds).astype(np.float64)
        self.library, self.lipschitz = scaled_linear(domain, costs)
        self.loss_range = (0.0, 1.0)

    def __repr__(self) -> str:
        return f"NoisyLinear({self.domain!r}, gap={self.gap:g}, seed={self.seed})"

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all environments run."""
        return [cls(domains.Ball(3)), cls(domains.Hypersimplex(6, 2), gap=0.1, seed=1)]
