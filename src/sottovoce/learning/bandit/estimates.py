"""From a round's released integers to gradients.

With f = low + step * q (q the loss's integer), a round's released sums of w q give sums of w f: step * released plus
low * (sum of w), the last sum being public; those of squares begin at 0, in the middle of the range. The round's
exploration turns them into a gradient. Nothing here has ever seen a private number.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.learning.bandit.reports import ReportGrid
from sottovoce.plans.explorer import Exploration
from sottovoce.privacy import ItemGrid, LossGrid, RunningSums

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

    def __init__(self, release: RunningSums, grid: Grid, gradient: Callable[[Floats, Floats], Floats]) -> None:
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
