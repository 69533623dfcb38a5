"""Frames: a few orthonormal directions per round, each tried forwards and backwards, one number for each.

Per round draw m <= d orthonormal directions q_1 ... q_m, uniformly within the direction space. Consecutive events form
pairs: one plays +q_j, the other -q_j, which first is a fair coin; pairs go through the directions in shuffled order.
Every single event's direction u_t = s_t q_j is uniform on the sphere, so (d/radius) sum_t f_t u_t is unbiased for the
gradient of the smoothed loss, exactly as for independent directions, but all that is needed of the losses is one number
for each direction, c_j = sum of s_t f_t over its events. One event is in one number.

Pairing cancels the mean of the losses: what is left is half the difference of two neighbouring losses, small wherever
losses drift slowly. Energy of the estimate, with k events, v^2 half the mean squared difference of a pair's losses:

    E||g||^2 <= k a^2 v^2 + (d/m) min(d, d/(d-1)) k^2 L^2 + m a^2 Var(noise of a number),     a = d/radius.

Bound: that of spheres, with kappa^2 = k a^2 v^2 + (d/m) min(d, d/(d-1)) k^2 L^2 + m a^2 s^2, s^2 the variance of a
number's noise, which is fresh in every round. Plans take v = B/2, the most for losses that are drawn alike within a
pair; an adversary that alternates within pairs can make it B/sqrt(2). Losses must be oblivious within a round: the
first action of a pair tells the second, and a loss that answers to it biases the estimate. The adaptive step costs a
factor sqrt(2) on the first two terms; multiplied by c, which bets on losses that stay as they are, it costs (c + 1/c)/2
on them.

Tests: tests/plans/test_frames.py.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce._sums import Probed
from sottovoce.domains import Domain
from sottovoce.plans.draft import OBLIVIOUS, bet, loss_deviation, placements, probe_noise_of, radii
from sottovoce.plans.explorer import Draw, Exploration, Explorer, Record
from sottovoce.plans.kind import AROUND_POINT, Chosen, ExplorationKind, step_multiplier
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import AroundPoint, PointDraft
from sottovoce.privacy import Mechanism


def haar_frame(domain: Domain, count: int, coins: np.random.Generator) -> Floats:
    """Draw `count` orthonormal rows, uniformly, in the direction space of the domain.

    Parameters
    ----------
    domain
        The set.
    count
        How many, its dimension at most.
    coins
        Public ones.

    Examples
    --------
    >>> import sottovoce as sv
    >>> frame = haar_frame(sv.domains.Simplex(4), 3, np.random.default_rng(0))
    >>> bool(np.allclose(frame @ frame.T, np.eye(3)) and np.allclose(frame.sum(axis=1), 0.0))
    True
    """
    vectors = domain.tangent(coins.standard_normal((count, domain.dimension)))
    if count == 1:
        return np.asarray(vectors / np.linalg.norm(vectors))
    # QR of a Gaussian matrix is uniform once the signs of R's diagonal are taken out (Mezzadri 2007).
    frame, triangle = np.linalg.qr(vectors.T)
    return np.ascontiguousarray((frame * np.sign(np.diag(triangle))).T)


@dataclass(frozen=True, eq=False, kw_only=True)
class Frames(AroundPoint):
    """Rounds of a fixed size that explore along frames.

    Parameters
    ----------
    placement, radius, batch_size, play, middle
        As for `AroundPoint`; the middle matters only for an event that has lost its pair.
    directions
        m, the directions of a round; at most d.

    Examples
    --------
    >>> import sottovoce as sv
    >>> frames = Frames(Placement(sv.domains.Ball(3)), radius=0.1, directions=2, batch_size=8)
    >>> coins = np.random.default_rng(0)
    >>> exploration = frames.begin(np.zeros(3), 0, 8, coins)
    >>> draw = exploration.draw(coins, 0, 8)
    >>> draw.actions.shape, draw.weights.total().tolist()  # forwards as often as backwards
    ((8, 3), [0, 0])
    """

    directions: int

    def __post_init__(self) -> None:
        whole("directions", self.directions, most=self.placement.working.affine_dimension)
        whole("batch_size", self.batch_size)
        assert self.sphere  # refuses a radius that does not fit

    def choose(self, passed: int, size: int, coins: np.random.Generator) -> Record:
        """Draw the round's frame."""
        return {"frame": haar_frame(self.placement.working, self.directions, coins)}

    def resume(self, point: Floats, record: Record) -> "FrameExploration":
        """Return the round that `record` was taken of."""
        return FrameExploration(self, point, record)


