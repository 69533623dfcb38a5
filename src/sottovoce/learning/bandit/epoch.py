"""One run for a known horizon: its parts, put together from a plan."""

import functools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import part
from sottovoce.domains.oracles import calls_of_this_thread, watched_calls
from sottovoce.exploration import Decisions, Draw, Explorer, Record, Spheres, Stage
from sottovoce.exploration.posterior import PosteriorProbes
from sottovoce.learning.bandit.believer import Believer
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.estimates import CompleteRound, FreshGradient, Grid, ReleasedRound, RunningTotal
from sottovoce.learning.bandit.reports import ReportGrid
from sottovoce.learning.bandit.rounds import Block, OpenRound
from sottovoce.learning.explorations import exploration_named
from sottovoce.learning.oco.noisy_oco import MirrorStep, NoisyOCO
from sottovoce.learning.oco.steps import AdaptiveStep, ConstantStep, StepRule
from sottovoce.learning.planning.checking import check_plan
from sottovoce.learning.planning.choosing import make_plan
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.learning.planning.sensitivity import moves_of
from sottovoce.privacy import ExactSum, FreshSums, LocalDP, NoiseSource, ProbeSums, RunningSums, mechanism_named

__all__ = ["Epoch", "Parts", "assemble", "loss_grid", "next_epoch", "public_coins"]

_BLOCK_EVENTS, _BLOCK_NUMBERS = 4096, 2**17  # of a block: enough for numpy, little for the memory
_PUBLIC_STREAM = 0x636F696E73  # "coins": simulated noise has another key, so equal seeds never share a stream


class Parts(NamedTuple):
    """What a run is made of."""

    explorer: Explorer
    learner: NoisyOCO | Believer
    stage: Stage
    mechanism: ExactSum | ProbeSums | FreshSums | RunningSums


def assemble(
    problem: Problem, plan: Plan, source: NoiseSource, center: Floats | None = None, like: Explorer | None = None
) -> Parts:
    """Build a run as an instance of NoisyOCO.

    Algorithm 1: NoisyGrad is the one-point estimate summed over a batch, the sum is TreeBasedAgg, NoisyMap is
    conditional gradient (or Wolfe's method) on the regularised sum. The projection of c - step*s descends; the paper's
    line 14 has the sign of an ascent. Frames and designs: NoisyGrad releases each round by itself; the sum is plain.
    Posterior probes take no step: what is released goes into what is believed, and that draws the next decisions.
    An explorer of another segment, `like` which it is to be, saves setting it up anew.
    """
    check_plan(problem, plan)
    stage = problem.stage(plan.position)
    grid = loss_grid(problem, plan)
    kind, release = exploration_named(plan.exploration), mechanism_named(plan.mechanism)
    explorer = like.sibling() if isinstance(like, PosteriorProbes) else kind.build(problem, plan, stage)
    moves = moves_of(problem, kind.gives, bits=plan.bits, rounds=plan.rounds, dimension=stage.working.dimension)
    own = {name: getattr(plan.options, name) for name in release.options}
    mechanism = release.start(moves, None if plan.noise is None else source.sampler(plan.noise), **own)
    if isinstance(explorer, PosteriorProbes):
        return Parts(explorer, Believer(explorer, FreshGradient(mechanism, grid)), stage, mechanism)
    point_map = MirrorStep(stage.working, center=center, method=plan.method, gap=plan.gap, max_calls=plan.max_calls)
    build = partial(NoisyOCO, stage.working, step=_step(plan, stage), point_map=point_map, delay=plan.delay)
    if release.releases == "rounds":
        learner = build(gradient=FreshGradient(mechanism, grid))
    else:
        assert isinstance(explorer, Spheres)
        learner = build(gradient=_as_it_is, total=RunningTotal(mechanism, grid, explorer.gradient))
    return Parts(explorer, learner, stage, mechanism)


def _as_it_is(round_: CompleteRound | ReleasedRound, point: Floats | None) -> CompleteRound | ReleasedRound:
    """Where sums are released, not rounds, NoisyGrad hands its round on."""
    return round_


