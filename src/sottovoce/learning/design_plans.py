"""Plans for linear losses: a few events explore with well-chosen probes, the rest play the point itself."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sottovoce.exploration import Stage
from sottovoce.learning.bounds import DesignBound
from sottovoce.learning.plan import Plan
from sottovoce.learning.probe_plans import common_fields, probe_noise_of
from sottovoce.learning.problem import Problem
from sottovoce.learning.sphere_plans import loss_deviation

__all__ = ["DesignDraft", "design_plans"]

_ROUND_ENOUGH = 1.2  # outer over inner radius up to which the ball's own points explore as well as vertices would
_MEMORY_UNDER_DRIFT = 200.0
_LEAST_PROBE, _PROBE_PER_NOISE, _RATE = 4, 10.0, 0.25


@dataclass(frozen=True)
class DesignDraft:
    """Free choices of a plan, before noise and bound follow from them."""

    problem: Problem
    stage: Stage
    rate: float
    probe_events: int
    delay: int = 0
    method: str = "auto"
    step: float | None = None
    step_multiplier: float = 3.0
    decay: float = 1 / 3
    growth: float = 0.0
    control_variate: bool = True
    reuse: bool = False
    memory: float = math.inf

    def finish(self) -> Plan:
        """Derive noise and bound."""
        problem = self.problem
        return Plan(
            **common_fields(problem, self.stage),
            exploration="designs",
            batch_size=min(problem.horizon, self.probe_events * max(1, round(1 / self.rate))),
            rate=self.rate,
            probe_events=self.probe_events,
            decay=self.decay,
            growth=self.growth,
            control_variate=self.control_variate,
            reuse=self.reuse,
            memory=self.memory,
            step=self.step,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            method=self.method,
            bound=self._bound(probe_noise_of(problem).deviation).value(),
            bound_without_privacy=self._bound(0.0).value(),
            no_learning=problem.horizon * problem.width,
        )

    def _bound(self, number_noise: float) -> DesignBound:
        problem = self.problem
        return DesignBound(
            events=problem.horizon,
            rate=self.rate,
            probe_events=self.probe_events,
            dimension=self.stage.working.affine_dimension,
            outer_radius=self.stage.reach,
            loss_deviation=loss_deviation(problem),
            spread=problem.width / 4,
            width=problem.width / 2,
            number_noise=number_noise,
            step_multiplier=self.step_multiplier,
            point_error=1e-3 * self.stage.working.diameter,
        )


def design_plans(problem: Problem, rate: float | None, probe_events: int | None) -> Iterator[DesignDraft]:
    """The one candidate: events of a probe and share of exploring events by formula.

    Both come from balancing the terms of the bound, at losses of typical variance B^2/16 and a gap of B/4 between the
    best point and the mean: with noise of variance s^2 in a number, a probe gets so many events that s^2/y is of the
    order of what the losses vary by themselves, and the rate is of the order of (d^2 energy/(T gap^2))^(1/3). The
    constants were chosen by simulation: a control variate and an adaptive step leave less to explore than the bound,
    which knows of neither, would ask for.
    """
    working = problem.domain
    ball = not problem.integral and working.outer_radius <= _ROUND_ENOUGH * working.inner_radius
    stage = problem.stage("plain" if ball else "rounded")
    noise = probe_noise_of(problem).deviation
    events = probe_events or max(_LEAST_PROBE, round(_PROBE_PER_NOISE * noise / problem.width))
    energy = loss_deviation(problem) ** 2 / 4 + noise**2 / events
    gap = problem.width / 4
    share = _RATE * (stage.working.affine_dimension**2 * energy / (problem.horizon * gap**2)) ** (1 / 3)
    share = rate or min(0.25, max(share, events / problem.horizon))
    memory = _MEMORY_UNDER_DRIFT if problem.drift else math.inf
    yield DesignDraft(problem, stage, share, min(events, problem.horizon), memory=memory)
