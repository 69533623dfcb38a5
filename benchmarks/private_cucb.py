"""Private CUCB, for feedback by item: the decision that is best if every item is as good as it may be.

CUCB (Chen, Wang, Yuan, ICML 2013): an item that was shown N times with mean f may be as good as f - sqrt(3 ln t/(2N)).
Chen et al. ("(Locally) Differentially Private Combinatorial Semi-Bandits", ICML 2020) take f from private counters of
each item, trees of log t levels, and add what their noise may be to the radius. Here rounds grow by 2%, and the sums of
each are released with noise of scale D1/epsilon (privacy/mechanisms/item_sums.py): less than a tree's, whose every
level has log t times that. After r rounds of an item the noise of its sum is taken to stay below (D1/epsilon) sqrt(8 r)
ln t.

Differences: the mechanism, and `radius`, by which the whole radius is multiplied: 1 is what is proved, and smaller ones
do better. `BASELINES` are for environments that tell one number a decision; benchmarks/items.py plays this one.

Tests: tests/lab/baselines/test_private_cucb.py.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.learning.learners import PosteriorLearner
from sottovoce.learning.private_bandit import PrivateBandit
from sottovoce.models.items import ItemBelief, ItemNumbers
from sottovoce.plans.items import ItemProbes

_GROWTH = 50  # a round has one of so many events that have passed


class PrivateCUCB(PrivateBandit):
    """CUCB over released sums of items.

    Parameters
    ----------
    radius
        What confidence radii are multiplied by.
    settings
        As for `PrivateBandit`, with `feedback="items"`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> rival = PrivateCUCB(
    ...     sv.domains.Hypersimplex(6, 2),
    ...     horizon=1000,
    ...     privacy=sv.NoPrivacy(),
    ...     integral=True,
    ...     feedback="items",
    ...     loss_range=(0.0, 1.0),
    ... )
    >>> len(rival.ask().chosen)
    2
    """

    def __init__(self, *domain: Any, radius: float = 1.0, **settings: Any) -> None:
        super().__init__(*domain, **settings)
        epoch: Any = self._policy.first
        made: ItemProbes = epoch.explorer
        belief = _Optimism(made.belief.oracle, made.belief.settings, radius)
        explorer = ItemProbes(made.placement, belief, made.grid, made.family, made.unit)
        epoch.explorer, epoch.learner = explorer, PosteriorLearner(explorer, epoch.learner.gradient)


class _Optimism(ItemBelief):
    """Sums and counts of items in place of a posterior: memory 0 has these, memory 1 the rounds of each item."""

    def __init__(self, oracle: Any, settings: Any, radius: float) -> None:
        super().__init__(oracle, settings)
        self._radius = radius

    def round_size(self, passed: int) -> int:
        """One in fifty events."""
        return max(1, passed // _GROWTH)

    def count(self, passed: int, size: int) -> int:
        """One decision a round."""
        return 1

    def draw(self, count: int, passed: int, size: int, coins: np.random.Generator) -> list[Floats]:
        """Return the best decision for what items may be; those that were never shown come first, in random order."""
        shown, released = self.known.precisions[0], self.known.precisions[1]
        times, log = np.maximum(shown, 1.0), math.log(passed + 2)
        scale = self.settings.noise / math.sqrt(2)
        wide = np.sqrt(1.5 * log / times) + scale * np.sqrt(8 * released) * log / times
        value = self.settings.sign * self.known.pulls[0] / times - self._radius * wide
        return [self.oracle(np.where(shown > 0, value, coins.random(len(shown)) - 1e6))]

    def learn(self, numbers: ItemNumbers) -> None:
        """Add up what was released."""
        precisions, pulls = self.known.precisions.copy(), self.known.pulls.copy()
        precisions[0, numbers.items] += numbers.counts
        precisions[1, numbers.items] += 1
        pulls[0, numbers.items] += numbers.counts * numbers.means
        measurements = self.known.measurements.add(numbers)
        self.known = replace(self.known, measurements=measurements, precisions=precisions, pulls=pulls)