def loss_grid(problem: Problem, plan: Plan) -> Grid:
    """Where the integers of losses live: on the losses' own grid, or on that of privatised reports."""
    if isinstance(problem.privacy, LocalDP):
        return ReportGrid(problem.channel_of_owners)
    return plan.grids(problem.loss_range)[0]


def _step(plan: Plan, stage: Stage) -> StepRule:
    if plan.step is not None:
        return ConstantStep(plan.step)
    reach = stage.reach if plan.reach_from_start is None else plan.reach_from_start
    return AdaptiveStep(reach, plan.step_multiplier)


Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")


def _counting(method: Method) -> Method:
    """Count the oracle calls that a method of an epoch makes."""

    @functools.wraps(method)
    def counted(self: "Epoch", *arguments: Any) -> Any:
        return self.counting(partial(method, self, *arguments))

    return cast(Method, counted)


class _Drawn(NamedTuple):
    """How far an epoch has drawn its events; replaced as a whole."""

    passed: int  # events of the rounds whose blocks are all drawn
    opened: int  # their number
    round: OpenRound | None  # the one after, if begun
    within: int  # events of it that were drawn
    progress: Any  # of its exploration
    newest: tuple[OpenRound, int, Draw] | None  # what was drawn last


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
        like: Explorer | None = None,
    ) -> None:
        self.plan = plan
        self.grid = loss_grid(problem, plan)
        self.explorer, self.learner, self.stage, self._mechanism = assemble(problem, plan, source, center, like)
        self._first, self.earlier = first, earlier  # the first id, and the rounds before it
        self._drawn = _Drawn(0, 0, None, 0, None, None)
        self._learned = self.learner.knowledge(), self.explorer.knowledge()
        # Calls of the oracle by this epoch: made in earlier lives, in all of this one, and before its first event.
        self._earlier_calls = self.calls = self.setup_calls = 0
        self.compact = False  # whether whoever draws takes decisions that are not written out
        self._block_size = max(2, min(_BLOCK_EVENTS, _BLOCK_NUMBERS // problem.domain.dimension) // 2 * 2)

    def exchange(self, explorer: Explorer, learner: NoisyOCO | Believer) -> None:
        """Let others find points and actions, before anything is drawn; how losses are released stays as it is."""
        self.explorer, self.learner = explorer, learner
        self._learned = learner.knowledge(), explorer.knowledge()

    @_counting
    def follow(self, previous: "Epoch") -> None:
        """Begin with what the epoch before this one has learned, as far as it is of use."""
        self.explorer.follow(previous.explorer, previous.plan.horizon)
        self._learned = self.learner.knowledge(), self.explorer.knowledge()

    @property
    def exhausted(self) -> bool:
        """Whether every event has been opened."""
        return self._drawn.passed == self.plan.horizon

    @property
    def newest(self) -> tuple[OpenRound, int, Draw] | None:
        """What `draw_block` drew last."""
        return self._drawn.newest

    @property
    def oracle_calls(self) -> int:
        """Oracle calls that the epoch has cost: planning, points, decisions; of earlier lives, the points alone."""
        return self._earlier_calls + self.calls

    def counting(self, work: Callable[[], Result]) -> Result:
        """Return what work for this epoch returns, and count its oracle calls."""
        before = calls_of_this_thread()
        try:
            return work()
        finally:
            self.calls += calls_of_this_thread() - before

    @property
    def _calls_of_points(self) -> int:
        point_map = self.learner.point_map
        return point_map.calls if isinstance(point_map, MirrorStep) else 0

    def open_block(self, coins: np.random.Generator) -> Block:
        """Draw the next events, ready to take in their losses."""
        return Block(*self.draw_block(coins), self.grid)

    @_counting
    def draw_block(self, coins: np.random.Generator) -> tuple[OpenRound, int, Draw]:
        """Draw the next events: return their round, the number of the first one, and what was drawn.

        A new round's point is fixed with its first block. A draw that is cut short has not happened.
        """
        so_far = self._drawn
        current = so_far.round
        if current is None:
            current = self._begin(so_far, coins)
        else:
            current.exploration.progress = so_far.progress
        draw = current.exploration.draw(coins, min(self._size_of_block(current), current.size - so_far.within))
        if isinstance(draw.actions, Decisions) and not self.compact:
            draw = draw._replace(actions=draw.actions.written())
        newest = current, self._first + so_far.passed + so_far.within, draw
        within, progress = so_far.within + len(draw.actions), current.exploration.progress
        current.opened = within
        if within < current.size:
            self._drawn = _Drawn(so_far.passed, so_far.opened, current, within, progress, newest)
        else:
            self._drawn = _Drawn(so_far.passed + current.size, so_far.opened + 1, None, 0, None, newest)
        return newest

    def _size_of_block(self, current: OpenRound) -> int:
        """Events of a block: as few as their decisions, written out, have room for; all the same if none are."""
        return _BLOCK_EVENTS if self.compact and current.exploration.compact else self._block_size

    def _begin(self, so_far: "_Drawn", coins: np.random.Generator) -> OpenRound:
        passed, opened = so_far.passed, so_far.opened
        self.explorer.prepare()
        size = min(self.explorer.round_size(passed), self.plan.horizon - passed)
        point = self.learner.point(opened)
        exploration = self.explorer.begin(point, passed, size, coins)
        last = passed + size == self.plan.horizon
        place = {"first": self._first + passed, "number": self.earlier + opened}
        return OpenRound(self, point, exploration, size, last, **place)

    def release(self, complete: OpenRound, witness: Callable[[int, Floats], None] | None = None) -> None:
        """Release a complete round, and learn from it: once, however often an attempt is cut short.

        The last one's sum would shape no action, so it is never released. What is released is kept with the round
        before anything uses it; the sums are overwritten; and it is learned if it was not yet.
        """
        released = None
        if not complete.last:
            released = self.draw(complete)
            if witness is not None:
                witness(complete.number, np.array(released.numbers, dtype=np.float64))
        complete.erase()
        if released is not None and self._learned[0].observed == complete.number - self.earlier:
            self.take_in(released, complete.point)

    # ------------------------------------------------------------------ what survives the process

    @property
    def keeps_secrets(self) -> bool:
        """Whether the mechanism holds un-noised values from one round to the next, as trees and factors do."""
        return not isinstance(self.learner.gradient, FreshGradient)

    def draw(self, complete: OpenRound) -> ReleasedRound:
        """Draw the noise of a complete round, once, without learning from it: what is kept of it must be kept first."""
        if complete.released is None:
            if complete.before is None:
                complete.before = self._mechanism.round
            complete.released = self._drawn_now(complete, complete.before)
        return complete.released

    def _drawn_now(self, complete: OpenRound, before: int) -> ReleasedRound:
        sums = complete.complete()
        if self._mechanism.round > before:  # it was drawn, and cut short before it was kept: no second noise
            return ReleasedRound(sums.exploration, self._mechanism.last, sums.weights)
        part: Any = self.learner.gradient
        if self.keeps_secrets:
            assert isinstance(self.learner, NoisyOCO)
            part = self.learner.total
        assert isinstance(part, FreshGradient | RunningTotal)
        return part.release(sums)

    @_counting
    def take_in(self, released: ReleasedRound | None, point: Floats) -> None:
        """Learn from a released round; None passes over a round whose losses are lost or were never to be released.

        What an attempt that was cut short has left half learned is undone first.
        """
        knowledge: Any
        knowledge, of_explorer = self._learned
        self.learner.go_back(knowledge)
        self.explorer.go_back(of_explorer)
        if released is None:
            self.learner.skip()
        else:
            self.learner.observe(released, point)
        self._learned = self.learner.knowledge(), self.explorer.knowledge()

    def state(self) -> Record:
        """Return what the rounds to come depend on: released values and public choices, nothing of an open round."""
        learner = {f"learner.{name}": value for name, value in self.learner.state().items()}
        explorer = {f"explorer.{name}": value for name, value in self.explorer.memory().items()}
        passed, opened = self.counts
        counts = {"first": self._first, "passed": passed, "opened": opened, "calls": self._calls_of_points}
        center = self.learner.point_map.center if isinstance(self.learner.point_map, MirrorStep) else np.empty(0)
        return counts | {"center": center} | learner | explorer

    def restore(self, state: Record) -> None:
        """Take over what `state` returned; a round that was not opened to its end is as good as not begun."""
        self.learner.restore(part(state, "learner"))
        if learned := part(state, "explorer"):
            self.explorer.remember(learned)
        if isinstance(self.learner.point_map, MirrorStep):
            self.learner.point_map.center = np.array(state["center"])
            self.learner.point_map.calls = self._earlier_calls = int(state["calls"])
        self._first = int(state["first"])
        self._drawn = _Drawn(int(state["passed"]), int(state["opened"]), None, 0, None, None)
        self._learned = self.learner.knowledge(), self.explorer.knowledge()

    def reopen(self, unfinished: OpenRound) -> None:
        """Go on with a round whose blocks were not all drawn."""
        progress = unfinished.exploration.progress
        self._drawn = self._drawn._replace(round=unfinished, within=unfinished.opened, progress=progress)

    def go_to(self, passed: int, opened: int) -> None:
        """Go on after so many events and rounds, which others have drawn."""
        self._drawn = _Drawn(passed, opened, None, 0, None, None)

    @property
    def counts(self) -> tuple[int, int]:
        """Events and number of the rounds whose blocks are all open."""
        return self._drawn.passed, self._drawn.opened

    def abandon(self, passed: int) -> None:
        """Pass over all rounds that are not taken in; the next one begins after `passed` events."""
        opened = self._drawn.opened + (self._drawn.round is not None)
        self._drawn = _Drawn(passed, opened, None, 0, None, None)
        while self.learner.observed < opened:
            self.learner.skip()
        self._learned = self.learner.knowledge(), self.explorer.knowledge()

    @_counting
    def last_point(self) -> Floats:
        """The newest point there is: where a next epoch starts."""
        return self.learner.point(self._drawn.opened)


def next_epoch(
    problem: Problem, configuration: BanditConfiguration, source: NoiseSource, *, first: int, previous: Epoch | None
) -> Epoch:
    """Plan and begin the epoch after `previous`, where that one has come to if both work in the same position."""
    calls = calls_of_this_thread()
    with watched_calls(f"setting up for {problem.domain!r}"):
        epoch = _planned(problem, configuration, source, first, previous)
    epoch.calls = epoch.setup_calls = calls_of_this_thread() - calls
    return epoch


def _planned(
    problem: Problem, configuration: BanditConfiguration, source: NoiseSource, first: int, previous: Epoch | None
) -> Epoch:
    name = configuration.plan
    if name == "auto" and previous is not None and exploration_named(previous.plan.exploration).bounded:
        name = "worst-case"  # as it began, perhaps long ago: "auto" was that once, and had other choices
    start, center, earlier = None, None, 0
    if previous is not None:
        earlier = previous.earlier + previous.counts[1]
        if previous.plan.options.steps:
            start = previous.last_point()
            far = float(np.linalg.norm(start - previous.stage.working.center))
            problem = replace(problem, moved=(previous.plan.position, far))
    plan = make_plan(problem, plan=name, **configuration.choices)
    if previous is not None and plan.options.steps and previous.plan.position == plan.position:
        center = start
    epoch = Epoch(problem, plan, source, first=first, center=center, earlier=earlier)
    if previous is not None:
        epoch.follow(previous)
    return epoch


def public_coins(seed: int | None) -> np.random.Generator:
    """Return the generator of public choices; from the operating system's entropy if there is no seed."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(_PUBLIC_STREAM,))))
