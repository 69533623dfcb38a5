"""Plans that explore along frames: any convex loss, one released number for each direction."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sottovoce.exploration import Sphere, Stage
from sottovoce.learning.bounds import FrameBound
from sottovoce.learning.mechanisms import finest_bits, needed_noise
from sottovoce.learning.plan import Plan
from sottovoce.learning.problem import Problem
from sottovoce.learning.sphere_plans import _mechanism_name, loss_deviation, no_learning, radii, smoothing
from sottovoce.privacy import LossGrid

__all__ = ["FRAME_MULTIPLIER", "FrameDraft", "frame_plans"]

FRAME_MULTIPLIER = 1.5  # of the step: a mild bet on losses that stay as they are; 8% on the bound, 8% off the regret

_MOST_ROUNDS = 4096


@dataclass(frozen=True)
class FrameDraft:
    """Free choices of a plan, before noise and bound follow from them."""

    problem: Problem
    stage: Stage
    radius: float
    directions: int
    batch_size: int
    delay: int = 0
    method: str = "auto"
    step: float | None = None
    step_multiplier: float = 1.0

    def finish(self) -> Plan:
        """Derive noise and bound."""
        problem, working = self.problem, self.stage.working
        bits = finest_bits(problem, "probe-sums", rounds=1, dimension=1)
        noise = needed_noise(problem, "probe-sums", bits=bits, rounds=1, dimension=1)
        grid = LossGrid(*problem.loss_range, bits=bits)
        gap = 1e-6 * working.diameter**2
        spread = noise.standard_deviation * grid.step if noise else 0.0
        return Plan(
            name="auto",
            exploration="frames",
            mechanism=_mechanism_name(problem, "probe-sums"),
            position="plain" if self.stage.rounded is None else "rounded",
            horizon=problem.horizon,
            batch_size=self.batch_size,
            radius=self.radius,
            directions=self.directions,
            step=self.step,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            method=self.method,
            gap=gap,
            max_calls=10_000,
            baseline=problem.middle,
            bits=bits,
            noise=noise,
            noise_in_loss_units=noise.scale * grid.step if noise else 0.0,
            bound=self._bound(spread, gap).value(),
            bound_without_privacy=self._bound(0.0, gap).value(),
            no_learning=no_learning(problem, self.stage),
        )

    def _bound(self, number_noise: float, gap: float) -> FrameBound:
        problem, working = self.problem, self.stage.working
        return FrameBound(
            events=problem.horizon,
            batch_size=self.batch_size,
            directions=self.directions,
            dimension=working.affine_dimension,
            outer_radius=working.outer_radius,
            estimate_scale=Sphere(working, self.radius, problem.play).scale,
            loss_deviation=loss_deviation(problem),
            lipschitz=problem.lipschitz_in(self.stage),
            number_noise=number_noise,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            point_error=math.sqrt(gap),
            smoothing=smoothing(problem, self.stage, self.radius),
        )


def frame_plans(
    problem: Problem, position: str, batch_size: int | None, directions: int | None
) -> Iterator[FrameDraft]:
    """Candidates: radius, directions and events per direction on logarithmic grids."""
    stage = problem.stage(position)
    d = stage.working.affine_dimension
    counts = [directions] if directions else sorted({max(1, d >> shift) for shift in range(d.bit_length())})
    for radius in radii(problem, stage):
        for count in counts:
            for batch in [batch_size] if batch_size else _batches(problem.horizon, count):
                yield FrameDraft(problem, stage, radius, count, batch)


def _batches(horizon: int, directions: int) -> list[int]:
    """Whole passes over the directions, an even number of events for each, in powers of sqrt(2)."""
    least = math.ceil(horizon / _MOST_ROUNDS)
    sizes = {2 * directions * max(1, round(2 ** (exponent / 2))) for exponent in range(2 * horizon.bit_length())}
    fitting = sorted(size for size in sizes if least <= size <= horizon)
    return fitting or [min(horizon, 2 * directions * max(1, math.ceil(least / (2 * directions))))]
