"""From a round's released integers to what is learned: gradients for NoisyOCO, or what is believed.

With f = low + step * q (q the loss's integer), a round's released sums of w q give sums of w f: step * released plus
low * (sum of w), the last sum being public; those of squares begin at 0, in the middle of the range. The round's
exploration turns them into a gradient. Nothing here has ever seen a private number.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.learning.reports import ReportGrid
from sottovoce.plans.explorer import Exploration, Explorer, Record
from sottovoce.privacy import ExactSum, FreshSums, ItemGrid, LossGrid, TreeAggregator

Grid = LossGrid | ReportGrid | ItemGrid
"""Where the integers of losses live: f = low + step * q."""


class ReleasedRound(NamedTuple):
    """What is known of a round once it is released: `numbers` carry their noise, and are all there will ever be.

    Its own numbers, or the running sums that it completes where these are released.
    """

    exploration: Exploration
    numbers: Floats | Integers
    weights: Integers
    squares: Floats | Integers | None = None


class FreshGradient:
    """NoisyGrad where every round is released on its own: the round's estimate, noise included.

    Parameters
    ----------
    grid
        The losses' grid.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def __call__(self, released: ReleasedRound, point: Floats | None = None) -> Floats:
        """Return the gradient estimate of a round."""
        return released.exploration.estimate(*self.sums(released))

    def sums(self, released: ReleasedRound) -> tuple[Floats, ...]:
        """Return the released sums of w f, in units of loss, those of w, and those of squares, if there are any."""
        step, squares = self._grid.step, released.squares
        sums = step * np.asarray(released.numbers, dtype=np.float64) + self._grid.low * released.weights
        more = () if squares is None else (step * np.asarray(squares, dtype=np.float64),)
        return sums, released.weights.astype(np.float64), *more


class RunningTotal:
    """The running sum of estimates where the *sums* are released, as by a tree.

    Parameters
    ----------
    release
        The mechanism, such as `TreeAggregator`.
    grid
        The losses' grid.
    gradient
        From sums of w f and of w, over all rounds so far, to a gradient: linear, and the same for every round.
    """

    def __init__(
        self, release: TreeAggregator | FreshSums | ExactSum, grid: Grid, gradient: Callable[[Floats, Floats], Floats]
    ) -> None:
        self._release, self._grid, self._gradient = release, grid, gradient
        self.value: Floats = np.zeros(1)  # the sum of the weights

    def start(self) -> Floats:
        """Return the sum before any data."""
        start = self._release.start()
        self.value = np.zeros_like(start)
        return self._gradient(self._grid.step * start, self.value)

    def add(self, released: ReleasedRound) -> Floats:
        """Take in the released sum with one more round in it; return the gradient."""
        self.value = self.value + released.weights
        return self._gradient(self._grid.step * released.numbers + self._grid.low * self.value, self.value)


class PosteriorLearner:
    """Hands released numbers to an explorer that believes; its point is the best decision as far as is known.

    Parameters
    ----------
    explorer
        Holds the belief.
    gradient
        How rounds are released.
    """

    point_map = None
    center: Floats = np.empty(0)

    def __init__(self, explorer: Explorer, gradient: FreshGradient) -> None:
        assert explorer.belief is not None
        self.explorer, self.gradient = explorer, gradient
        self.observed = 0

    def point(self, round_number: int | None = None) -> Floats:
        """Return the best decision that is known, whatever the round."""
        assert self.explorer.belief is not None
        return self.explorer.belief.leader

    def observe(self, released: ReleasedRound, point: Floats | None = None) -> None:
        """Take in what a round has released."""
        released.exploration.learn(self.explorer.belief, *self.gradient.sums(released))
        self.observed += 1

    def begin_at(self, center: Floats) -> None:
        """Begin anywhere: no point is where it begins."""

    def skip(self) -> None:
        """Pass over a round whose losses are lost."""
        self.observed += 1

    def knowledge(self) -> int:
        """Return how much was learned from; the belief keeps its own."""
        return self.observed

    def go_back(self, knowledge: int) -> None:
        """Know no more than what `knowledge` returned."""
        self.observed = knowledge

    def state(self) -> Record:
        """Return how much was learned from."""
        return {"observed": self.observed}

    def restore(self, state: Record) -> None:
        """Take over what `state` returned."""
        self.observed = int(state["observed"])
