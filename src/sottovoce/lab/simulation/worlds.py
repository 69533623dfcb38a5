"""Environments over any domain, drawn from a seed: costs by lot, a target that moves."""

import math
from typing import Self

import numpy as np

from sottovoce import domains
from sottovoce._arrays import Vector
from sottovoce._checks import number, whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.finite import Distances, FiniteEnvironment, Kinds, LinearLosses

KINDS = 1024  # different events: enough that the average noise is small
PLACES, STEPS = 32, 64  # places on the loop of a target's drift, different steps of its jitter


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

    def __init__(self, domain: Domain, *, gap: float = 0.3, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.gap = number("gap", gap, above=0.0, at_most=0.5)
        rng = self._design_rng()
        cheap = rng.permutation(domain.dimension) < domain.dimension / 2
        odds = np.where(cheap, 0.5 - self.gap, 0.5 + self.gap)
        costs = (rng.random((KINDS, domain.dimension)) < odds).astype(np.float64)
        self.library, self.lipschitz = scaled_linear(domain, costs)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all environments run."""
        return [cls(domains.Ball(3)), cls(domains.Hypersimplex(6, 2), gap=0.1, seed=1)]


class MovingTarget(FiniteEnvironment):
    """The loss of an action is its distance to a target, f_t(x) = ||x - target_t||.

    Targets lie in the domain. Each is a weighted mean of a home (an extreme point, drawn once), a place on a closed
    loop that the target walks slowly, and a jump drawn afresh for each event. By default home weighs most, so that the
    best fixed point is well away from the centre.

    Parameters
    ----------
    domain : Domain
    drift, jitter : float
        Weights of the loop and of the jump; home has the rest. Together less than 1.
    period : int
        Events for one walk around the loop.
    seed : int
        Fixes home, loop and jumps.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3), seed=1)
    >>> best = environment.comparator(1_000)
    >>> lost = [environment.cumulative_loss(x, [1_000])[0] for x in (best.point, environment.domain.center)]
    >>> bool(lost[0] < lost[1] < 1_000 * environment.loss_range[1])
    True
    """

    def __init__(
        self, domain: Domain, *, drift: float = 0.1, jitter: float = 0.2, period: int = 10_000, seed: int = 0
    ) -> None:
        super().__init__(domain, seed)
        self.drift = number("drift", drift, above=-math.ulp(0), at_most=1.0)
        self.jitter = number("jitter", jitter, above=-math.ulp(0), at_most=1.0)
        if self.drift + self.jitter >= 1.0:
            raise ValueError(f"drift + jitter must be less than 1, got {drift!r} + {jitter!r}")
        self.period = whole("period", period)
        self.library = Distances(self._targets())
        self.loss_range, self.lipschitz = (0.0, domain.diameter), 1.0

    def _targets(self) -> Vector:
        """Return all targets, (place, step) in row place * STEPS + step; each is a mean of extreme points."""
        rng = self._design_rng()
        drawn = rng.standard_normal((4 + STEPS, self.domain.dimension))
        home, *corners = vertices = np.stack([self.domain.extreme_point(cost) for cost in drawn])
        angles = 2 * np.pi * (np.arange(PLACES)[:, None] / PLACES - np.arange(3) / 3)
        loop = (1 + np.cos(angles)) / 3 @ np.stack(corners[:3])  # three weights that sum to 1 at every angle
        slow = (1 - self.drift - self.jitter) * home + self.drift * loop
        targets: Vector = slow[:, None, :] + self.jitter * vertices[None, 4:, :]
        return targets.reshape(PLACES * STEPS, -1)

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return the target of each event: the place by position, the step by lot."""
        place = np.arange(start, start + size) % self.period * PLACES // self.period
        return place * STEPS + rng.integers(0, STEPS, size=size, dtype=np.uint16)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all environments run."""
        return [
            cls(domains.Ball(3)),
            cls(domains.Simplex(4), period=500, seed=1),
            cls(domains.Hypersimplex(6, 2), drift=0.0, jitter=0.0, seed=2),
        ]
