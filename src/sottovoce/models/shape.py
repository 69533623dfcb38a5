"""A set as a model of its losses sees it: centred, and scaled to how far its vertices reach."""

import math

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.domains import Domain
from sottovoce.domains.base import FEW
from sottovoce.projection import Projection, project

_GAP = 1e-5  # at which a projection stops, relative to the squared size of the scaled set
_FEWEST, _MOST, _EACH = 512, 2048, 32  # vertices that set the scale, and for each coordinate
_DIRECTIONS = 64  # random linear functions, whose gain over the set is measured
_CALLS = 200  # of the oracle, for a projection
# Among many coordinates chance evens out, and a call of the oracle takes long: fewer do. Of a projection, the fewer the
# more coordinates: of the leader's, and of a probe's, which starts from there and need not be exact.
_MANY_VERTICES, _MANY_DIRECTIONS = 16, 4
_MANY_CALLS, _LEAST_CALLS, _PROBE_CALLS, _LEAST_PROBE_CALLS = 120_000, 40, 15_000, 4
_LEAST = 0.25  # of the mean scale: what a coordinate's is at least
_EVEN, _LUCK = 1.5, 2.0  # ratio of scales that counts as even; and scatter, compared with that of chance, that does


class Shape:
    """A set as the model sees it: centred, and scaled coordinate by coordinate to how far its vertices reach.

    Parameters
    ----------
    domain
        The set.

    Attributes
    ----------
    center, scale
        z = (x - center)/scale.
    even
        Whether the scale is the same for all coordinates, so that distances keep their order.
    size
        The dimension of the set (k).
    many
        Whether there are so many coordinates that a few vertices have to do.
    half
        What a random linear function gains over the set, on average.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain, self.center = domain, np.asarray(domain.middle)
        self.size, self.many = domain.rough_dimension, domain.dimension > FEW
        coins = np.random.default_rng(0)  # public and always the same: what follows is part of the plan
        self.scale = self._scale(coins)
        self.even = float(np.ptp(self.scale)) == 0.0
        directions = coins.standard_normal((_MANY_DIRECTIONS if self.many else _DIRECTIONS, domain.dimension))
        self.half = float(np.mean([float(one @ self._oracle(-one)) for one in directions]))

    def _scale(self, coins: np.random.Generator) -> Floats:
        """Root mean squares over random vertices, pulled together as far as they differ by chance."""
        dimension = self.domain.dimension
        count = _MANY_VERTICES if self.many else min(max(_FEWEST, _EACH * dimension), _MOST)
        squares, fourths = np.zeros(dimension), np.zeros(dimension)
        for _ in range(count):
            square = (self.domain.extreme_point(coins.standard_normal(dimension)) - self.center) ** 2
            squares += square
            fourths += square**2
        squares, fourths = squares / count, fourths / count
        middle = float(squares.mean())
        chance = float((fourths - squares**2).mean()) / count
        scatter = float(((squares - middle) ** 2).mean())
        floor = (_LEAST**2) * middle
        ratio = math.sqrt(max(float(squares.max()), floor) / max(float(squares.min()), floor))
        if ratio <= _EVEN or scatter <= _LUCK * chance:
            return np.full(dimension, math.sqrt(middle))
        pulled = middle + (1 - chance / scatter) * (squares - middle)
        return np.asarray(np.sqrt(np.maximum(pulled, floor)))

    def place(self, points: Floats) -> Floats:
        """Map points to z."""
        return np.asarray((points - self.center) / self.scale)

    def point(self, place: Floats) -> Floats:
        """Map z to a point."""
        return np.asarray(self.center + place * self.scale)

    def distance(self, points: Floats, other: Floats) -> Floats:
        """Return how far points are from another, in z, over sqrt(k): about 1 from the centre to a vertex."""
        offsets = (points - other) / self.scale
        return np.asarray(np.sqrt((offsets * offsets).sum(axis=-1)) / math.sqrt(self.size))

    def within(self, points: Floats, radius: float, leader: Floats) -> Floats:
        """Pull points towards another until they are within a radius of it."""
        if not math.isfinite(radius):
            return points
        shares = np.minimum(1.0, radius / np.maximum(self.distance(points, leader), 1e-12))
        return np.asarray(leader + shares[..., None] * (points - leader))

    def apart(self, points: Floats, least: float, leader: Floats, coins: np.random.Generator) -> Floats:
        """Move points that are nearer to another than `least` away from it, two and two in opposite directions."""
        away = self.domain.tangent(coins.standard_normal((-(-len(points) // 2), len(leader))) * self.scale) / self.scale
        away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-12)
        moved, reach = np.array(points), least * math.sqrt(self.size)
        for i, offset in enumerate((points - leader) / self.scale):
            length = math.sqrt(offset.dot(offset))
            if length < reach:
                step = offset + math.sqrt(reach**2 - length**2) * away[i // 2] * (-1) ** i
                step *= reach / max(math.sqrt(step.dot(step)), 1e-12)
                moved[i] = self.nearest(self.place(leader) + step, hasty=True)[0]
        return moved

    def _oracle(self, cost: Floats) -> Floats:
        return self.place(self.domain.extreme_point(cost / self.scale))

    def _calls(self, hasty: bool) -> int:
        """Oracle calls of one projection at most: fewer of those that take longer."""
        if not self.many:
            return _CALLS
        calls, least = (_PROBE_CALLS, _LEAST_PROBE_CALLS) if hasty else (_MANY_CALLS, _LEAST_CALLS)
        return max(least, calls // self.domain.dimension)

    def nearest(
        self, place: Floats, warm: Projection | None = None, *, hasty: bool = False
    ) -> tuple[Floats, Projection | None]:
        """Return the point whose z is nearest to a place, by formula or by linear oracle, and where that ended.

        In haste, and among many coordinates, near enough is good enough.
        """
        if self.many and not place.any():
            return self.center, None  # it is in the set, and nothing is nearer to itself
        if self.even:
            exact = self.domain.nearest(self.point(place))
            if exact is not None:
                return exact, None
        result = project(self._oracle, place, warm=warm, gap=_GAP * self.size, max_calls=self._calls(hasty))
        return self.point(result.point), result
