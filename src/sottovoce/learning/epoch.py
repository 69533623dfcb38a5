"""One run for a known horizon: its parts, put together from a plan.

Where the horizon is unknown, epochs have doubled lengths. They hold disjoint events, so their guarantees do not add up:
one loss is in one epoch, and the whole run keeps the guarantee of a single one (parallel composition). The paper
charges a logarithmic factor that is not needed. Starting an epoch where the last one ended is post-processing of what
was released.
"""

from functools import partial
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import headed, part
from sottovoce.learning.learners import FreshGradient, Grid, PosteriorLearner, ReleasedRound, RunningTotal
from sottovoce.learning.reports import ReportGrid
from sottovoce.oco.noisy_oco import MirrorStep, NoisyOCO
from sottovoce.oco.steps import AdaptiveStep, ConstantStep
from sottovoce.plans import exploration_named
from sottovoce.plans.choosing import check_plan
from sottovoce.plans.explorer import Exploration, Explorer, Record
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import sensitivity_of
from sottovoce.privacy import LocalDP, NoiseSource, mechanism_named

FIRST_EPOCH = 256
_BLOCK_EVENTS, _BLOCK_NUMBERS = 4096, 2**17  # of a block: enough for numpy, little for the memory


def next_length(horizon: int | None, planned: int) -> int:
    """Return the length of the epoch after `planned` events.

    Examples
    --------
    >>> next_length(1000, 0), next_length(None, 0), next_length(None, 256 + 512)
    (1000, 256, 1024)
    """
    return FIRST_EPOCH + planned if horizon is None else horizon


def _as_it_is(round_: ReleasedRound, point: Floats | None) -> ReleasedRound:
    """Where sums are released, not rounds, NoisyGrad hands its round on."""
    return round_


def loss_grid(problem: Problem, plan: Plan) -> Grid:
    """Where the integers of losses live: on the losses' own grid, or on that of privatised reports."""
    if isinstance(problem.privacy, LocalDP):
        return ReportGrid(problem.channel_of_owners, rewards=problem.sign < 0)
    return problem.item_grid(plan.bits) if problem.feedback == "items" else problem.loss_grid(plan.bits)