class FrameExploration(Exploration):
    """One round along one frame."""

    def __init__(self, frames: Frames, point: Floats, record: Record) -> None:
        super().__init__(frames, frames.sphere.inside(point), record)
        self._frame = np.asarray(record["frame"])
        self.numbers, self.stride = len(self._frame), 2 * len(self._frame)

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events: pairs, in shuffled order over the directions."""
        index, sign = self._shuffle(coins, size)[:size].T
        both = self._explorer.radius * np.concatenate([self._frame, -self._frame]) + self._point
        actions = self._explorer.placement.play(both, index + self.numbers * (sign < 0), coins)
        return Draw(actions, None, Probed(self.numbers, index, sign))

    def _shuffle(self, coins: np.random.Generator, least: int) -> Integers:
        """Return (direction, sign) rows: whole passes over the directions, a pair for each."""
        passes = -(-least // (2 * self.numbers))
        order = coins.permuted(np.tile(np.arange(self.numbers), (passes, 1)), axis=1).ravel()
        first = 2 * coins.integers(0, 2, size=len(order)) - 1
        return np.stack([np.repeat(order, 2), np.stack([first, -first], axis=1).ravel()], axis=1)

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return (d/radius) sum_j c_j q_j."""
        return np.asarray(self._explorer.sphere.scale * (sums - self._explorer.middle * weights) @ self._frame)

    def is_possible(self) -> bool:
        """Whether the directions are orthonormal, and along the set."""
        frame = self._frame
        flat = np.allclose(self._explorer.placement.working.tangent(frame), frame, atol=1e-8)
        return flat and np.allclose(frame @ frame.T, np.eye(len(frame)), atol=1e-8)

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers]:
        """Half of the events along each direction, in whole passes over the directions."""
        most = np.full(self.numbers, -(-size // (2 * self.numbers)))
        return most, most


_MULTIPLIER = 1.5  # of the step: a mild bet on losses that stay as they are; 8% on the bound, 8% off the regret
_PAIRING = 1.5  # what pairing is worth against a bound that does not know of it
_MOST_ROUNDS = 1024


@dataclass(frozen=True)
class FrameOptions(Options, exploration="frames"):
    """What is a frame's own in a plan: the smoothing radius (zeta), and how many directions a round has (m)."""

    radius: float
    directions: int
    order_only: ClassVar[bool] = False

    rests_on = OBLIVIOUS

    def words(self) -> str:
        """How such a plan explores."""
        return f"every event, at radius {self.radius:.4g}, {self.directions} directions a round"


def round_energy(
    size: int, directions: int, dimension: int, *, scale: float, deviation: float, lipschitz: float, noise: float
) -> float:
    """Return the expected squared norm of a round's gradient estimate (kappa^2).

    Parameters
    ----------
    size, directions, dimension
        Events and directions of the round (k, m), and d.
    scale
        What turns loss times direction into an estimate (a).
    deviation, lipschitz, noise
        Of a loss from its pair's mean (v), L, and the noise of a number (s).
    """
    paired = min(dimension, dimension / (dimension - 1)) if dimension > 1 else 1.0
    return (
        size * (scale * deviation) ** 2
        + dimension / directions * paired * (size * lipschitz) ** 2
        + directions * (scale * noise) ** 2
    )


class FrameDraft(PointDraft):
    """A plan that explores along frames, before noise and bound follow."""

    def bound_at(self, deviation: float) -> float:
        """Return the bound for noise of a deviation: every round is released on its own, and the step adapts."""
        working, directions = self.placement.working, self.options.directions
        parts = {"scale": self.scale, "deviation": loss_deviation(self.problem), "lipschitz": self.lipschitz}
        energy = round_energy(self.batch_size, directions, working.affine_dimension, **parts, noise=deviation)
        walk = self.placement.reach_from_start * math.sqrt(2 * self.rounds * energy * (1 + 2 * self.delay))
        return walk * bet(self.step_multiplier) + self.fixed(1e-3 * working.diameter)


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> Iterator[FrameDraft]:
    """Candidates: radius, directions and events per direction on logarithmic grids."""
    d, noise = problem.domain.affine_dimension, probe_noise_of(problem, mechanism)
    batch_size, directions = chosen.get("batch_size"), chosen.get("directions")
    counts = [directions] if directions else sorted({max(1, d >> shift) for shift in range(d.bit_length())})
    for placement in placements(problem, chosen.get("position")):
        for radius, count in product(radii(problem, placement), counts):
            for batch in [batch_size] if batch_size else _batches(problem.horizon, count):
                yield FrameDraft(problem, placement, FrameOptions(radius, count), batch, mechanism, noise)


def _batches(horizon: int, directions: int) -> list[int]:
    """Whole passes over the directions, an even number of events for each, in powers of sqrt(2)."""
    least = math.ceil(horizon / _MOST_ROUNDS)
    sizes = {2 * directions * max(1, round(2 ** (exponent / 2))) for exponent in range(2 * horizon.bit_length())}
    fitting = sorted(size for size in sizes if least <= size <= horizon)
    return fitting or [min(horizon, 2 * directions * max(1, math.ceil(least / (2 * directions))))]


def _build(problem: Problem, plan: Plan, placement: Placement) -> Explorer:
    return Frames(placement, plan.radius, plan.batch_size, problem.play, plan.baseline, directions=plan.directions)


FRAMES = ExplorationKind(
    gives="numbers",
    options=FrameOptions,
    choices={
        **AROUND_POINT,
        "directions": lambda problem, value: whole("directions", value, most=problem.domain.affine_dimension),
        "step_multiplier": step_multiplier,
    },
    drafts=_drafts,
    build=_build,
    bounded=True,
    unasked="worst-case",
    worth=_PAIRING,  # frames cancel the mean of the losses, for which spheres pay in full
    settled={"step_multiplier": _MULTIPLIER},
)
