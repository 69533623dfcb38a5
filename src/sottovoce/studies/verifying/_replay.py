"""Learning again from the released rounds alone: what is stored as learned must follow from them."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import part
from sottovoce.exploration import Explorer, Record
from sottovoce.learning.bandit.doubling import epoch_lengths
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.estimates import ReleasedRound
from sottovoce.learning.bandit.saved_state import adopt
from sottovoce.learning.planning.checking import check_plan
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import MECHANISMS, LocalDP, SimulatedNoise
from sottovoce.studies.database.tables import DROPPED, OPEN, RELEASED, UNRELEASED
from sottovoce.studies.session.chain import Chain
from sottovoce.studies.verifying._examiner import Examiner
from sottovoce.studies.verifying._points import Points
from sottovoce.studies.verifying._round_facts import RoundFacts, on_its_terms, resumed

__all__ = ["Replay"]

_POSITIONS = ("plain", "rounded")
_ROUNDING = 1e-9  # relative: sums are added up in the same order, but linear algebra may differ between machines


@dataclass
class Replay:
    """Replays a study, epoch by epoch.

    Parameters
    ----------
    examiner
        That has looked at the rows; faults are added to its own.
    problem, horizon
        Of the study; None if the horizon is unknown.
    like
        Explorers by plan, of segments of the same study: what took long to set up is shared.
    """

    examiner: Examiner
    problem: Problem
    horizon: int | None
    like: dict[str, Explorer] | None = None
    released: int = 0
    distance: float = 0.0  # of a stored point from the one that is computed again, at most
    tolerance: float = 0.0
    _points: dict[int, Points] = field(default_factory=dict)
    _known: dict[int, tuple[Epoch, list[Any]]] = field(default_factory=dict)  # after 0, 1, 2, ... rounds, by epoch
    _says_learned: bool = False  # whether the last round has said how many rounds were learned from when it began
    _mine: dict[int, list[Any]] = field(default_factory=dict)  # rows of rounds, by epoch

    def replay(self) -> None:
        """Go through all epochs; compare what was learned, where each began, and the point of every round."""
        for row in self.examiner.rows.rounds:
            self._mine.setdefault(self.examiner.public[row.number]["epoch"], []).append(row)
        for number in sorted(self.examiner.made):
            self._epoch(number)
            if number in self._points:
                self._check_points(number)

    def _epoch(self, number: int) -> None:
        made, learned = self.examiner.made[number], self.examiner.learned[number]
        plan = Plan.from_dict(made["plan"])
        if not self._check_design(number, plan, made):
            return
        adopt(self.problem.domain, made)
        problem = replace(self.problem, horizon=plan.horizon)
        if not self._check_plan(number, problem, plan):
            return
        center = np.array(learned["center"])
        middle = center if len(center) else None
        epoch = self._begun(problem, plan, made["first"], middle)
        self._follow(number, epoch)
        self._center(number, epoch, center)
        local = isinstance(problem.privacy, LocalDP)
        steps = None if local else plan.grids(problem.loss_range)[0].steps
        courses, known = [epoch.learner.course], [epoch.explorer.knowledge()]
        for row in self._mine.get(number, []):
            if row.state in (RELEASED, DROPPED):
                self._take_in(epoch, row, self.examiner.public[row.number])
                courses.append(epoch.learner.course)
                known.append(epoch.explorer.knowledge())
        for row in self._mine.get(number, []):
            if row.state == UNRELEASED and epoch.learner.observed < learned["learner.observed"]:
                epoch.take_in(None, center)  # never to be released, and passed over by a restoration
                courses.append(epoch.learner.course)
                known.append(epoch.explorer.knowledge())
        self._points[number], self._known[number] = Points(epoch, courses, known), (epoch, known)
        RoundFacts(self.examiner, epoch, known, steps).check(self._mine.get(number, []))
        self._compare(number, {**epoch.state(), **self._chain(number, learned)}, learned)
        self._solved(number, learned)

    def _begun(self, problem: Problem, plan: Plan, first: int, center: Floats | None) -> Epoch:
        """Return an epoch that has learned nothing; no noise is drawn."""
        key = repr(sorted(plan.to_dict().items()))
        like = None if self.like is None else self.like.get(key)
        epoch = Epoch(problem, plan, SimulatedNoise(0), first=first, center=center, like=like)
        if self.like is not None:
            self.like.setdefault(key, epoch.explorer)
        return epoch

    def _follow(self, number: int, epoch: Epoch) -> None:
        """Let an epoch begin with what the one before it had learned by then."""
        after = self.examiner.made[number].get("after")
        if after is None or number - 1 not in self._known:
            return
        previous, known = self._known[number - 1]
        if after < len(known):
            previous.explorer.go_back(known[after])
            epoch.follow(previous)
            previous.explorer.go_back(known[-1])

    def _check_design(self, number: int, plan: Plan, made: Record) -> bool:
        """Check that the coordinates of an epoch are those of a design: S its covariance, W S W' = 1 and W F = 1."""
        design = part(made, "design")
        if plan.position != "rounded":
            return self.examiner.expect(not design, f"epoch {number} has coordinates that its plan does not need")
        vertices, weights, whitening = design["vertices"], design["weights"], design["whitening"]
        offsets, unit = vertices - design["mean"], np.eye(len(whitening))
        white = offsets @ whitening.T
        sound = (
            math.isclose(float(weights.sum()), 1.0, abs_tol=1e-6)
            and bool((weights > 0).all())
            and np.allclose(weights @ offsets, 0.0, atol=1e-6)
            and np.allclose((white.T * weights) @ white, unit, atol=1e-6)
            and np.allclose(whitening @ design["factor"], unit, atol=1e-6)
        )
        return self.examiner.expect(sound, f"epoch {number} has coordinates that are not those of its design")

    def _check_plan(self, number: int, problem: Problem, plan: Plan) -> bool:
        """Check that a plan is as long as its epoch, and keeps the guarantee of the study."""
        lengths = epoch_lengths(self.horizon)
        length = [next(lengths, 0) for _ in range(number + 1)][-1]
        whole = self.examiner.expect(plan.horizon == length, f"epoch {number} has {plan.horizon} events, not {length}")
        known = plan.mechanism in MECHANISMS and plan.position in _POSITIONS
        self.examiner.expect(known, f"epoch {number}: its plan names a mechanism or a position that there is not")
        try:
            check_plan(problem, plan)
        except ValueError as refused:
            self.examiner.faults.append(f"epoch {number}: {refused}")
            return False
        return whole

    def _take_in(self, epoch: Epoch, row: Any, public: Record) -> None:
        if row.state == DROPPED:
            epoch.take_in(None, public["point"])
            return
        record = self.examiner.released[row.number]
        exploration = resumed(epoch, public)
        what = f"round {row.number} has {len(record['numbers'])} numbers, and its probes need {exploration.numbers}"
        if self.examiner.expect(len(record["numbers"]) == exploration.numbers, what):
            on_its_terms(epoch.explorer, public)
            epoch.take_in(ReleasedRound(exploration, record["numbers"], record["weights"]), public["point"])
            self.released += 1

    def _compare(self, number: int, found: Record, stored: Record) -> None:
        self.examiner.expect(found.keys() == stored.keys(), f"what epoch {number} has learned is incomplete")
        for name in found:
            if name in ("first", "passed", "opened", "calls", "learner.solved", "learner.point"):
                continue  # counts are checked by themselves; the point below
            same = name in stored and _close(found[name], stored[name])
            self.examiner.expect(same, f"epoch {number}: {name} does not follow from the released rounds")

    def _chain(self, number: int, learned: Record) -> Record:
        """Return the checksum over all releases of an epoch; studies of old have none, or begin it late."""
        closed = [row for row in self._mine.get(number, []) if row.state != OPEN]
        since, begun_with = learned.get("chain_since"), "after" in self.examiner.made[number]
        newer = [row.number for row in closed if begun_with or "learned" in self.examiner.public[row.number]]
        if "chain" not in learned and not begun_with and not newer:
            return {}
        whole = since is not None and since <= newer[0] if newer else since is None or not begun_with
        self.examiner.expect(whole, f"epoch {number} leaves releases out of its checksum")
        chain = Chain()
        for row in closed:
            if since is not None and row.number >= since:
                chain = chain.add(row.number, bytes(row.released))
        return chain.record()

    def _solved(self, number: int, learned: Record) -> None:
        """Check the point that was computed last: the next round plays it if nothing is learned until then."""
        points, index = self._points[number], learned.get("learner.solved", -1)
        fits = index == -1 or (0 <= index < points.count and points.distance(learned["learner.point"], index)[1])
        self.examiner.expect(fits, f"epoch {number}: learner.point does not follow from the released rounds")

    def _center(self, number: int, epoch: Epoch, center: Floats) -> None:
        """Check that an epoch began where it had to: in the middle, or at a point of the epoch before it."""
        made, middle, before = self.examiner.made[number], epoch.stage.working.center, self._points.get(number - 1)
        after, mine = made.get("after"), self._mine.get(number, [])
        if mine and "learned" in self.examiner.public[mine[0].number]:
            self.examiner.expect("after" in made, f"epoch {number} does not say where it began")
        if not epoch.plan.options.steps:
            self.examiner.expect(not len(center), f"epoch {number} has a centre that its plan does not need")
            fits = after is None if before is None else after is not None and 0 <= after < before.count
        elif after is not None:
            fits = before is not None and self._follows(before, number - 1, after, center)
        elif "after" in made or before is None:
            fits = center.shape == middle.shape and _close(center, middle)
        else:  # studies of old do not say
            known = center.shape == middle.shape and _close(center, middle)
            fits = known or before.oldest(center, 0, before.count - 1)[1] is not None
        self.examiner.expect(fits, f"epoch {number} begins at a point that nothing stored leads to")

    def _follows(self, points: Points, number: int, after: int, center: Floats) -> bool:
        index = points.index(after, len(self._mine.get(number, [])))
        return 0 <= index < points.count and points.distance(center, index)[1]

    def _check_points(self, number: int) -> None:
        """Check that every round played the newest point that was known when it began."""
        points, least = self._points[number], 0
        for before, row in enumerate(self._mine.get(number, [])):
            public = self.examiner.public[row.number]
            what, learned = f"round {row.number}", public.get("learned")
            if learned is None:
                newer = self._says_learned
                self.examiner.expect(not newer, f"{what} does not say how many rounds were learned from when it began")
            self._says_learned = learned is not None
            if learned is None:  # studies of old do not say how many rounds were released by then
                distance, found = points.oldest(public["point"], least, min(before, points.count - 1))
                fits, least = found is not None, least if found is None else found
            else:
                known = least <= learned <= min(before, points.count - 1)
                words = f"{what} says that it began after {learned} rounds of its epoch were learned from"
                if not self.examiner.expect(known, f"{words}, which cannot be"):
                    continue
                least = learned
                if "terms.segments" in public:  # its point follows from what other segments said as well
                    inside = self.problem.domain.contains(self._known[number][0].stage.original(public["point"]), 1e-6)
                    self.examiner.expect(inside, f"the point of {what} is not of the set")
                    continue
                distance, fits = points.distance(public["point"], points.index(learned, before))
            self.examiner.expect(fits, f"the point of {what} does not follow from the released rounds")
            self.distance = max(self.distance, distance)
        self.tolerance = max(self.tolerance, points.tolerance)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, str | None) or isinstance(other, str | None):
        return bool(one == other)
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if one.shape != other.shape:
        return False
    size = float(max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0)))
    return bool(np.allclose(one, other, rtol=1e-9, atol=_ROUNDING * size))
