"""SCRiBLe on a ball: the linear bandit of Abernethy, Hazan & Rakhlin (2008), as parts of NoisyOCO.

With z = (x - centre)/radius and the self-concordant barrier R(z) = -log(1 - ||z||^2), whose parameter is 1:

    z_t = argmin <step * sum of estimates, z> + R(z)             the point map, in closed form
    play z_t + H^(-1/2) u, u uniform on the unit sphere          H = R''(z_t): a point of the Dikin ellipsoid
    estimate d (f - middle) H^(1/2) u                            unbiased for linear losses

Ends of the ellipsoid's axes, drawn by lot, stand in the source in the place of u; they have the same covariance. The
regret is at most (log T)/step + 2 step d^2 V T + B, with V the mean square of (f - middle) as it is fed in, noise
included; from memory, and tested in simulation. It presumes steps that are short in the local norm, which noise of
unbounded range breaks now and then: the bound then holds up to its tails.

Tests: tests/lab/baselines/test_scrible.py.
"""

import math
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._sums import Probed
from sottovoce.domains import Ball
from sottovoce.plans.explorer import Draw, Exploration, Explorer, Record


@dataclass(frozen=True, eq=False)
class BallBarrier:
    """From a dual vector to the point of the ball where R(z) - <dual, x> is least: 2 z/(1 - ||z||^2) = radius * dual.

    Examples
    --------
    >>> BallBarrier(Ball(2))(np.array([1e9, 0.0])).round(3)
    array([1., 0.])
    """

    domain: Ball

    def __call__(self, dual: Floats) -> Floats:
        """Return the point."""
        pull = self.domain.radius * dual
        reach = self.domain.radius / (1 + math.sqrt(1 + float(pull @ pull)))
        return np.asarray(self.domain.center + reach * pull)

    def roots(self, point: Floats, vector: Floats) -> tuple[Floats, Floats]:
        """Return H^(-1/2) vector and H^(1/2) vector at a point, in coordinates z.

        H is 2/(1 - s) across z and 2 (1 + s)/(1 - s)^2 along it, s = ||z||^2.
        """
        z = (point - self.domain.center) / self.domain.radius
        square = float(z @ z)
        across, along = math.sqrt(2 / (1 - square)), math.sqrt(2 * (1 + square)) / (1 - square)
        part = z * (float(z @ vector) / square) if square else np.zeros_like(z)
        rest = vector - part
        return rest / across + part / along, rest * across + part * along


@dataclass(frozen=True, eq=False)
class Scrible(Explorer):
    """One event per round, on the Dikin ellipsoid around the point.

    Examples
    --------
    >>> coins = np.random.default_rng(0)
    >>> rounds = Scrible(BallBarrier(Ball(3)), middle=0.5)
    >>> draw = rounds.begin(np.array([0.0, 0.0, 0.9]), 0, 1, coins).draw(coins, 0, 1)
    >>> Ball(3).contains(draw.actions[0])
    True
    """

    barrier: BallBarrier
    middle: float

    def round_size(self, passed: int) -> int:
        """One event."""
        return 1

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> "ScribleExploration":
        """Begin a round."""
        direction = coins.standard_normal(self.barrier.domain.dimension)
        return self.resume(point, {"direction": direction / math.sqrt(float(direction @ direction))})

    def resume(self, point: Floats, record: Record) -> "ScribleExploration":
        """Return the round of a direction."""
        return ScribleExploration(self, point, np.asarray(record["direction"]))


class ScribleExploration(Exploration):
    """One event."""

    numbers = 1

    def __init__(self, rounds: Scrible, point: Floats, direction: Floats) -> None:
        self._rounds, self._point, self._direction = rounds, point, direction
        self._offset, self._weight = rounds.barrier.roots(point, direction)

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return the event."""
        action = self._point + self._rounds.barrier.domain.radius * self._offset
        one = np.ones(1, dtype=np.int64)
        return Draw(action[None, :], None, Probed(1, 0 * one, one))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return d (f - middle) H^(1/2) u, in the coordinates of x."""
        domain = self._rounds.barrier.domain
        deviation = float(sums[0]) - self._rounds.middle * float(weights[0])
        return np.asarray(domain.dimension / domain.radius * deviation * self._weight)

    def record(self) -> Record:
        """Return the direction."""
        return {"direction": self._direction}


def scrible_step(dimension: int, horizon: int, variance: float) -> float:
    """Return sqrt(log T/(2 d^2 V T)), which minimises the bound."""
    return math.sqrt(math.log(max(2, horizon)) / (2 * dimension**2 * variance * horizon))


def scrible_bound(dimension: int, horizon: int, variance: float, width: float) -> float:
    """Return (log T)/step + 2 step d^2 V T + B at that step.

    Examples
    --------
    >>> round(scrible_bound(3, 10_000, 0.25, 1.0))
    1289
    """
    return 2 * math.log(max(2, horizon)) / scrible_step(dimension, horizon, variance) + width
