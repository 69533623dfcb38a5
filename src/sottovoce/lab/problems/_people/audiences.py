"""Segments of a public that clicks: what they like has something in common, and something that is their own."""

from typing import ClassVar, Self

import numpy as np

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import number
from sottovoce.domains import Hypersimplex
from sottovoce.lab.simulation import LinearLosses, SegmentedEnvironment, power_law
from sottovoce.models import Segments

__all__ = ["Audiences"]

PEOPLE = 128  # different people in each segment
USUAL, SPREAD = -1.0, 1.0  # of the logarithms of the odds of a click: some 27% on average, few items draw most
EXPLAINED = 0.8  # of what segments differ by, what their factors or features explain


class Audiences(SegmentedEnvironment):
    """People of several segments, who click the items they like.

    The logarithm of the odds of a click on item i in segment s is -1 + sqrt(1 - differ) c_i + sqrt(differ) o_si: c is
    what all segments have in common, o what is a segment's own, standard normal both. Where segments have factors or
    features, 0.8 of the variance of o comes from these: effects of each level, or of each feature; the rest is the
    segment's alone. Each segment has 128 different people, whose clicks are drawn once, with the same luck in all
    segments: with `differ=0` segments are the same to the last person.

    Parameters
    ----------
    slates : Hypersimplex
        So many of the items are shown.
    segments : Segments
        With names.
    differ : float
        What share of the variance is a segment's own: 0 for identical segments, 1 for unrelated ones.
    power : float
        The segment of rank r has a share of 1 / r^power of all events.
    seed : int
        Fixes who likes what, and who comes when.

    Examples
    --------
    >>> public = Audiences(Hypersimplex(6, 2), Segments(["phone", "desktop"]), differ=1.0)
    >>> [one.point.astype(int).tolist() for one in public.comparators(10_000).values()]
    [[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 1]]
    """

    name: ClassVar[str] = "audiences"

    def __init__(
        self, slates: Hypersimplex, segments: Segments, *, differ: float = 0.2, power: float = 1.0, seed: int = 0
    ) -> None:
        count = len(segments.names)
        self.differ = number("differ", differ, above=-1e-300, at_most=1.0)
        self.power = number("power", power, above=-1e-300, at_most=4.0)
        super().__init__(slates, segments, power_law(count, self.power), PEOPLE, seed)
        rng = self._design_rng()
        if segments.factors or segments.features is not None:  # neighbours must not be of like size
            self.shares = rng.permutation(self.shares)
        self.click_rates = self._rates(rng, slates.dimension)
        luck = rng.random((PEOPLE, slates.dimension))
        clicks = (luck < self.click_rates[:, None, :]).reshape(count * PEOPLE, -1).astype(np.float64)
        self.library = LinearLosses(-clicks / slates.k, 1.0)
        self.loss_range = (0.0, 1.0)
        self.lipschitz = float(np.linalg.norm(slates.tangent(clicks), axis=1).max()) / slates.k

    def _rates(self, rng: np.random.Generator, items: int) -> Floats:
        """Return the chance of a click by segment and item."""
        common = rng.standard_normal(items)
        own = rng.standard_normal((len(self.segments.names), items))
        rows = np.stack([self.segments.row(name)[1:] for name in self.segments.names])
        if rows.shape[1]:
            effects = rows @ rng.standard_normal((rows.shape[1], items))
            effects /= np.sqrt((rows**2).sum(axis=1).mean())
            own = np.sqrt(EXPLAINED) * effects + np.sqrt(1 - EXPLAINED) * own
        logarithms = USUAL + SPREAD * (np.sqrt(1 - self.differ) * common + np.sqrt(self.differ) * own)
        rates: Floats = 1 / (1 + np.exp(-logarithms))
        rates.flags.writeable = False
        return rates

    @property
    def mean_rates(self) -> Vector:
        """Chance of a click on each item, over all segments by their shares."""
        rates: Vector = self.shares @ self.click_rates
        return rates

    def __repr__(self) -> str:
        return (
            f"Audiences({self.domain!r}, {self.segments!r}, differ={self.differ:g}, power={self.power:g}, "
            f"seed={self.seed})"
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances."""
        both = Segments(factors={"device": ["phone", "desktop"], "country": ["it", "de"]})
        return [cls(Hypersimplex(6, 2), Segments(["a", "b", "c"])), cls(Hypersimplex(5, 2), both, differ=1.0, seed=1)]
