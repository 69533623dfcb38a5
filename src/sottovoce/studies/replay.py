"""Learning again from the released rounds alone: what is stored as learned must follow from them."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._records import part
from sottovoce.exploration import Record
from sottovoce.learning.epoch import Epoch
from sottovoce.learning.estimates import ReleasedRound
from sottovoce.learning.noisy_oco import MirrorStep
from sottovoce.learning.plan import Plan
from sottovoce.learning.problem import Problem
from sottovoce.learning.saved_state import adopt
from sottovoce.privacy import SimulatedNoise
from sottovoce.studies.examine import Examiner
from sottovoce.studies.tables import DROPPED, RELEASED

__all__ = ["Replay"]

Floats = NDArray[np.float64]
_POINT_ROUNDING = 1e-7
_ROUNDING = 1e-9  # relative: sums are added up in the same order, but linear algebra may differ between machines


@dataclass
class Replay:
    """Replays a study, epoch by epoch.

    Parameters
    ----------
    examiner
        That has looked at the rows; faults are added to its own.
    problem
        Of the study.
    """

    examiner: Examiner
    problem: Problem
    released: int = 0
    distance: float = 0.0  # of a stored point from the one that is computed again, at most
    tolerance: float = 0.0
    _points: dict[int, "_Points"] = field(default_factory=dict)

    def replay(self) -> None:
        """Go through all epochs; compare what was learned, where each began, and the point of every round."""
        for number in sorted(self.examiner.made):
            self._epoch(number)
            self._check_points(number)

    def _epoch(self, number: int) -> None:
        made, learned = self.examiner.made[number], self.examiner.learned[number]
        plan = Plan.from_dict(made["plan"])
        adopt(self.problem.domain, made)
        problem = replace(self.problem, horizon=plan.horizon)
        center = np.array(learned["center"])
        epoch = Epoch(problem, plan, SimulatedNoise(0), first=made["first"], center=center)  # no noise is drawn
        self._center(number, epoch, center)
        duals = [epoch.learner._duals[-1]]
        for row in self.examiner.rows.rounds:
            public = self.examiner.public[row.number]
            if public["epoch"] == number and row.state in (RELEASED, DROPPED):
                self._take_in(epoch, row, public)
                duals.append(epoch.learner._duals[-1])
        while epoch.learner.observed < min(learned["learner.observed"], self.examiner.rows.epochs[number].opened):
            epoch.take_in(None, center)  # rounds that were never to be released, passed over by a restoration
        self._points[number] = _Points(epoch, duals)
        self._compare(number, epoch.state(), learned)

    def _take_in(self, epoch: Epoch, row: Any, public: Record) -> None:
        if row.state == DROPPED:
            epoch.take_in(None, public["point"])
            return
        record = self.examiner.released[row.number]
        drawn = {"waiting": np.empty((0, 2)), **part(public, "exploration")}
        exploration = epoch.explorer.resume(public["point"], drawn)
        what = f"round {row.number} has {len(record['numbers'])} numbers, and its probes need {exploration.numbers}"
        if self.examiner.expect(len(record["numbers"]) == exploration.numbers, what):
            epoch.take_in(ReleasedRound(exploration, record["numbers"], record["weights"]), public["point"])
            self.released += 1

    def _compare(self, number: int, found: Record, stored: Record) -> None:
        for name in found:
            if name in ("first", "passed", "opened", "calls", "learner.solved", "learner.point"):
                continue  # counts are checked by themselves; the point below
            same = name in stored and _close(found[name], stored[name])
            self.examiner.expect(same, f"epoch {number}: {name} does not follow from the released rounds")

    def _center(self, number: int, epoch: Epoch, center: Floats) -> None:
        """Check that an epoch began where it had to: in the middle, or at a point of the epoch before it."""
        middle, before = epoch.stage.working.center, self._points.get(number - 1)
        if center.shape == middle.shape and _close(center, middle):
            return
        fits = before is not None and before.find(center, 0, before.count - 1)[0] <= before.tolerance
        self.examiner.expect(fits, f"epoch {number} begins at a point that nothing stored leads to")

    def _check_points(self, number: int) -> None:
        """Check that every round played the newest point, or an earlier one if losses were outstanding then."""
        points, least = self._points[number], 0
        mine = [one for one in self.examiner.public.values() if one["epoch"] == number]
        for before, public in enumerate(mine):
            distance, index = points.find(public["point"], least, min(before, points.count - 1))
            words = f"the point of round {public['number']} does not follow from the released rounds"
            if self.examiner.expect(distance <= points.tolerance, words):
                least = index  # a later round does not go back
            self.distance, self.tolerance = max(self.distance, distance), max(self.tolerance, points.tolerance)


class _Points:
    """The points of an epoch: one for each number of rounds that were taken in."""

    def __init__(self, epoch: Epoch, duals: list[Floats]) -> None:
        self._map, self._duals, self._found = epoch.learner.point_map, duals, dict[int, Floats]()
        self.count = len(duals)
        assert isinstance(self._map, MirrorStep)
        exact = self._map.method == "auto" and self._map.domain.nearest(self._map.center) is not None
        # By formula up to rounding; otherwise either point is within sqrt(gap) of the exact one, which minimises a
        # strongly convex function.
        error = 0.0 if exact else 2 * float(np.sqrt(self._map.gap))
        self.tolerance = error + _POINT_ROUNDING * epoch.stage.working.diameter

    def find(self, point: Floats, least: int, most: int) -> tuple[float, int]:
        """Return how far a point is from those after `least` to `most` rounds, and which it is; the newest first."""
        nearest = (np.inf, least)
        for index in range(most, least - 1, -1):
            right = self._after(index)
            if right.shape == point.shape:
                nearest = min(nearest, (float(np.linalg.norm(right - point)), index))
            if nearest[0] <= self.tolerance:
                break
        return nearest

    def _after(self, index: int) -> Floats:
        if index not in self._found:
            self._found[index] = self._map(self._duals[index])
        return self._found[index]


def _close(one: Any, other: Any) -> bool:
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if one.shape != other.shape:
        return False
    size = float(max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0)))
    return bool(np.allclose(one, other, rtol=1e-9, atol=_ROUNDING * size))
