"""Exploring by designs, for linear losses: a few events try well-chosen probes, the rest play the point itself.

Bound (an order of magnitude, not a guarantee: plans put B/4 for G, and B/2 for what an exploring event costs):
sqrt(2) R_w sqrt(T * energy) + rate T B, with energy (d/rate) (V + y G^2 + s^2/y) per event, y the events of a probe, G
the spread of the mean loss over the design, s^2 the variance of a number's noise, and R_w = sqrt(worst leverage) the
radius in rounded position. A step multiplied by c costs (c + 1/c)/2 on the first term.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce._checks import number, whole
from sottovoce.exploration import BallProbes, Designs, Explorer, Schedule, Stage, VertexProbes
from sottovoce.learning.explorations import kind
from sottovoce.learning.explorations._common import OBLIVIOUS, bet, loss_deviation
from sottovoce.learning.explorations._probe_noise import common_fields, probe_noise_of
from sottovoce.learning.explorations.kind import Chosen, ExplorationKind
from sottovoce.learning.planning.plan import Options, Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import PROBE_SUMS, Mechanism

__all__ = ["DESIGNS", "DesignBound", "DesignDraft", "DesignOptions"]

_ROUND_ENOUGH = 1.2  # outer over inner radius up to which the ball's own points explore as well as vertices would
_LEAST_PROBE, _PROBE_PER_NOISE, _RATE = 4, 10.0, 0.25


@dataclass(frozen=True)
class DesignOptions(Options, exploration="designs"):
    """What is a design's own in a plan.

    Attributes
    ----------
    rate, probe_events
        Share of events that explore, and events of a probe.
    decay, growth
        How the two change with time.
    control_variate
        Whether earlier releases serve as one.
    reuse
        Whether the losses of events that do not explore are read as well.
    memory
        How many rounds are remembered.
    """

    rate: float
    probe_events: int
    decay: float = 0.0
    growth: float = 0.0
    control_variate: bool = True
    reuse: bool = False
    memory: float = math.inf
    order_only: ClassVar[bool] = True

    @property
    def rests_on(self) -> str:
        """What has to be true for it to do well."""
        return OBLIVIOUS

    def words(self) -> str:
        """How such a plan explores."""
        reporting = "all report" if self.reuse else "only these report"
        law = f", falling as t^-{self.decay:.2g}" if self.decay else ""
        return f"{100 * self.rate:.3g}% of events{law}, {self.probe_events} for each probe; {reporting}"


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
    mechanism: Mechanism = PROBE_SUMS

    def finish(self) -> Plan:
        """Derive noise and bound."""
        problem = self.problem
        return Plan(
            **common_fields(problem, self.stage, self.mechanism),
            batch_size=min(problem.horizon, self.probe_events * max(1, round(1 / self.rate))),
            options=DesignOptions(
                self.rate,
                self.probe_events,
                self.decay,
                self.growth,
                self.control_variate,
                self.reuse,
                self.memory,
            ),
            step=self.step,
            step_multiplier=self.step_multiplier,
            delay=self.delay,
            method=self.method,
            bound=self._bound(probe_noise_of(problem, self.mechanism).deviation).value(),
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
            outer_radius=self.stage.reach_from_start,
            loss_deviation=loss_deviation(problem),
            spread=problem.width / 4,
            width=problem.width / 2,
            number_noise=number_noise,
            step_multiplier=self.step_multiplier,
            point_error=1e-3 * self.stage.working.diameter,
        )


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> Iterator[Iterator[DesignDraft]]:
    yield iter([_draft(problem, mechanism, chosen.get("rate"), chosen.get("probe_events"))])


def _draft(problem: Problem, mechanism: Mechanism, rate: float | None, probe_events: int | None) -> DesignDraft:
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
    noise = probe_noise_of(problem, mechanism).deviation
    events = probe_events or max(_LEAST_PROBE, round(_PROBE_PER_NOISE * noise / problem.width))
    energy = loss_deviation(problem) ** 2 / 4 + noise**2 / events
    gap = problem.width / 4
    share = _RATE * (stage.working.affine_dimension**2 * energy / (problem.horizon * gap**2)) ** (1 / 3)
    share = rate or min(0.25, max(share, events / problem.horizon))
    return DesignDraft(problem, stage, share, min(events, problem.horizon), mechanism=mechanism)


def _build(problem: Problem, plan: Plan, stage: Stage) -> Explorer:
    options = plan.options
    assert isinstance(options, DesignOptions)
    probes = BallProbes(stage) if stage.rounded is None else VertexProbes(stage)
    schedule = Schedule(options.rate, plan.horizon, options.probe_events, options.decay, options.growth)
    noise = 0.0
    if plan.noise is not None:
        noise = plan.noise.standard_deviation * plan.grids(problem.loss_range)[0].step
    return Designs(
        stage,
        probes,
        schedule,
        middle=problem.middle,
        spread=problem.width / 4,
        noise=noise,
        loss_variance=(problem.width / 4) ** 2,
        control_variate=options.control_variate,
        memory=options.memory,
        reuse=options.reuse,
    )


def _rate(problem: Problem, value: Any) -> float:
    return number("rate", value, above=0, at_most=1)


def _probe_events(problem: Problem, value: Any) -> int:
    return whole("probe_events", value, most=problem.horizon)


def _decay(problem: Problem, value: Any) -> float:
    return number("decay", value, above=-1e-12, at_most=0.9)


def _growth(problem: Problem, value: Any) -> float:
    return number("growth", value, above=-1e-12, at_most=0.9)


def _memory(problem: Problem, value: Any) -> float:
    return float(value) if value == math.inf else number("memory", value, above=1)


DESIGNS = ExplorationKind(
    gives="numbers",
    options=DesignOptions,
    choices={
        "rate": _rate,
        "probe_events": _probe_events,
        "decay": _decay,
        "growth": _growth,
        "control_variate": kind.flag,
        "reuse": kind.flag,
        "memory": _memory,
        "step_multiplier": kind.step_multiplier,
    },
    drafts=_drafts,
    build=_build,
    losses=("linear",),
    why_not="probes say nothing about the point otherwise",
    preferred=True,  # the method for linear losses, whose worst case is of another kind
)
