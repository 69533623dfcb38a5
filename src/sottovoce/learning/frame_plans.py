"""Plans that explore along frames: any convex loss, one released number for each direction."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sottovoce.exploration import Sphere, Stage
from sottovoce.learning.bounds import FrameBound
from sottovoce.learning.plan import Plan
from sottovoce.learning.probe_plans import common_fields, probe_noise_of
from sottovoce.learning.problem import Problem
from sottovoce.learning.sphere_plans import loss_deviation, no_learning, radii, smoothing

__all__ = ["FRAME_MULTIPLIER", "FrameDraft", "frame_plans"]

FRAME_MULTIPLIER = 1.5  # of the step: a mild bet on losses that stay as they are; 8% on the bound, 8% off the regret

_MOST_ROUNDS = 1024


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
        noise = probe_noise_of(self.problem).deviation
        return Plan(
            **common_fields(self.problem, self.stage),
            exploration="frames",
            batch_size=self.batch_size,
            radius=self.radius,
            directions=self.directions,
            step=self.step,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            method=self.method,
            bound=self._bound(noise).value(),
            bound_without_privacy=self._bound(0.0).value(),
            no_learning=no_learning(self.problem, self.stage),
        )

    def _bound(self, number_noise: float) -> FrameBound:
        problem, working = self.problem, self.stage.working
        return FrameBound(
            events=problem.horizon,
            batch_size=self.batch_size,
            directions=self.directions,
            dimension=working.affine_dimension,
            outer_radius=self.stage.reach,
            estimate_scale=Sphere(working, self.radius, problem.play).scale,
            loss_deviation=loss_deviation(problem),
            lipschitz=problem.lipschitz_in(self.stage),
            number_noise=number_noise,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            point_error=1e-3 * working.diameter,
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
