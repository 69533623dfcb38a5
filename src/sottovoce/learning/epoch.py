"""One run for a known horizon: its parts, put together from a plan."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._records import part
from sottovoce.exploration import (
    BallProbes,
    Designs,
    Draw,
    Explorer,
    Frames,
    Record,
    Schedule,
    Spheres,
    Stage,
    VertexProbes,
)
from sottovoce.learning.configuration import Configuration
from sottovoce.learning.estimates import CompleteRound, FreshGradient, Grid, ReleasedRound, RunningTotal
from sottovoce.learning.mechanisms import check_plan, running_release
from sottovoce.learning.noisy_oco import MirrorStep, NoisyOCO
from sottovoce.learning.plan import Plan
from sottovoce.learning.planning import make_plan
from sottovoce.learning.problem import Problem
from sottovoce.learning.reports import ReportGrid
from sottovoce.learning.rounds import Block, OpenRound
from sottovoce.learning.steps import AdaptiveStep, ConstantStep, StepRule
from sottovoce.privacy import ExactSum, FreshSums, LocalDP, NoiseSource, ProbeSums, RunningSums

__all__ = ["Epoch", "Parts", "assemble", "loss_grid", "next_epoch", "public_coins"]

Floats = NDArray[np.float64]
_BLOCK_EVENTS, _BLOCK_NUMBERS = 4096, 2**17  # of a block: enough for numpy, little for the memory
_PUBLIC_STREAM = 0x636F696E73  # "coins": simulated noise has another key, so equal seeds never share a stream


class Parts(NamedTuple):
    """What a run is made of."""

    explorer: Explorer
    learner: NoisyOCO
    stage: Stage
    mechanism: ExactSum | ProbeSums | FreshSums | RunningSums


def assemble(problem: Problem, plan: Plan, source: NoiseSource, center: Floats | None = None) -> Parts:
    """Build a run as an instance of NoisyOCO.

    Algorithm 1: NoisyGrad is the one-point estimate summed over a batch, the sum is TreeBasedAgg, NoisyMap is
    conditional gradient (or Wolfe's method) on the regularised sum. The projection of c - step*s descends; the paper's
    line 14 has the sign of an ascent. Frames and designs: NoisyGrad releases each round by itself; the sum is plain.
    """
    check_plan(problem, plan)
    stage = problem.stage(plan.position)
    grid = loss_grid(problem, plan)
    explorer = _explorer(problem, plan, stage)
    point_map = MirrorStep(stage.working, center=center, method=plan.method, gap=plan.gap, max_calls=plan.max_calls)
    build = partial(NoisyOCO, stage.working, step=_step(plan, stage), point_map=point_map, delay=plan.delay)
    dimension = stage.working.dimension
    mechanism: ExactSum | ProbeSums | FreshSums | RunningSums
    if plan.noise is None:
        mechanism = ExactSum(dimension)
        learner = build(gradient=FreshGradient(mechanism, grid))
    elif plan.mechanism == "fresh":
        mechanism = FreshSums(dimension, source.sampler(plan.noise))
        learner = build(gradient=FreshGradient(mechanism, grid))
    elif isinstance(explorer, Spheres):
        mechanism = running_release(problem, plan, dimension, source.sampler(plan.noise))
        learner = build(gradient=_as_it_is, total=RunningTotal(mechanism, grid, explorer.gradient))
    else:
        mechanism = ProbeSums(source.sampler(plan.noise))
        learner = build(gradient=FreshGradient(mechanism, grid))
    return Parts(explorer, learner, stage, mechanism)


def _as_it_is(round_: CompleteRound | ReleasedRound, point: Floats | None) -> CompleteRound | ReleasedRound:
    """Where sums are released, not rounds, NoisyGrad hands its round on."""
    return round_


def loss_grid(problem: Problem, plan: Plan) -> Grid:
    """Where the integers of losses live: on the losses' own grid, or on that of privatised reports."""
    if isinstance(problem.privacy, LocalDP):
        return ReportGrid(problem.channel_of_owners)
    return plan.grids(problem.loss_range)[0]


def _explorer(problem: Problem, plan: Plan, stage: Stage) -> Explorer:
    if plan.exploration == "designs":
        return _designs(problem, plan, stage)
    assert plan.radius is not None
    if plan.exploration == "frames":
        assert plan.directions is not None
        return Frames(stage, plan.radius, plan.directions, plan.batch_size, problem.play, plan.baseline)
    directions = plan.grids(problem.loss_range)[1]
    return Spheres(
        stage, plan.radius, plan.batch_size, directions.quantise, directions.step, problem.play, plan.baseline
    )


def _designs(problem: Problem, plan: Plan, stage: Stage) -> Designs:
    assert plan.rate is not None
    assert plan.probe_events is not None
    probes = BallProbes(stage) if stage.rounded is None else VertexProbes(stage)
    schedule = Schedule(plan.rate, plan.horizon, plan.probe_events, plan.decay, plan.growth)
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
        control_variate=plan.control_variate,
        memory=plan.memory,
        reuse=plan.reuse,
    )


