"""The learner where decisions are drawn from what is believed: no gradient, no step, no sum; the belief is all."""

from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.learning.bandit.estimates import FreshGradient, ReleasedRound
from sottovoce.plans.explorer import Explorer, Record


class RoundsLearned(NamedTuple):
    """How many rounds were learned from, or passed over: a value of its own, as other learners have."""

    observed: int


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
    delay = 0
    center: Floats = np.empty(0)

    def __init__(self, explorer: Explorer, gradient: FreshGradient) -> None:
        assert explorer.belief is not None
        self.explorer, self.gradient = explorer, gradient
        self.observed = 0

    def point(self, round_number: int | None = None) -> Floats:
        """Return the best decision that is known, whatever the round."""
        assert self.explorer.belief is not None
        return self.explorer.belief.leader

    @property
    def iterate(self) -> Floats:
        """What the point after all that was observed follows from: itself."""
        return self.point()

    def observe(self, released: ReleasedRound, point: Floats | None = None) -> None:
        """Take in what a round has released."""
        released.exploration.learn(self.explorer.belief, *self.gradient.sums(released))
        self.observed += 1

    def begin_at(self, center: Floats) -> None:
        """Begin anywhere: no point is where it begins."""

    def skip(self) -> None:
        """Pass over a round whose losses are lost."""
        self.observed += 1

    def knowledge(self) -> RoundsLearned:
        """Return how much was learned from; the belief keeps its own."""
        return RoundsLearned(self.observed)

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        self.observed = knowledge.observed

    def state(self) -> Record:
        """Return how much was learned from."""
        return {"observed": self.observed}

    def restore(self, state: Record) -> None:
        """Take over what `state` returned."""
        self.observed = int(state["observed"])
