"""A stream learned again from its released rounds alone: its rounds, and what is stored as believed, must follow.

The rounds are begun again by the policy that began them, with the plans that are stored: what that says of a round must
be on record. Rounds of segments follow from what other segments had said as well, which is not known any more: of these
it is checked that they can be, and that what is believed rests on what the segment itself has released.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record, headed, part
from sottovoce._sums import Weighted
from sottovoce.errors import SottovoceError
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.epoch import Epoch, next_length
from sottovoce.learning.learners import PosteriorLearner
from sottovoce.learning.policy import BanditPolicy, RoundPlay
from sottovoce.learning.pooled_policy import POOL, shares_rounds
from sottovoce.models.known_names import widened
from sottovoce.models.measurements import Numbers
from sottovoce.models.scatter import NO_SCATTER, scatter_of
from sottovoce.oco.noisy_oco import MirrorStep
from sottovoce.plans.choosing import check_plan
from sottovoce.plans.explorer import Exploration, Explorer
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import MECHANISMS, LocalDP, SimulatedNoise
from sottovoce.rounds.round import MISSING, UNWANTED, Release, Round
from sottovoce.rounds.stores.sql.verify import MALFORMED, CheckedBook
from sottovoce.studies.verifying._noise_signs import NoiseSigns

_POSITIONS = ("plain", "rounded")
_OF_SEGMENTS = ("variance_shares", "variance_shares_learned", "apart")
_OF_POOL = ("pooled", "own")
_OF_RELEASES = ("learner.", "explorer.measurements.", "explorer.scatter")  # and not of what other segments said
_PLACES = ("before", "earlier", "after", "set", "passed", "opened")  # of epochs, and how far they are
_OF_POINTS = {"center", "learner.solved", "learner.point"}
_ROUNDING = 1e-9  # relative: sums are added up in the same order, but linear algebra may differ between machines
_POINT = 1e-7  # the same of points, relative to the diameter
_GRID = 8  # units of a grid by which sums of directions may differ between machines

Key = tuple[int, int]
"""Of a plan: the events before its epoch, and the set that it plays."""


class ReplaySetting(NamedTuple):
    """What a study was made with, as far as its rounds depend on it."""

    configuration: BanditConfiguration
    problems: Sequence[Problem]  # with each of the sets that it has had
    entropy: int
    simulated: bool

    @property
    def problem(self) -> Problem:
        """With the first set."""
        return self.problems[0]


class ReplayPolicy(BanditPolicy):
    """Begins and learns as the study did: with the plans that are stored, and no noise in earnest."""

    def __init__(self, setting: ReplaySetting, plans: dict[Key, Plan]) -> None:
        self.plans, self.sets = plans, setting.problems
        self.stored = Record()  # of the round that is to begin
        super().__init__(setting.configuration, setting.problem, SimulatedNoise(0), setting.entropy)

    def _choose(self, problem: Problem, before: int, at: Epoch | None = None) -> Plan:
        return self.plans[before, len(self.problems) - 1]

    def _new_epoch(self, *arguments: Any) -> Epoch:
        epoch = super()._new_epoch(*arguments)
        if self.problem.segments is not None:
            epoch.explorer = _AsStored(epoch.explorer, self)
            epoch.learner = PosteriorLearner(epoch.explorer, cast(PosteriorLearner, epoch.learner).gradient)
        return epoch


class _AsStored(Explorer):
    """Begins the rounds of a segment as they are stored: of what they follow from, it knows its own releases alone."""

    def __init__(self, explorer: Explorer, policy: ReplayPolicy) -> None:
        self._explorer, self._policy, self.placement = explorer, policy, explorer.placement
        self.belief: Any = _Listener(explorer.belief, policy)

    def round_size(self, passed: int) -> int:
        """Return the events of the round that is stored."""
        return int(self._policy.stored["exploration.end"]) - passed

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> Exploration:
        """Return the round that is stored."""
        return self.resume(point, part(self._policy.stored, "exploration"))

    def resume(self, point: Floats, record: Record) -> Exploration:
        """Return a round by its record."""
        return self._explorer.resume(point, record)


class _Listener:
    """Stands in for the belief of a segment: notes what it is told, and judges nothing by what others said."""

    remembers_earlier = False

    def __init__(self, belief: Any, policy: ReplayPolicy) -> None:
        self._belief, self._policy = belief, policy
        self.settings, self.measurements = belief.settings, belief.measurements
        self.told: tuple[Any, ...] = ()
        self.since = 0  # the event at which all was forgotten last

    @property
    def leader(self) -> Floats:
        """The point of the round that is stored."""
        return np.asarray(self._policy.stored["point"])

    def learn(self, numbers: Any) -> None:
        """Note what a round has released."""
        self.told = (*self.told, numbers)

    def carry_over(self, earlier: "_Listener", events: int) -> None:
        """Note what was told `events` events before."""
        self.told = tuple(replace(one, end=one.end - events) for one in earlier.told)

    def knowledge(self) -> Any:
        """Return what was told."""
        return self.told

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        self.told = knowledge

    def memory(self) -> Record:
        """Return what a belief would remember that was told so; what follows from others is as if nothing was."""
        nothing: Record = self._belief.memory()
        measurements, scatter = self.measurements, NO_SCATTER
        for one in self.told:
            if one.end > self.since:
                centred = replace(one, means=one.means - self.settings.middle)
                if isinstance(one, Numbers):  # of decisions, in the names that there were
                    centred = replace(centred, probes=widened(one.probes, self._belief.dimension))
                    scatter = scatter + scatter_of(centred, self.settings)
                measurements = measurements.add(centred)
        found = nothing | headed("measurements", measurements.record())
        return found | {"scatter": scatter} if "scatter" in nothing else found


class _Unsound(Exception):
    """What is stored is such that nothing more can follow from it: the fault is on record."""


@dataclass
class StreamReplay:
    """Replays a stream, round by round.

    Parameters
    ----------
    book
        That was looked at; faults are added to its own.
    setting
        Of the study.
    row
        Of the stream.
    record
        What is stored of it, if a round has begun.
    """

    book: CheckedBook
    setting: ReplaySetting
    row: Any
    record: Record | None

    def __post_init__(self) -> None:
        self.released, self.distance, self.tolerance = 0, 0.0, 0.0
        self.epochs: dict[int, Epoch] = {}  # by the events before them
        self._inherited: dict[int, float] = {}  # how far the points that they began at may be from where they began
        self._rounds = [one for one in self.book.rows.rounds if one.stream == self.row.stream]
        self._learned, self._segmented = 0, self.setting.problem.segments is not None
        self._signs: dict[Key, NoiseSigns] = {}

    def replay(self) -> None:
        """Go through all rounds; nothing can be learned from rows that are damaged or out of order."""
        sound = not self.book.faults
        try:
            self._replay()
        except (_Unsound, SottovoceError, *MALFORMED) as reason:
            if sound and not self.book.faults:
                self.book.faults.append(f"the released rounds cannot be learned from again: {type(reason).__name__}")
        self.book.faults += [fault for one in self._signs.values() for fault in one.faults()]

    def _replay(self) -> None:
        record, row, expect = self.record, self.row, self.book.expect
        self._insist((record is not None) == bool(self._rounds), "what is believed is not stored, or nothing is to be")
        if record is None:
            expect(row.learned == 0, "nothing is believed, and it says how new that is")
            return
        self.book.says(f"stream {row.stream}", row._asdict(), learned=record["begun"] + record["learned"])
        self.book.says("what is believed", record, begun=row.begun)
        expect(0 <= record["learned"] <= row.closed, f"{record['learned']} rounds were learned from, of {row.closed}")
        plans = {(before, number): Plan.from_dict(plan) for before, number, plan in record["planned"]}
        expect(len(plans) == len(record["planned"]), "a plan is stored twice")
        for one in self._rounds:
            self._insist(self._key(one) in plans, f"{self._what(one)} is of an epoch that is not stored")
        played = {self._key(one)[0] for one in self._rounds}
        for before, number in plans:  # a set may be passed over
            self._insist(before in played, f"the epoch of event {before} is empty")
            self._check_plan(before, number, plans)
        self._policy = ReplayPolicy(self.setting, plans)
        self._follow(record)

    def _insist(self, holds: Any, fault: str) -> None:
        if not self.book.expect(bool(holds), fault):
            raise _Unsound

    def _public(self, one: Any) -> Record:
        return self.book.public[one.key]

    def _key(self, one: Any) -> Key:
        return self._public(one)["before"], self._public(one)["set"]

    def _what(self, one: Any) -> str:
        return self.book.what(*one.key)

    def _check_plan(self, before: int, number: int, plans: dict[Key, Plan]) -> None:
        """Check that a plan is as long as its epoch, and keeps the guarantee of the study."""
        what, plan = f"the epoch of event {before}", plans[before, number]
        length = next_length(self.setting.configuration.horizon, before)
        follows = before == sum({first: one.horizon for (first, _), one in plans.items() if first < before}.values())
        known = plan.mechanism in MECHANISMS and plan.position in _POSITIONS
        self.book.expect(known, f"{what}: its plan names a mechanism or a position that there is not")
        try:
            check_plan(replace(self.setting.problems[number], horizon=plan.horizon), plan)
        except ValueError as refused:
            self._insist(False, f"{what}: {refused}")
        self._insist(follows and plan.horizon == length, f"{what} has {plan.horizon} events, not {length}")

    # ------------------------------------------------------------------ begun and learned again

    def _follow(self, record: Record) -> None:
        policy, mine = self._policy, self._policy.stream(self.row.stream)
        for one in self._rounds:
            public, at = self._public(one), mine.current
            policy.stored = public
            begins = one.position == at.end
            due = at.earlier + public["after" if begins else "learned"]
            if due == at.earlier:
                due = 0  # those of an epoch before, perhaps
            if one is self._rounds[-1] and not self._segmented:
                due = max(due, record["learned"])
            words = f"{self._what(one)} says that it began after rounds were learned from that"
            self._insist(due <= one.number, f"{words} had not begun, which cannot be")
            self._learn(due, words)
            tolerance = self._tolerance(at)
            policy.problems = list(policy.sets[: public["set"] + 1])  # that there were when this one was the newest
            self.book.expect(public["set"] >= at.number, f"{self._what(one)} plays a set that is gone")
            draft = policy.begin(one.stream, one.number, one.position)
            if begins:
                inherits = mine.current.plan.options.steps and at.plan.options.steps
                self._inherited[mine.current.before] = tolerance if inherits else 0.0
            self.epochs[mine.current.before] = mine.current
            self._compare_round(one, draft.size, draft.public, mine.current)
            mine.played = public["before"], public["point"]
            self._check_release(one)
        self._learn(record["learned"], "what is believed rests on rounds that")  # others begin rounds in between
        found = policy.to_record(self.row.stream)
        for name in ("passed", "begun", "learned", "played", "point"):
            same = name in record and is_close(found[name], record[name])
            self.book.expect(same, f"{name} of what is believed does not follow from its rounds")
        names = {name for name in found if not name.startswith("epoch")}
        if self._segmented:
            names |= {*_OF_SEGMENTS}
        if shares_rounds(self.setting.problem) and self.row.stream == POOL:
            names |= {*_OF_POOL}
        self._compare_epochs(record, names)

    def _learn(self, due: int, words: str) -> None:
        """Learn from rounds, so many in all, as `words` say."""
        while self._learned < due:
            one = self._rounds[self._learned]
            self._insist(one.key in self.book.released, f"{words} are open, which cannot be")
            record = self.book.released[one.key]
            numbers, dropped = record.get("numbers"), one.key in self.book.dropped
            self._policy.learn(Release(self._round(one), numbers, record["missing"], one.size, dropped))
            self._learned += 1

    def _round(self, one: Any) -> Round:
        return Round(one.stream, one.number, one.first, one.size, self._public(one), one.position)

    def _compare_round(self, one: Any, size: int, own: Record, epoch: Epoch) -> None:
        """Compare a round that was begun again with what is stored of it."""
        public, what, expect = self._public(one), self._what(one), self.book.expect
        self.book.says(what, public, **{name: own[name] for name in ("before", "number", "after", "learned", "last")})
        exploration, passed = self._played(one).exploration, one.position - epoch.before
        fits = public["exploration.end"] == passed + size if self._segmented else exploration.can_begin(passed, size)
        expect(fits, f"{what} has probes that do not follow from where it began")
        if not self._choices_are_possible(one, size, exploration):
            return
        if self._segmented:
            placement = epoch.placement
            inside = placement.domain.contains(placement.original(public["point"]), 1e-6)
            expect(inside, f"the point of {what} is not of the set")
            return
        distance, tolerance = np.inf, self._tolerance(epoch)
        if own["point"].shape == public["point"].shape:
            distance = float(np.linalg.norm(own["point"] - public["point"]))
        # What was known may leave it to rounding, and so to the machine, which of two points is the best.
        if distance > tolerance and epoch.explorer.is_as_good(public["point"]):
            distance = 0.0
        expect(distance <= tolerance, f"the point of {what} does not follow from the released rounds")
        self.distance, self.tolerance = max(self.distance, distance), max(self.tolerance, tolerance)

    def _tolerance(self, epoch: Epoch) -> float:
        """Return how far a point may be from the newest one that was computed again.

        By formula up to rounding; otherwise either point is within sqrt(gap) of the exact one, which minimises a
        strongly convex function. One that ran out of oracle calls has a larger gap, and so had the other.
        """
        mirror = epoch.learner.point_map
        if not isinstance(mirror, MirrorStep):
            return _POINT * max(1.0, float(np.linalg.norm(epoch.learner.point())))
        exact = mirror.method == "auto" and mirror.domain.nearest(mirror.center) is not None
        error = 0.0 if exact else max(mirror.gap, mirror.reached_gap)
        inherited = self._inherited.get(epoch.before, 0.0)
        return 2 * math.sqrt(error) + _POINT * epoch.placement.working.diameter + inherited

    # ------------------------------------------------------------------ what is stored as learned

    def _compare_epochs(self, record: Record, names: set[str]) -> None:
        """Compare what is stored of epochs: those that rounds are open of, that know most, and the current one."""
        own = {name for name in record if not name.startswith(("epoch", "prior.")) or name == "epochs"}
        self.book.expect(own == names | {"epochs"}, "what is believed is incomplete")
        kept = [part(record, f"epoch{place}") for place in range(record["epochs"])]
        stored = {name.partition(".")[0] for name in record if name.startswith("epoch") and name != "epochs"}
        self.book.expect(len(stored) == len(kept), "epochs are stored that are none")
        befores = [one["before"] for one in kept]
        fits = bool(kept) and befores == sorted(set(befores)) and set(befores) <= set(self.epochs)
        fits = fits and befores[-1] == max(self.epochs)
        self._insist(fits, "what is believed is of epochs that there are not")
        for one in kept:
            epoch, what = self.epochs[one["before"]], f"the epoch of event {one['before']}"
            if self._segmented:
                cast(_Listener, epoch.explorer.belief).since = one["explorer.since"]
            found = epoch.state()
            self.book.expect(found.keys() == one.keys(), f"what {what} has learned is incomplete")
            self.book.says(what, one, **{name: found[name] for name in _PLACES})
            self._compare_learned(what, epoch, found, one)

    def _compare_learned(self, what: str, epoch: Epoch, found: Record, learned: Record) -> None:
        for name in found.keys() - _PLACES - _OF_POINTS:
            if self._segmented and not name.startswith(_OF_RELEASES):
                continue
            same = name in learned and is_close(found[name], learned[name])
            self.book.expect(same, f"{what}: {name} does not follow from the released rounds")
        tolerance = self._tolerance(epoch)
        near = _near(found["center"], learned["center"], tolerance)
        self.book.expect(near, f"{what} begins at a point that nothing stored leads to")
        if "learner.solved" in found and learned["learner.solved"] >= 0:
            near = learned["learner.solved"] <= epoch.observed
            if learned["learner.solved"] == found["learner.solved"]:
                near = _near(found["learner.point"], learned["learner.point"], tolerance)
            self.book.expect(near, f"{what}: learner.point does not follow from the released rounds")

    # ------------------------------------------------------------------ rounds, whoever had a say in them

    def _played(self, one: Any) -> RoundPlay:
        return self._policy._play(self._round(one))

    def _choices_are_possible(self, one: Any, size: int, exploration: Any) -> bool:
        """Check a round's size, and that its choices can be those of its plan; return whether its point is finite."""
        public, what, expect = self._public(one), self._what(one), self.book.expect
        expect(exploration.is_possible(), f"{what} has probes that its plan does not draw")
        plan = self._policy.plans[self._key(one)]
        planned = getattr(plan.options, "directions", exploration.numbers)
        expect(planned == exploration.numbers, f"{what} has {exploration.numbers} directions, and its plan others")
        cut = one.key in self.book.dropped and one.size < size
        self._insist(one.size == size or cut, f"{what} has {one.size} events, and its plan says {size}")
        expect(public.get("exploration.size", size) == size, f"{what} has probes for another size")
        return expect(bool(np.isfinite(public["point"]).all()), f"the point of {what} is not finite")

    def _check_release(self, one: Any) -> None:
        """Draw a round's actions again: which losses were wanted, and what they weigh; look at what was released."""
        record, expect, what = self.book.released.get(one.key), self.book.expect, self._what(one)
        if record is None:
            marks = self.book.slots[one.key][: one.reserved]
            fits = self._fits(one, min(one.reserved, one.size), np.flatnonzero(marks == UNWANTED))
            expect(fits, f"{what} does not want the losses that its actions need")
            return
        if one.key in self.book.dropped:
            return
        fits = self._fits(one, one.size, record["unwanted"])
        expect(fits, f"{what} wanted losses that its probes do not need")
        last = self._public(one)["last"]
        words = f"{what} is {'' if last else 'not '}the last of its epoch, and its release says otherwise"
        if not expect(("numbers" in record) != last, words) or last:
            return
        played, numbers = self._played(one), record["numbers"]
        exploration = played.exploration
        shape = 3 if exploration.squares else 2, exploration.numbers
        self._insist(
            numbers.shape == shape, f"{what} has {numbers.shape[-1]} numbers, and its probes need {exploration.numbers}"
        )
        self.released += 1
        slots = np.zeros((one.size, self._policy.shape.width), dtype=np.int64)
        slots[record["missing"]], slots[record["unwanted"]] = MISSING, UNWANTED
        weights = self._policy.compute(self._round(one), slots if slots.shape[1] > 1 else slots[:, 0])[1]
        drawn = self._policy._chunk(self._round(one), played, 0)[2]
        fits = np.abs(numbers[1] - weights).max(initial=0) <= (_GRID if isinstance(drawn, Weighted) else 0)
        expect(bool(fits), f"the release of {what} has weights that its actions do not have")
        self._check_noise(one, numbers, exploration.counts(weights, one.size))

    def _fits(self, one: Any, count: int, unwanted: Integers) -> bool:
        """Whether losses are unwanted that may be: by the plan; where people are counted, others of theirs as well."""
        wanted = self._policy.draw(self._round(one), 0, count).wanted if count else None
        planned = np.flatnonzero(~wanted) if wanted is not None else np.empty(0, dtype=np.int64)
        if self.book.rows.counting:
            return bool(np.isin(planned, unwanted).all())
        return np.array_equal(np.sort(unwanted), planned)

    def _check_noise(self, one: Any, numbers: NDArray[Any], counts: tuple[Integers, Integers] | None) -> None:
        """Look for noise in what was released; without any, its numbers are sums of losses."""
        key, problem = self._key(one), self.setting.problem
        plan = self._policy.plans[key]
        if isinstance(problem.privacy, LocalDP):
            return
        steps = plan.grids(problem.loss_range)[0].steps
        for sums in numbers[[0, *range(2, len(numbers))]]:  # losses, and any squares, which are no larger
            if plan.noise is not None and not self.setting.simulated:  # which may come again
                self._signs.setdefault(key, NoiseSigns(plan.noise, steps)).add(sums, counts)
            elif plan.noise is None and counts is not None:
                possible = bool(((-counts[0] * steps <= sums) & (sums <= counts[1] * steps)).all())
                self.book.expect(possible, f"the release of {self._what(one)} is not a sum of its losses")


def check_design(book: CheckedBook, made: Record, plan: Plan) -> None:
    """Check that coordinates are those of a design: S its covariance, W S W' = 1 and W F = 1."""
    design = part(made, "design")
    if plan.position != "rounded":
        book.expect(not design, "coordinates are stored that the plan does not need")
        return
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
    book.expect(sound, "the coordinates are not those of their design")


def is_close(one: Any, other: Any) -> bool:
    """Whether values are the same, but for rounding."""
    if isinstance(one, str | None) or isinstance(other, str | None):
        return bool(one == other)
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if one.shape != other.shape:
        return False
    size = float(max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0)))
    return bool(np.allclose(one, other, rtol=1e-9, atol=_ROUNDING * size))


def _near(one: Floats, other: Floats, tolerance: float) -> bool:
    return one.shape == other.shape and float(np.linalg.norm(one - other)) <= tolerance
