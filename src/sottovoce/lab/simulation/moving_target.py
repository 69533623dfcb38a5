"""Distance to a target that drifts and jitters."""

import math
from typing import ClassVar, Self

import numpy as np

from sottovoce import domains
from sottovoce._arrays import Vector
from sottovoce._checks import number, whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.finite import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Distances, Kinds

PLACES, STEPS = 32, 64  # places on the loop of the drift, different steps of the jitter


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
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3), seed=1)
    >>> losses = environment.events(0, 1_000).losses(environment.domain.center)
    >>> losses.shape, bool(losses.max() <= environment.loss_range[1])
    ((1000,), True)
    >>> best = environment.comparator(1_000)
    >>> bool(environment.events(0, 1_000).losses(best.point).mean() < losses.mean())
    True
    """

    name: ClassVar[str] = "moving-target"

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
        self.loss_range = (0.0, domain.diameter)
        self.lipschitz = 1.0

    def _targets(self) -> Vector:
        """Return all targets, (place, step) in row place * STEPS + step; each is a mean of extreme points."""
        rng = self._design_rng()
        vertices = np.stack([self.domain.extreme_point(rng.standard_normal(self.domain.dimension)) for _ in range(4)])
        home, corners = vertices[0], vertices[1:]
        angles = 2 * np.pi * (np.arange(PLACES)[:, None] / PLACES - np.arange(3) / 3)
        loop = (1 + np.cos(angles)) / 3 @ corners  # three weights that sum to 1 at every angle
        steps = np.stack([self.domain.extreme_point(rng.standard_normal(self.domain.dimension)) for _ in range(STEPS)])
        slow = (1 - self.drift - self.jitter) * home + self.drift * loop
        targets: Vector = slow[:, None, :] + self.jitter * steps[None, :, :]
        return targets.reshape(PLACES * STEPS, -1)

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return the target of each event: the place by position, the step by lot."""
        place = np.arange(start, start + size) % self.period * PLACES // self.period
        return place * STEPS + rng.integers(0, STEPS, size=size, dtype=np.uint16)

    def __repr__(self) -> str:
        return (
            f"MovingTarget({self.domain!r}, drift={self.drift:g}, jitter={self.jitter:g}, period={self.period}, "
            f"seed={self.seed})"
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all environments run."""
        return [
            cls(domains.Ball(3)),
            cls(domains.Simplex(4), period=500, seed=1),
            cls(domains.Hypersimplex(6, 2), drift=0.0, jitter=0.0, seed=2),
        ]