class Epoch:
    """A stretch of a stream's events with one plan: begins its rounds in order, and learns from them in order.

    Parameters
    ----------
    problem, plan
        What is decided, for so many events, and how.
    source
        Of noise.
    center
        Where it begins, if not at the centre of the set.
    like
        The explorer of another segment, which its own is to be like: that saves setting it up anew.

    Attributes
    ----------
    before, earlier
        Events and rounds of the stream before it.
    after
        From how many rounds the epoch before it had learned when it began.
    number
        Which of the sets it plays.
    """

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        source: NoiseSource,
        center: Floats | None = None,
        like: Explorer | None = None,
    ) -> None:
        check_plan(problem, plan)
        self.plan, self.grid, self.placement = plan, loss_grid(problem, plan), problem.placement(plan.position)
        kind, release = exploration_named(plan.exploration), mechanism_named(plan.mechanism)
        # Whether the mechanism holds un-noised values from one round to the next, as trees and factors do:
        self.keeps_secrets = release.releases == "sums"
        self.explorer = kind.build(problem, plan, self.placement) if like is None else like.fresh_copy()
        dimension = self.placement.working.dimension
        sensitivity = sensitivity_of(problem, kind.gives, bits=plan.bits, rounds=plan.rounds, dimension=dimension)
        own = {name: getattr(plan.options, name) for name in release.options}
        self.mechanism = release.start(sensitivity, None if plan.noise is None else source.sampler(plan.noise), **own)
        self.learner = self._made_learner(center)
        self.counts = 0, 0  # events, and number, of the rounds that have begun
        self._undo: Any = None  # what was known before the round that is being learned from
        self.before = self.earlier = self.after = self.number = 0
        self._block_size = max(2, min(_BLOCK_EVENTS, _BLOCK_NUMBERS // problem.domain.dimension) // 2 * 2)

    def _made_learner(self, center: Floats | None) -> NoisyOCO | PosteriorLearner:
        """Return what learns from its rounds: an instance of NoisyOCO, or what hands them to the explorer's belief.

        Algorithm 1: NoisyGrad is the one-point estimate summed over a batch, the sum is TreeBasedAgg, NoisyMap is
        conditional gradient (or Wolfe's method) on the regularised sum. The projection of c - step*s descends; the
        paper's line 14 has the sign of an ascent. Frames and designs: NoisyGrad releases each round by itself; the sum
        is plain. Posterior probes take no step: what is released goes into what is believed, and that draws the next
        decisions.
        """
        plan, working = self.plan, self.placement.working
        if not plan.options.steps:
            return PosteriorLearner(self.explorer, FreshGradient(self.grid))
        reach = self.placement.reach if plan.reach_from_start is None else plan.reach_from_start
        step = AdaptiveStep(reach, plan.step_multiplier) if plan.step is None else ConstantStep(plan.step)
        point_map = MirrorStep(working, center=center, method=plan.method, gap=plan.gap, max_calls=plan.max_calls)
        build = partial(NoisyOCO, working, step=step, point_map=point_map, delay=plan.delay)
        if not self.keeps_secrets:
            return build(gradient=FreshGradient(self.grid))
        return build(gradient=_as_it_is, total=RunningTotal(self.mechanism, self.grid, self.explorer.gradient))

    def follow(self, previous: "Epoch") -> None:
        """Begin with what the epoch before this one has learned, as far as it is of use."""
        self.explorer.follow(previous.explorer, previous.plan.horizon)

    def take_over(self, previous: "Epoch", number: int) -> None:
        """Go on where an epoch has come to that played another set: its rounds are counted, and learned from, here."""
        self.before, self.earlier, self.after, self.number = previous.before, previous.earlier, previous.after, number
        self.explorer.follow(previous.explorer, 0)
        self.learner.restore(previous.learner.state())
        self.counts = previous.counts

    @property
    def end(self) -> int:
        """Events of the stream up to its end."""
        return self.before + self.plan.horizon

    @property
    def knows(self) -> float:
        """How much it has to go by: events, or, where it adds up gradients, how long it was to be; 0 if nothing."""
        if self.explorer.belief is not None:
            belief: Any = self.explorer.belief
            return float(belief.measurements.counts.sum()) or 0.5 * belief.remembers_earlier
        learner: Any = self.learner
        learned = learner.observed and bool(learner.released_sum.any())  # rounds may have been passed over
        return float(self.plan.horizon) if learned else 0.0

    # ------------------------------------------------------------------ rounds

    @property
    def observed(self) -> int:
        """How many of its rounds it has learned from."""
        return self.learner.observed if self._undo is None else int(self._undo[0])

    def begin_round(self, coins: np.random.Generator, passed: int, opened: int) -> tuple[int, Floats, Exploration]:
        """Begin the round after so many events and rounds of this epoch: return its size, its point, its choices."""
        self.explorer.prepare()
        size = min(self.explorer.round_size(passed), self.plan.horizon - passed)
        point = self.learner.point(opened)
        exploration = self.explorer.begin(point, passed, size, coins)
        self.counts = passed + size, opened + 1
        return size, point, exploration

    def chunk_of(self, exploration: Exploration) -> int:
        """Slots that are drawn together: as few as their decisions, written out, have room for; whole strides."""
        length = _BLOCK_EVENTS if exploration.compact else self._block_size
        return max(1, length // exploration.stride) * exploration.stride

    # ------------------------------------------------------------------ what survives the process

    def take_in(self, released: ReleasedRound | None, point: Floats) -> None:
        """Learn from a released round; None passes over a round whose losses are lost or were never to be released.

        What an attempt that was cut short has left half learned is undone first.
        """
        if self._undo is None:
            self._undo = self.learner.observed, self.learner.knowledge(), self.explorer.knowledge()
        _, of_learner, of_explorer = self._undo
        self.learner.go_back(of_learner)
        self.explorer.go_back(of_explorer)
        if released is None:
            self.learner.skip()
        else:
            self.learner.observe(released, point)
        self._undo = None

    def state(self) -> Record:
        """Return what the rounds to come depend on: released values and public choices, nothing of an open round."""
        place: Record = {"before": self.before, "earlier": self.earlier, "after": self.after, "set": self.number}
        place |= {"passed": self.counts[0], "opened": self.counts[1], "center": self.learner.center}
        return place | headed("learner", self.learner.state()) | headed("explorer", self.explorer.memory())

    def restore(self, state: Record) -> None:
        """Take over what `state` returned; a round that was not opened to its end is as good as not begun."""
        self.before, self.earlier, self.after, self.number = (
            state[one] for one in ("before", "earlier", "after", "set")
        )
        self.learner.restore(part(state, "learner"))
        if learned := part(state, "explorer"):
            self.explorer.remember(learned)
        self.learner.begin_at(np.array(state["center"]))
        self.counts, self._undo = (int(state["passed"]), int(state["opened"])), None
