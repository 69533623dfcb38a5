"""The explicit regret bound, term by term.

    regret <= R^2/(2 step) + step/2 * N kappa^2 + T L [step (E||Z|| + delay kappa) + e] + c L radius T

with N rounds of k events, kappa^2 = k a^2 V + k^2 L^2 the energy of a round's estimate (a = d/radius, V the largest
squared distance of a loss to the baseline; Lemma C.2 of the paper), Z the noise that all rounds share through the tree,
e the certified error of the point map, and c = 1 for play around the set, 1 + R/r inside it. The product of L with the
point's error has L where the paper has kappa: the point and its ideal are both known before the round's directions are
drawn, so only the mean of the estimate meets it.
"""

import math
from dataclasses import dataclass

__all__ = ["RegretBound"]


@dataclass(frozen=True)
class RegretBound:
    """The ingredients of the bound; `value` is the bound itself.

    Examples
    --------
    >>> bound = RegretBound(
    ...     events=10_000, batch_size=100, outer_radius=1.0, estimate_scale=10.0, loss_deviation=0.5,
    ...     lipschitz=1.0, sum_noise=0.0, delay=0, point_error=0.0, smoothing=0.1,
    ... )
    >>> round(bound.value(bound.best_step()))
    2118
    """

    events: int
    batch_size: int
    outer_radius: float
    estimate_scale: float
    loss_deviation: float
    lipschitz: float
    sum_noise: float
    delay: int
    point_error: float
    smoothing: float

    @property
    def rounds(self) -> int:
        """N."""
        return math.ceil(self.events / self.batch_size)

    @property
    def energy(self) -> float:
        """kappa^2: the expected squared norm of a round's gradient estimate."""
        k = self.batch_size
        return k * (self.estimate_scale * self.loss_deviation) ** 2 + (k * self.lipschitz) ** 2

    def best_step(self) -> float:
        """The step that minimises the bound."""
        drag = 2 * self.events * self.lipschitz * (self.sum_noise + self.delay * math.sqrt(self.energy))
        return self.outer_radius / math.sqrt(self.rounds * self.energy + drag)

    def value(self, step: float) -> float:
        """The bound at a given step."""
        start = self.outer_radius**2 / (2 * step)
        variance = step / 2 * self.rounds * self.energy
        error = step * (self.sum_noise + self.delay * math.sqrt(self.energy)) + self.point_error
        return start + variance + self.events * self.lipschitz * (error + self.smoothing)