def _step(plan: Plan, stage: Stage) -> StepRule:
    if plan.step is not None:
        return ConstantStep(plan.step)
    return AdaptiveStep(stage.reach, plan.step_multiplier)


class Epoch:
    """A stretch of events with one plan: opens its rounds in order, and releases them in order."""

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        source: NoiseSource,
        first: int = 0,
        center: Floats | None = None,
        earlier: int = 0,
    ) -> None:
        self.plan = plan
        self.grid = loss_grid(problem, plan)
        self.explorer, self.learner, self.stage, self._mechanism = assemble(problem, plan, source, center)
        self._first, self.earlier = first, earlier  # the first id, and the rounds before it
        self._passed = 0  # events of the rounds whose blocks are all open
        self._opened = 0  # their number
        self._round: OpenRound | None = None  # the one after, if begun
        self._drawn_before = 0  # rounds that the learner took in, or passed over, without this mechanism
        self._block_size = max(2, min(_BLOCK_EVENTS, _BLOCK_NUMBERS // problem.domain.dimension) // 2 * 2)

    @property
    def exhausted(self) -> bool:
        """Whether every event has been opened."""
        return self._passed == self.plan.horizon

    @property
    def oracle_calls(self) -> int:
        """Oracle calls that computing points has cost."""
        point_map = self.learner.point_map
        return point_map.calls if isinstance(point_map, MirrorStep) else 0

    def open_block(self, coins: np.random.Generator) -> Block:
        """Draw the next events of the round; a new round's point is fixed with its first block."""
        return Block(*self.draw_block(coins), self.grid)

    def draw_block(self, coins: np.random.Generator) -> tuple[OpenRound, int, Draw]:
        """Draw the next events: return their round, the number of the first one, and what was drawn."""
        if self._round is None:
            self._round = self._begin(coins)
        current = self._round
        draw = current.exploration.draw(coins, min(self._block_size, current.size - current.opened))
        first = self._first + self._passed + current.opened
        current.opened += len(draw.actions)
        if current.opened == current.size:
            self._round = None
            self._passed += current.size
            self._opened += 1
        return current, first, draw

    def _begin(self, coins: np.random.Generator) -> OpenRound:
        size = min(self.explorer.round_size(self._passed), self.plan.horizon - self._passed)
        point = self.learner.point(self._opened)
        exploration = self.explorer.begin(point, self._passed, size, coins)
        last = self._passed + size == self.plan.horizon
        place = {"first": self._first + self._passed, "number": self.earlier + self._opened}
        return OpenRound(self, point, exploration, size, last, **place)

    def release(self, complete: OpenRound, witness: Callable[[int, Floats], None] | None = None) -> None:
        """Take in a complete round, once. The last one's sum would shape no action, so it is never released.

        Should an attempt be cut short (by a keyboard interrupt, say) after the noise was drawn, the mechanism is one
        round ahead of the learner; that round is then skipped, for its losses have no budget for a second noise.
        """
        if complete.last:
            return
        if self._drawn_before + self._mechanism.round > self.learner.observed:
            self.learner.skip()
        else:
            released = self.draw(complete)
            if witness is not None:
                witness(complete.number, np.array(released.numbers, dtype=np.float64))
            self.learner.observe(released, complete.point)

    # ------------------------------------------------------------------ what survives the process

    @property
    def keeps_secrets(self) -> bool:
        """Whether the mechanism holds un-noised values from one round to the next, as trees and factors do."""
        return not isinstance(self.learner.gradient, FreshGradient)

    def draw(self, complete: OpenRound) -> ReleasedRound:
        """Draw the noise of a complete round without taking anything in: what is kept of it must be kept first."""
        part = self.learner.total if self.keeps_secrets else self.learner.gradient
        assert isinstance(part, FreshGradient | RunningTotal)
        return part.release(complete.complete())

    def take_in(self, released: ReleasedRound | None, point: Floats) -> None:
        """Learn from a released round; None passes over a round whose losses are lost or were never to be released."""
        if released is None:
            self.learner.skip()
        else:
            self.learner.observe(released, point)

    def state(self) -> Record:
        """Return what the rounds to come depend on: released values and public choices, nothing of an open round."""
        learner = {f"learner.{name}": value for name, value in self.learner.state().items()}
        explorer = {f"explorer.{name}": value for name, value in self.explorer.memory().items()}
        counts = {"first": self._first, "passed": self._passed, "opened": self._opened, "calls": self.oracle_calls}
        center = self.learner.point_map.center if isinstance(self.learner.point_map, MirrorStep) else np.empty(0)
        return counts | {"center": center} | learner | explorer

    def restore(self, state: Record) -> None:
        """Take over what `state` returned; a round that was not opened to its end is as good as not begun."""
        self.learner.restore(part(state, "learner"))
        if learned := part(state, "explorer"):
            self.explorer.remember(learned)
        if isinstance(self.learner.point_map, MirrorStep):
            self.learner.point_map.center = np.array(state["center"])
            self.learner.point_map.calls = int(state["calls"])
        self._first, self._passed, self._opened = int(state["first"]), int(state["passed"]), int(state["opened"])
        self._drawn_before = self.learner.observed - self._mechanism.round

    def reopen(self, unfinished: OpenRound) -> None:
        """Go on with a round whose blocks were not all drawn."""
        self._round = unfinished

    @property
    def counts(self) -> tuple[int, int]:
        """Events and number of the rounds whose blocks are all open."""
        return self._passed, self._opened

    def abandon(self, passed: int) -> None:
        """Pass over all rounds that are not taken in; the next one begins after `passed` events."""
        self._opened += self._round is not None
        self._round, self._passed = None, passed
        while self.learner.observed < self._opened:
            self.learner.skip()
        self._drawn_before = self.learner.observed - self._mechanism.round

    def last_point(self) -> Floats:
        """The newest point there is: where a next epoch starts."""
        return self.learner.point(self._opened)


def next_epoch(
    problem: Problem, configuration: Configuration, source: NoiseSource, *, first: int, previous: Epoch | None
) -> Epoch:
    """Plan and begin the epoch after `previous`, where that one has come to if both work in the same position."""
    plan = make_plan(problem, plan=configuration.plan, **configuration.choices)
    center, earlier = None, 0
    if previous is not None:
        earlier = previous.earlier + previous.counts[1]
        if previous.plan.position == plan.position:
            center = previous.last_point()
    return Epoch(problem, plan, source, first=first, center=center, earlier=earlier)


def public_coins(seed: int | None) -> np.random.Generator:
    """Return the generator of public choices; from the operating system's entropy if there is no seed."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(_PUBLIC_STREAM,))))
