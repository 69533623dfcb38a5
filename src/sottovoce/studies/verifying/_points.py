"""The points of an epoch, computed again: one for each number of rounds that it had learned from."""

from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.learning.epoch import Epoch
from sottovoce.oco.noisy_oco import MirrorStep

_ROUNDING = 1e-7  # relative to the diameter


class Points:
    """Compares stored points with those that follow from what was learned; each is computed once, if it is needed.

    Parameters
    ----------
    epoch
        That has learned again.
    iterates
        What its points follow from after 0, 1, 2, ... rounds: dual vectors, or the points themselves.
    known
        What its explorer knew then.
    inherited
        How far the point that it began at may be from where it began.
    """

    def __init__(self, epoch: Epoch, iterates: list[Floats], known: list[Any], inherited: float) -> None:
        self._explorer, self._known, self._inherited = epoch.explorer, known, inherited
        self._map, self._delay = epoch.learner.point_map, epoch.learner.delay
        self._iterates, self._found = iterates, dict[int, tuple[Floats, float]]()
        if isinstance(self._map, MirrorStep):
            self._rounding = _ROUNDING * epoch.placement.working.diameter
            self._exact = self._map.method == "auto" and self._map.domain.nearest(self._map.center) is not None
        else:
            self._rounding = _ROUNDING * max(1.0, *(float(np.linalg.norm(iterate)) for iterate in iterates))
        self.tolerance = self._rounding  # the largest that was granted so far

    def index(self, learned: int, before: int) -> int:
        """Return which point a round plays that began with `before` others before it, `learned` of them learned."""
        return max(0, min(learned, before - self._delay))

    def distance(self, point: Floats, index: int) -> tuple[float, bool]:
        """Return how far a point is from number `index`, and whether it may be that far."""
        right, tolerance = self.after(index)
        if right.shape != point.shape:
            return np.inf, False
        distance = float(np.linalg.norm(right - point))
        if distance > tolerance and self._is_as_good(point, index):
            return 0.0, True
        return distance, distance <= tolerance

    def _is_as_good(self, point: Floats, index: int) -> bool:
        """Whether what was known leaves it to rounding, and so to the machine, which of two points is the best."""
        held = self._explorer.knowledge()
        self._explorer.go_back(self._known[index])
        found = self._explorer.is_as_good(point)
        self._explorer.go_back(held)
        return found

    def after(self, index: int) -> tuple[Floats, float]:
        """Return point number `index`, and how far it may be from the one that was played."""
        if not isinstance(self._map, MirrorStep):
            return self._iterates[index], self._rounding
        if index not in self._found:
            point = self._map(self._iterates[index])
            # By formula up to rounding; otherwise either point is within sqrt(gap) of the exact one, which minimises a
            # strongly convex function. One that ran out of oracle calls has a larger gap, and so had the other.
            error = 0.0 if self._exact else max(self._map.gap, self._map.reached_gap)
            self._found[index] = point, 2 * float(np.sqrt(error)) + self._rounding + self._inherited
            self.tolerance = max(self.tolerance, self._found[index][1])
        return self._found[index]
