"""Exploring along frames: any convex loss, a few orthonormal directions a round, one released number for each.

Bound: that of spheres, with kappa^2 = k a^2 v^2 + (d/m) min(d, d/(d-1)) k^2 L^2 + m a^2 s^2, s^2 the variance of a
number's noise, which is fresh in every round. Plans take v = B/2, the most for losses that are drawn alike within a
pair; an adversary that alternates within pairs can make it B/sqrt(2). Losses must be oblivious within a round: the
first action of a pair tells the second, and a loss that answers to it biases the estimate. The adaptive step costs a
factor sqrt(2) on the first two terms; multiplied by c, which bets on losses that stay as they are, it costs (c + 1/c)/2
on them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sottovoce._checks import whole
from sottovoce.exploration import Explorer, Frames, Sphere, Stage
from sottovoce.learning.explorations import kind
from sottovoce.learning.explorations._common import OBLIVIOUS, bet, loss_deviation, no_learning, radii, smoothing
from sottovoce.learning.explorations._positions import positions
from sottovoce.learning.explorations._probe_noise import ProbeNoise, common_fields, probe_noise_of
from sottovoce.learning.explorations.kind import Chosen, ExplorationKind
from sottovoce.learning.planning.plan import Options, Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import Mechanism

__all__ = ["FRAMES", "FrameBound", "FrameDraft", "FrameOptions"]

_MULTIPLIER = 1.5  # of the step: a mild bet on losses that stay as they are; 8% on the bound, 8% off the regret
_PAIRING = 1.5  # what pairing is worth against a bound that does not know of it
_MOST_ROUNDS = 1024


@dataclass(frozen=True)
class FrameOptions(Options, exploration="frames"):
    """What is a frame's own in a plan: the smoothing radius (zeta), and how many directions a round has (m)."""

    radius: float
    directions: int

    @property
    def rests_on(self) -> str:
        """What has to be true for it to do well."""
        return OBLIVIOUS

    def words(self) -> str:
        """How such a plan explores."""
        return f"every event, at radius {self.radius:.4g}, {self.directions} directions a round"


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
class FrameDraft:
    """Free choices of a plan, before noise and bound follow from them."""

    problem: Problem
    stage: Stage
    radius: float
    directions: int
    batch_size: int
    mechanism: Mechanism
    noise: ProbeNoise  # the same for all drafts of a search
    delay: int = 0
    method: str = "auto"
    step: float | None = None
    step_multiplier: float = 1.0

    @property
    def bound(self) -> float:
        """The bound alone: most drafts of a search are asked for no more."""
        return self._bound(self.noise.deviation).value()

    def finish(self) -> Plan:
        """Derive the bound."""
        return Plan(
            **common_fields(self.problem, self.stage, self.mechanism, self.noise),
            batch_size=self.batch_size,
            options=FrameOptions(self.radius, self.directions),
            step=self.step,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            method=self.method,
            bound=self.bound,
            bound_without_privacy=self._bound(0.0).value(),
            no_learning=no_learning(self.problem, self.stage),
            notes=self.problem.cautions(self.stage),
        )

    def _bound(self, number_noise: float) -> FrameBound:
        problem, working = self.problem, self.stage.working
        return FrameBound(
            events=problem.horizon,
            batch_size=self.batch_size,
            directions=self.directions,
            dimension=working.affine_dimension,
            outer_radius=self.stage.reach_from_start,
            estimate_scale=Sphere(working, self.radius, problem.play).scale,
            loss_deviation=loss_deviation(problem),
            lipschitz=problem.lipschitz_in(self.stage),
            number_noise=number_noise,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            point_error=1e-3 * working.diameter,
            smoothing=smoothing(problem, self.stage, self.radius),
        )


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> Iterator[Iterator[FrameDraft]]:
    """Candidates: radius, directions and events per direction on logarithmic grids."""
    for place in positions(problem, chosen.get("position")):
        yield _grid(problem, problem.stage(place), mechanism, chosen)


def _grid(problem: Problem, stage: Stage, mechanism: Mechanism, chosen: Chosen) -> Iterator[FrameDraft]:
    d, noise = stage.working.affine_dimension, probe_noise_of(problem, mechanism)
    batch_size, directions = chosen.get("batch_size"), chosen.get("directions")
    counts = [directions] if directions else sorted({max(1, d >> shift) for shift in range(d.bit_length())})
    for radius in radii(problem, stage):
        for count in counts:
            for batch in [batch_size] if batch_size else _batches(problem.horizon, count):
                yield FrameDraft(problem, stage, radius, count, batch, mechanism, noise)


def _batches(horizon: int, directions: int) -> list[int]:
    """Whole passes over the directions, an even number of events for each, in powers of sqrt(2)."""
    least = math.ceil(horizon / _MOST_ROUNDS)
    sizes = {2 * directions * max(1, round(2 ** (exponent / 2))) for exponent in range(2 * horizon.bit_length())}
    fitting = sorted(size for size in sizes if least <= size <= horizon)
    return fitting or [min(horizon, 2 * directions * max(1, math.ceil(least / (2 * directions))))]


def _directions(problem: Problem, value: Any) -> int:
    return whole("directions", value, most=problem.domain.affine_dimension)


def _build(problem: Problem, plan: Plan, stage: Stage) -> Explorer:
    return Frames(stage, plan.radius, plan.directions, plan.batch_size, problem.play, plan.baseline)


FRAMES = ExplorationKind(
    gives="numbers",
    options=FrameOptions,
    choices={
        "radius": kind.radius,
        "batch_size": kind.batch_size,
        "directions": _directions,
        "position": kind.position,
        "step_multiplier": kind.step_multiplier,
    },
    drafts=_drafts,
    build=_build,
    worth=_PAIRING,  # frames cancel the mean of the losses, for which spheres pay in full
    settled={"step_multiplier": _MULTIPLIER},
)
