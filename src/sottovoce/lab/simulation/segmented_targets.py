"""Distances to targets, of several segments that want much the same."""

from typing import ClassVar, Self

import numpy as np

from sottovoce import domains
from sottovoce._arrays import Floats
from sottovoce._checks import number, whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.loss_library import Distances
from sottovoce.lab.simulation.segmented import SegmentedEnvironment, power_law
from sottovoce.models import Segments

PEOPLE = 64  # in each segment


class SegmentedTargets(SegmentedEnvironment):
    """The loss of an action is its distance to a target, f(x) = ||x - target||: convex, and not linear.

    A person's target is a weighted mean of a home that all segments have in common, one of the segment's own, and a
    jump of the person's, extreme points all of them. The same people are in every segment, but for its home: with
    `differ=0` segments are identical.

    Parameters
    ----------
    domain : Domain
    segments : int
        How many.
    differ : float
        What share of the home is a segment's own: 0 for identical segments, 1 for unrelated ones.
    jitter : float
        Weight of the jumps, less than 1.
    power : float
        The segment of rank r has a share of 1 / r^power of all events.
    seed : int
        Fixes homes and jumps, and who comes when.

    Examples
    --------
    >>> import sottovoce as sv
    >>> world = sv.lab.SegmentedTargets(sv.domains.Ball(3), segments=2, differ=0.5)
    >>> a, b = (one.point for one in world.comparators(10_000).values())
    >>> bool(np.linalg.norm(a - b) > 0.2)
    True
    """

    name: ClassVar[str] = "segmented-targets"

    def __init__(
        self,
        domain: Domain,
        *,
        segments: int = 20,
        differ: float = 0.2,
        jitter: float = 0.3,
        power: float = 1.0,
        seed: int = 0,
    ) -> None:
        names = Segments([f"segment {number + 1}" for number in range(whole("segments", segments, most=4096))])
        self.differ = number("differ", differ, above=-1e-300, at_most=1.0)
        self.jitter = number("jitter", jitter, above=-1e-300, at_most=0.99)
        self.power = number("power", power, above=-1e-300, at_most=4.0)
        super().__init__(domain, names, power_law(segments, self.power), PEOPLE, seed)
        self.library = Distances(self._targets())
        self.loss_range = (0.0, domain.diameter)
        self.lipschitz = 1.0

    def _targets(self) -> Floats:
        rng = self._design_rng()
        common, *own = self._extreme_points(rng, 1 + len(self.segments.names))
        homes = (1 - self.differ) * common + self.differ * np.stack(own)
        jumps = self._extreme_points(rng, self.people)
        targets: Floats = (1 - self.jitter) * homes[:, None, :] + self.jitter * jumps
        return targets.reshape(len(homes) * self.people, -1)

    def _extreme_points(self, rng: np.random.Generator, count: int) -> Floats:
        return np.stack([self.domain.extreme_point(rng.standard_normal(self.domain.dimension)) for _ in range(count)])

    def __repr__(self) -> str:
        return (
            f"SegmentedTargets({self.domain!r}, segments={len(self.segments.names)}, differ={self.differ:g}, "
            f"jitter={self.jitter:g}, power={self.power:g}, seed={self.seed})"
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all environments run."""
        return [
            cls(domains.Ball(3), segments=3),
            cls(domains.Simplex(4), segments=4, differ=1.0, power=0.0, seed=1),
        ]
