"""One epoch of a stream, learned again from its released rounds alone; its rounds must be those of its plan."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import Record, part
from sottovoce._sums import Itemised, Weighted
from sottovoce.learning.epoch import Epoch
from sottovoce.learning.learners import ReleasedRound
from sottovoce.learning.policy import coins_of
from sottovoce.models.known_names import widened
from sottovoce.models.measurements import Numbers
from sottovoce.models.scatter import NO_SCATTER, scatter_of
from sottovoce.plans.explorer import Exploration, Explorer
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import LocalDP, SimulatedNoise
from sottovoce.rounds.round import UNWANTED
from sottovoce.rounds.stores.sql.verify import CheckedBook, RoundRow
from sottovoce.studies.verifying._noise_signs import NoiseSigns
from sottovoce.studies.verifying._points import Points

_ROUNDING = 1e-9  # relative: sums are added up in the same order, but linear algebra may differ between machines
_GRID = 8  # units of a grid by which sums of directions may differ between machines


class ReplaySetting(NamedTuple):
    """What a study was made with, as far as its rounds depend on it."""

    problem: Problem
    horizon: int | None
    entropy: int
    simulated: bool
    like: dict[str, Explorer]  # by plan, of other segments: what took long to set up is shared
    problems: Sequence[Problem] = ()  # with each of the sets that it has had


@dataclass
class EpochReplay:
    """Learns again what an epoch has learned, and checks its rounds by that.

    Parameters
    ----------
    book
        That was looked at; faults are added to its own.
    setting
        Of the study.
    plans, before
        Of the epoch, by the numbers of the sets that it played; and events of its stream before it.
    rounds
        The rows of its rounds.
    previous
        The epoch before it.
    stored
        How many rounds of it were learned from when what is believed was stored.
    """

    book: CheckedBook
    setting: ReplaySetting
    plans: dict[int, Plan]
    before: int
    rounds: list[RoundRow]
    previous: "EpochReplay | None"
    stored: int

    def __post_init__(self) -> None:
        self.released, self.distance, self.state = 0, 0.0, Record()
        self._alone = self.setting.problem.segments is None
        self._told: list[Numbers | None] = []  # by rounds of this epoch, None if they were dropped
        self._carried: list[Numbers] = []
        self._due: dict[int, int] = {}  # events that rounds should have
        self._inherited = 0.0  # how far the point that it began at may be from where it began
        publics = [self.book.public[one.key] for one in self.rounds]
        self._sets, self._learned = ([one[name] for one in publics] for name in ("set", "learned"))
        self.plan = self.plans[self._sets[0]]
        self._epoch = self._begun(self.previous, publics[0]["after"])
        self._epochs = {self._sets[0]: self._epoch}  # by the sets that they play
        self._iterates, self._known = [self._epoch.learner.iterate], [self._epoch.explorer.knowledge()]
        self._learn()
        self._points_of = {number: self._points_in(number) for number in dict.fromkeys(self._sets)}
        self._points = self._points_of[self._sets[-1]]

    @property
    def tolerance(self) -> float:
        """How far points may be from those that were computed again."""
        return max(one.tolerance for one in self._points_of.values())

    # ------------------------------------------------------------------ sets

    def _in_set(self, number: int) -> Epoch:
        """Return what plays a set; what it knows is of whenever it was last looked at."""
        if number not in self._epochs:
            plan = self.plans[number]
            problem = replace(self.setting.problems[number], horizon=plan.horizon)
            self._epochs[number] = Epoch(problem, plan, SimulatedNoise(0))
        return self._epochs[number]

    def _learning(self, place: int) -> Epoch:
        """Return what learns from a round: it plays the set of the newest round that had begun by then."""
        number = self._sets[bisect_right(self._learned, place) - 1]
        epoch = self._in_set(number)
        if epoch is not self._epoch:
            epoch.take_over(self._epoch)
            self._epoch = epoch
        return epoch

    def _points_in(self, number: int) -> Points:
        """Return the points of a set's rounds."""
        epoch, iterates = self._in_set(number), self._iterates
        if len(self._epochs) > 1:
            held, wanted = epoch.explorer.knowledge(), set()
            for place, learned in zip(self._sets, self._learned, strict=True):
                wanted |= {learned} if place == number else set()
            iterates = [np.zeros(1)] * len(self._known)
            for index in wanted & set(range(len(iterates))):
                epoch.explorer.go_back(self._known[index])
                iterates[index] = epoch.learner.iterate
            epoch.explorer.go_back(held)
        return Points(epoch, iterates, self._known, self._inherited)

    # ------------------------------------------------------------------ learning again

    def _begun(self, previous: "EpochReplay | None", after: int) -> Epoch:
        """Begin with what the epoch before this one had learned by then; no noise is drawn."""
        plan, center, like = self.plan, None, self.setting.like
        problem = replace(self.setting.problems[self._sets[0]], horizon=plan.horizon)
        possible = after == 0 if previous is None else 0 <= after < len(previous._iterates)
        words = f"the epoch of event {self.before} begins after {after} rounds of the one before it"
        if not self.book.expect(possible, f"{words}, which cannot be"):
            after = 0
        if (
            previous is not None
            and plan.options.steps
            and previous.plan.options.steps
            and plan.position == previous.plan.position
        ):
            index = previous._points.index(after, len(previous.rounds))
            center, self._inherited = previous._points.after(index)
        key = repr(sorted(plan.to_dict().items()))
        if not self._alone and key not in like:
            like[key] = Epoch(problem, plan, SimulatedNoise(0)).explorer
        epoch = Epoch(problem, plan, SimulatedNoise(0), center, like.get(key))
        if previous is not None and self._alone:
            last = previous._in_set(previous._sets[-1])
            last.explorer.go_back(previous._known[after])
            epoch.follow(last)
            last.explorer.go_back(previous._known[-1])
        elif previous is not None:
            told = [*previous._carried, *(one for one in previous._told[:after] if one is not None)]
            self._carried = [replace(one, end=one.end - previous.plan.horizon) for one in told]
        return epoch

    def _learn(self) -> None:
        if not self._alone:
            self.state = self._epoch.state()  # for its names alone
            self._collector = _Collector(self._in_set(self._sets[-1]).explorer.belief)
        self._note()
        for place, one in enumerate(self.rounds):
            public, record = self.book.public[one.key], self.book.released.get(one.key)
            if record is None or (public["last"] and one.key not in self.book.dropped):
                continue
            self._take_in(place, one, public, record)
            self._note()
        self._note_last()

    def _take_in(self, place: int, one: RoundRow, public: Record, record: Record) -> None:
        released, numbers = None, record.get("numbers")
        if numbers is not None:
            exploration, what = self._exploration(one), self.book.what(*one.key)
            words = f"{what} has {numbers.shape[-1]} numbers, and its probes need {exploration.numbers}"
            if self.book.expect(numbers.shape == _shape_of(exploration), words):
                released = ReleasedRound(exploration, *numbers)
                self.released += 1
        if self._alone:
            epoch = self._learning(place)
            epoch.take_in(released, public["point"])
            self._iterates.append(epoch.learner.iterate)
            self._known.append(epoch.explorer.knowledge())
            return
        self._collector.told = None
        if released is not None:
            learner: Any = self._epoch.learner
            released.exploration.learn(self._collector, *learner.gradient.sums(released))
        self._told.append(self._collector.told)
        self._iterates.append(self._iterates[-1])

    def _note(self) -> None:
        """Keep what is compared with what is stored, if this is the moment of that."""
        if len(self._iterates) - 1 == self.stored and self._alone:
            self.state = self._epoch.state()

    def _note_last(self) -> None:
        """Where the set has changed: keep what is compared as the set of the newest round says it."""
        if len(set(self._sets)) > 1 and self.stored < len(self._known):
            epoch = self._in_set(self._sets[-1])
            epoch.learner.observed = self.stored
            epoch.explorer.go_back(self._known[self.stored])
            self.state = epoch.state()

    def _exploration(self, one: RoundRow) -> Exploration:
        public = self.book.public[one.key]
        return self._in_set(public["set"]).explorer.resume(public["point"], part(public, "exploration"))

    # ------------------------------------------------------------------ what is stored as learned

    def compare(self, stored: Record, opened: int) -> None:
        """Compare what is stored as learned, when so many of its rounds had begun."""
        what, expect = f"the epoch of event {self.before}", self.book.expect
        known = self.rounds[:opened]
        passed = known[-1].position - self.before + self._due[known[-1].number] if known else 0
        fits = (stored["passed"], stored["opened"]) == (passed, opened)
        expect(fits, f"{what} counts {stored['opened']} rounds with {stored['passed']} events, and has others")
        expect(stored["learner.observed"] == self.stored, f"{what}: learner.observed does not follow")
        found = self.state
        expect(found.keys() == stored.keys(), f"what {what} has learned is incomplete")
        if not self._alone:
            self._compare_history(what, stored)
            return
        for name in found.keys() - {"passed", "opened", "center", "learner.solved", "learner.point"}:
            same = name in stored and is_close(found[name], stored[name])
            expect(same, f"{what}: {name} does not follow from the released rounds")
        near = found["center"].shape == stored["center"].shape
        near = near and float(np.linalg.norm(found["center"] - stored["center"])) <= self._inherited + self.tolerance
        expect(near, f"{what} begins at a point that nothing stored leads to")
        index = stored.get("learner.solved", -1)
        fits = index == -1 or (
            0 <= index < len(self._iterates) and self._points.distance(stored["learner.point"], index)[1]
        )
        expect(fits, f"{what}: learner.point does not follow from the released rounds")

    def _compare_history(self, what: str, stored: Record) -> None:
        """Compare the released numbers that a segment's belief rests on: those since all was last forgotten."""
        belief, since = self._collector, stored["explorer.since"]
        told = [*self._carried, *(one for one in self._told[: self.stored] if one is not None)]
        measurements, scatter, scattered = belief.measurements, NO_SCATTER, "explorer.scatter" in stored
        for one in told:
            if one.end > since:
                centred = replace(one, means=one.means - belief.settings.middle)
                if isinstance(one, Numbers):  # of decisions, in the names that there were
                    centred = replace(centred, probes=widened(one.probes, belief.dimension))
                measurements = measurements.add(centred)
                if scattered:  # of linear losses
                    scatter = scatter + scatter_of(centred, belief.settings)
        found = {f"measurements.{name}": value for name, value in measurements.record().items()}
        if scattered:
            found["scatter"] = scatter
        for name, value in found.items():
            same = is_close(value, stored[f"explorer.{name}"])
            self.book.expect(same, f"{what}: explorer.{name} does not follow from the released rounds")

    # ------------------------------------------------------------------ rounds

    def check_rounds(self) -> None:
        """Check every round: when it began, its point and choices, its size, what it wanted, and what it released."""
        problem = self.setting.problem
        steps = None if isinstance(problem.privacy, LocalDP) else self.plan.grids(problem.loss_range)[0].steps
        signs: dict[int, NoiseSigns] = {}
        if steps is not None and not self.setting.simulated:  # which may come again
            noises = {number: plan.noise for number, plan in self.plans.items()}
            signs = {number: NoiseSigns(noise, steps) for number, noise in noises.items() if noise is not None}
        least = passed = 0
        self.book.expect(self._sets == sorted(self._sets), f"the epoch of event {self.before} plays a set that is gone")
        for place, one in enumerate(self.rounds):
            public, what, expect = self.book.public[one.key], self.book.what(*one.key), self.book.expect
            after = self.book.public[self.rounds[0].key]["after"]
            fits = public["number"] == place and public["after"] == after and one.position == self.before + passed
            expect(fits, f"{what} is not number {place} of its epoch")
            learned = public["learned"]
            words = f"{what} says that it began after {learned} rounds of its epoch were learned from"
            known = expect(least <= learned <= min(place, len(self._iterates) - 1), f"{words}, which cannot be")
            least = learned = learned if known else least
            exploration = self._exploration(one)
            self._check_beginning(what, one, exploration, learned)
            self._check_point(what, public, learned, place)
            self._check_release(what, one, exploration, signs.get(public["set"]), steps)
            passed += one.size
        self.book.faults += [fault for one in signs.values() for fault in one.faults()]

    def _check_beginning(self, what: str, one: RoundRow, exploration: Exploration, learned: int) -> None:
        """Check what follows from the rounds that were learned from when a round began: its size, and its choices."""
        expect, public = self.book.expect, self.book.public[one.key]
        explorer = self._in_set(public["set"]).explorer
        passed, left = one.position - self.before, self.before + self.plan.horizon - one.position
        if self._alone:
            held = explorer.knowledge()
            explorer.go_back(self._known[learned])
            due = min(explorer.round_size(passed), left)
            fits = exploration.can_begin(passed, due)
            explorer.go_back(held)
        else:  # what other segments said had its share in how many events it has
            due = public["exploration.end"] - passed
            fits = 0 < due <= left
        self._due[one.number] = due
        expect(fits, f"{what} has probes that do not follow from where it began")
        expect(exploration.is_possible(), f"{what} has probes that its plan does not draw")
        planned = getattr(self.plan.options, "directions", exploration.numbers)
        expect(planned == exploration.numbers, f"{what} has {exploration.numbers} directions, and its plan others")
        cut = one.key in self.book.dropped and one.size < due
        expect(one.size == due or cut, f"{what} has {one.size} events, and its plan says {due}")
        sized = public.get("exploration.size", due)
        expect(sized == due, f"{what} has probes for another size")
        expect(public["last"] == (due == left), f"{what} is {'' if due == left else 'not '}the last of its epoch")

    def _check_point(self, what: str, public: Record, learned: int, place: int) -> None:
        """Check that a round played the newest point that was known when it began."""
        point = public["point"]
        if not self.book.expect(bool(np.isfinite(point).all()), f"the point of {what} is not finite"):
            return
        if not self._alone:  # its point follows from what other segments said as well
            placement = self._in_set(public["set"]).placement
            inside = placement.domain.contains(placement.original(point), 1e-6)
            self.book.expect(inside, f"the point of {what} is not of the set")
            return
        points = self._points_of[public["set"]]
        distance, fits = points.distance(point, points.index(learned, place))
        self.book.expect(fits, f"the point of {what} does not follow from the released rounds")
        self.distance = max(self.distance, distance)

    def _check_release(
        self, what: str, one: RoundRow, exploration: Exploration, signs: NoiseSigns | None, steps: int | None
    ) -> None:
        """Draw a round's actions again: which losses were wanted, and what they weigh; look at what was released."""
        record, expect = self.book.released.get(one.key), self.book.expect
        if record is None:
            marks = self.book.slots[one.key][: one.reserved]
            wanted, _ = self._redrawn(one, exploration, one.reserved, {})
            fits = self._fits(np.flatnonzero(marks == UNWANTED), wanted)
            expect(fits, f"{what} does not want the losses that its actions need")
            return
        if one.key in self.book.dropped:
            return
        wanted, weights = self._redrawn(one, exploration, one.size, record)
        expect(self._fits(record["unwanted"], wanted), f"{what} wanted losses that its probes do not need")
        last = self.book.public[one.key]["last"]
        words = f"{what} is {'' if last else 'not '}the last of its epoch, and its release says otherwise"
        if not expect(("numbers" in record) != last, words) or last:
            return
        numbers = record["numbers"]
        if numbers.shape != _shape_of(exploration):
            return  # said elsewhere
        fits = np.abs(numbers[1] - weights).max(initial=0) <= (_GRID if self._rounds_directions else 0)
        expect(bool(fits), f"the release of {what} has weights that its actions do not have")
        counts = exploration.counts(weights, one.size)
        for sums in numbers[[0, *range(2, len(numbers))]]:  # losses, and any squares, which are no larger
            if signs is not None:
                signs.add(sums, counts)
            elif self.plan.noise is None and steps is not None and counts is not None:
                low, high = -counts[0] * steps, counts[1] * steps
                possible = bool(((low <= sums) & (sums <= high)).all())
                expect(possible, f"the release of {what} is not a sum of its losses")

    def _fits(self, unwanted: Integers, wanted: NDArray[np.bool_]) -> bool:
        """Whether losses are unwanted that may be: by the plan; where people are counted, others of theirs as well."""
        planned = np.flatnonzero(~wanted)
        if self.book.rows.counting:
            return bool(np.isin(planned, unwanted).all())
        return np.array_equal(np.sort(unwanted), planned)

    def _redrawn(
        self, one: RoundRow, exploration: Exploration, count: int, record: Record
    ) -> tuple[NDArray[np.bool_], Integers]:
        """Return which of the first slots of a round want their loss by the plan, and what those weigh that have it."""
        epoch = self._in_set(self.book.public[one.key]["set"])
        length, wanted = epoch.chunk_of(exploration), np.ones(count, dtype=bool)
        told, counted = np.ones((2, one.size), dtype=bool)
        told[record.get("missing", ())] = False
        counted[record.get("unwanted", ())] = False
        total = np.zeros(exploration.numbers, dtype=np.int64)
        self._rounds_directions = False
        for start in range(0, count, length):
            coins = coins_of(self.setting.entropy, one.stream, one.number, start // length)
            drawn = exploration.draw(coins, start, min(length, one.size - start))
            weights = drawn.weights.only(counted[start : start + drawn.weights.size])
            if isinstance(weights, Itemised) and epoch.grid.leaves_out_missing:
                weights = weights.only(told[start : start + weights.size])
            total += weights.total()
            self._rounds_directions |= isinstance(drawn.weights, Weighted)
            if drawn.wants_loss is not None:
                wanted[start : start + length] = drawn.wants_loss[: count - start]
        return wanted, total


def _shape_of(exploration: Exploration) -> tuple[int, int]:
    """Of what a round has released: sums, their weights, and squares, if there are any."""
    return 3 if exploration.squares else 2, exploration.numbers


class _Collector:
    """Stands in for the belief of a segment: notes what it is told, and judges nothing by what others said."""

    def __init__(self, belief: Any) -> None:
        self.settings, self.measurements = belief.settings, belief.fresh_copy().measurements
        self.dimension, self.told = belief.dimension, None

    def learn(self, numbers: Any) -> None:
        """Note what a round has released."""
        self.told = numbers


def is_close(one: Any, other: Any) -> bool:
    """Whether values are the same, but for rounding."""
    if isinstance(one, str | None) or isinstance(other, str | None):
        return bool(one == other)
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if one.shape != other.shape:
        return False
    size = float(max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0)))
    return bool(np.allclose(one, other, rtol=1e-9, atol=_ROUNDING * size))
