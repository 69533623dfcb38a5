"""One run of Algorithm 1 for a known horizon: its parts, put together from a plan."""

import numpy as np
from numpy.typing import NDArray

from sottovoce.exploration import Sphere
from sottovoce.learning.estimates import OnePointGradient, PrivateTotal
from sottovoce.learning.noisy_oco import MirrorStep, NoisyOCO
from sottovoce.learning.plan import Plan
from sottovoce.learning.planning import check_plan
from sottovoce.learning.problem import Problem
from sottovoce.learning.rounds import Block, OpenRound
from sottovoce.privacy import ExactSum, NoiseSource, TreeAggregator

__all__ = ["Epoch", "assemble"]

Floats = NDArray[np.float64]
_BLOCK_EVENTS, _BLOCK_NUMBERS = 4096, 2**17  # of a block: enough for numpy, little for the memory


def assemble(problem: Problem, plan: Plan, source: NoiseSource, center: Floats | None = None) -> NoisyOCO:
    """Build Algorithm 1 as an instance of NoisyOCO.

    NoisyGrad is the one-point estimate summed over a batch; the sum is TreeBasedAgg; NoisyMap is conditional gradient
    (or Wolfe's method) on the regularised sum. The projection of c - step*s descends; the paper's line 14 has the sign
    of an ascent.
    """
    check_plan(problem, plan)
    domain = problem.domain
    losses, directions = plan.grids(problem.loss_range)
    scale = Sphere(domain, plan.radius, problem.play).scale
    gradient = OnePointGradient(scale, losses, directions, plan.baseline)
    release: ExactSum | TreeAggregator = ExactSum(domain.dimension)
    if plan.noise is not None and problem.privacy.private:
        sampler = source.sampler(plan.noise)
        release = TreeAggregator(plan.rounds, domain.dimension, sampler, padding=plan.padding)
    return NoisyOCO(
        domain,
        gradient=gradient,
        step=plan.step,
        point_map=MirrorStep(domain, center=center, method=plan.method, gap=plan.gap, max_calls=plan.max_calls),
        total=PrivateTotal(release, gradient.unit),
        delay=plan.delay,
    )


class Epoch:
    """A stretch of events with one plan: opens its rounds in order, and releases them in order."""

    def __init__(
        self, problem: Problem, plan: Plan, source: NoiseSource, first: int = 0, center: Floats | None = None
    ) -> None:
        self.plan = plan
        self.learner = assemble(problem, plan, source, center)
        self.released = 0
        self._sphere = Sphere(problem.domain, plan.radius, problem.play)
        self._losses, self._directions = plan.grids(problem.loss_range)
        self._first = first
        self._opened = 0  # rounds whose blocks are all open
        self._round: OpenRound | None = None  # the one after, if begun
        self._block_size = max(1, min(_BLOCK_EVENTS, _BLOCK_NUMBERS // problem.domain.dimension))

    @property
    def exhausted(self) -> bool:
        """Whether every round has been opened."""
        return self._opened == self.plan.rounds

    @property
    def oracle_calls(self) -> int:
        """Oracle calls that computing points has cost."""
        point_map = self.learner.point_map
        return point_map.calls if isinstance(point_map, MirrorStep) else 0

    def open_block(self, coins: np.random.Generator) -> Block:
        """Draw the directions of the next events of the round; a new round's point is fixed with its first block."""
        start = self._opened * self.plan.batch_size
        if self._round is None:
            size = min(self.plan.batch_size, self.plan.horizon - start)
            self._round = OpenRound(self, self.learner.point(self._opened), size)
        current = self._round
        directions = self._sphere.directions(coins, min(self._block_size, current.size - current.opened))
        actions = self._sphere.actions(current.point, directions)
        first = self._first + start + current.opened
        block = Block(current, first, self._directions.quantise(directions), actions, self._losses)
        current.opened += block.size
        if current.opened == current.size:
            self._round = None
            self._opened += 1
        return block

    def release(self, complete: OpenRound) -> None:
        """Take in a complete round. The last one's sum would shape no action, so it is never released."""
        if self.released < self.plan.rounds - 1:
            self.learner.observe(complete.sums(), complete.point)
        self.released += 1

    def last_point(self) -> Floats:
        """The newest point there is: where a next epoch starts."""
        return self.learner.point(self.plan.rounds)
