"""Explicit regret bounds, one for each way of exploring.

*Spheres* (theorem of the paper, constants written out):

    regret <= R^2/(2 step) + step/2 * N kappa^2 + T L [step (E||Z|| + delay kappa) + e] + c L radius T

with N rounds of k events, kappa^2 = k a^2 V + k^2 L^2 the energy of a round's estimate (a = d/radius, V the squared
deviation of a loss from the baseline; Lemma C.2 of the paper), Z the noise of a running sum, e the certified error of
the point map, and c = 1 for play around the set, 1 + R/r inside it. The product of L with the point's error has L where
the paper has kappa: the point and its ideal are both known before the round's directions are drawn, so only the mean of
the estimate meets it.

*Frames*: the same with kappa^2 = k a^2 v^2 + (d/m) min(d, d/(d-1)) k^2 L^2 + m a^2 s^2, s^2 the variance of a number's
noise, which is fresh in every round. Plans take v = B/2, the most for losses that are drawn alike within a pair; an
adversary that alternates within pairs can make it B/sqrt(2). The adaptive step costs a factor sqrt(2) on the first two
terms.

*Designs* (an order of magnitude, not a guarantee: plans put B/4 for G, and B/2 for what an exploring event costs):
sqrt(2) R_w sqrt(T * energy) + rate T B, with energy (d/rate) (V + y G^2 + s^2/y) per event, y the events of a probe, G
the spread of the mean loss over the design, and R_w = sqrt(worst leverage) the radius in rounded position.

A step multiplied by c, which bets on losses that stay as they are, costs (c + 1/c)/2 on the terms that it balances.
"""

import math
from dataclasses import dataclass

__all__ = ["DesignBound", "FrameBound", "SphereBound"]


@dataclass(frozen=True)
class SphereBound:
    """Independent directions, running sums released.

    Examples
    --------
    >>> bound = SphereBound(
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
    round_noise: float = 0.0  # of one round's estimate, where it is fresh

    @property
    def rounds(self) -> int:
        """N."""
        return math.ceil(self.events / self.batch_size)

    @property
    def energy(self) -> float:
        """kappa^2: the expected squared norm of a round's gradient estimate."""
        k = self.batch_size
        own = k * (self.estimate_scale * self.loss_deviation) ** 2 + (k * self.lipschitz) ** 2
        return own + self.round_noise**2

    def adaptive_value(self) -> float:
        """The bound with a step that adapts to the released gradients: sqrt(2) on the terms that a step balances."""
        fixed = self.events * self.lipschitz * (self.point_error + self.smoothing)
        return math.sqrt(2) * (self.value(self.best_step()) - fixed) + fixed

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


@dataclass(frozen=True)
class FrameBound:
    """Frames, every round released on its own, adaptive step.

    Examples
    --------
    >>> bound = FrameBound(
    ...     events=10_000, batch_size=100, directions=10, dimension=10, outer_radius=1.0, estimate_scale=100.0,
    ...     loss_deviation=0.5, lipschitz=1.0, number_noise=0.0, delay=0, point_error=0.0, smoothing=0.1,
    ... )
    >>> round(bound.value())
    8226
    """

    events: int
    batch_size: int
    directions: int
    dimension: int
    outer_radius: float
    estimate_scale: float
    loss_deviation: float
    lipschitz: float
    number_noise: float
    delay: int
    point_error: float
    smoothing: float
    step_multiplier: float = 1.0

    @property
    def energy(self) -> float:
        """kappa^2: the expected squared norm of a round's gradient estimate."""
        k, m, d = self.batch_size, self.directions, self.dimension
        paired = min(d, d / (d - 1)) if d > 1 else 1.0
        return (
            k * (self.estimate_scale * self.loss_deviation) ** 2
            + d / m * paired * (k * self.lipschitz) ** 2
            + m * (self.estimate_scale * self.number_noise) ** 2
        )

    def value(self) -> float:
        """The bound."""
        rounds = math.ceil(self.events / self.batch_size)
        walk = (
            self.outer_radius * math.sqrt(2 * rounds * self.energy * (1 + 2 * self.delay)) * bet(self.step_multiplier)
        )
        return walk + self.events * self.lipschitz * (self.point_error + self.smoothing)


@dataclass(frozen=True)
class DesignBound:
    """Designs, every round released on its own, adaptive step.

    Examples
    --------
    >>> bound = DesignBound(
    ...     events=10**6, rate=0.05, probe_events=10, dimension=16, outer_radius=4.0, loss_deviation=0.5, spread=0.5,
    ...     width=1.0, number_noise=0.0, step_multiplier=1.0, point_error=0.0,
    ... )
    >>> round(bound.value() / 10**6, 3)
    0.218
    """

    events: int
    rate: float
    probe_events: int
    dimension: int
    outer_radius: float
    loss_deviation: float
    spread: float
    width: float
    number_noise: float
    step_multiplier: float
    point_error: float

    @property
    def energy(self) -> float:
        """Expected squared norm of the estimate, per event."""
        y = self.probe_events
        inner = self.loss_deviation**2 + y * self.spread**2 + self.number_noise**2 / y
        return self.dimension / self.rate * inner

    def value(self) -> float:
        """The bound."""
        walk = bet(self.step_multiplier) * self.outer_radius * math.sqrt(2 * self.events * self.energy)
        return walk + self.events * self.width * (self.rate + self.point_error / self.outer_radius)


def bet(multiplier: float) -> float:
    """What multiplying the adaptive step costs in the worst case: (c + 1/c)/2."""
    return (multiplier + 1 / multiplier) / 2
