"""What an optimizer's rounds play, and what becomes of their losses: the policy behind its book.

A stream has epochs (one, if the horizon is known), and an epoch has a plan: an explorer that begins rounds, a learner
that takes in what they release, a mechanism that releases them. Segments are streams whose explorers inform each other.
Where the set changes in the middle of an epoch, another `Epoch` goes on for it, with the plan of the new set.

Public coins are drawn for each round anew, and for each chunk of its slots: so what a slot plays follows from the
record of its round, in whatever process, and a round that is begun again after a failure is the same round.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce._records import Record, pack, part
from sottovoce._sums import Itemised, Probed, Weighted
from sottovoce.domains.oracles import calls_of_this_thread
from sottovoce.learning.bandit.actions import Action, speaking
from sottovoce.learning.bandit.configuration import BanditConfiguration
from sottovoce.learning.bandit.doubling import next_length
from sottovoce.learning.bandit.epoch import Epoch, next_epoch
from sottovoce.learning.bandit.estimates import ReleasedRound
from sottovoce.learning.bandit.recommendation import best_informed
from sottovoce.learning.bandit.set_changes import SetChange, check_change, grid_for, plan_after, problem_after
from sottovoce.plans.decisions import Decisions, joined
from sottovoce.plans.explorer import Exploration
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import NoiseSource
from sottovoce.rounds.lease import Lease
from sottovoce.rounds.round import MISSING, UNWANTED, Draft, Draw, Release, Round, Shape

_PUBLIC_COINS = b"sottovoce coins"  # simulated noise is seeded in another way, so equal seeds never share a stream
_CHUNKS = 4  # of a round that are kept as they were drawn: of a long one, the others are drawn again for its sums


class Stretch:
    """An epoch with its place in a stream: events and rounds before it, and how many the last one had learned from.

    `number` says which of the sets it plays, and `past` has what played those before.
    """

    def __init__(self, epoch: Epoch, before: int, earlier: int, after: int = 0, number: int = 0) -> None:
        self.before, self.earlier, self.after = before, earlier, after
        self.past: dict[int, Epoch] = {}
        self._playing = number, epoch

    @property
    def number(self) -> int:
        """Which set it plays."""
        return self._playing[0]

    @property
    def epoch(self) -> Epoch:
        """What plays it, and learns from rounds of all sets."""
        return self._playing[1]

    def go_on(self, number: int, epoch: Epoch) -> None:
        """Let another epoch take over, for another set; those before it are kept while they have open rounds."""
        self.past = {**self.past, self.number: self.epoch}
        self._playing = number, epoch

    @property
    def end(self) -> int:
        """Events of the stream up to its end."""
        return self.before + self.epoch.plan.horizon


@dataclass(eq=False)
class RoundPlay:
    """A round that has begun: who plays what."""

    stretch: Stretch
    epoch: Epoch  # of its own set
    number: int  # of its epoch
    point: Floats
    exploration: Exploration
    last: bool  # of its epoch: nothing would follow from its release
    size: int
    public: Record
    length: int  # of its chunks
    drawn: tuple[int, int] | None = None  # its first id, and what its mechanism had released before its noise was drawn
    chunks: dict[int, tuple[Any, Any, Weighted | Probed | Itemised]] = field(default_factory=dict)


class Stream:
    """Epochs and open rounds of one stream."""

    def __init__(self, first: Stretch) -> None:
        self.stretches = [first]  # those with rounds that are not learned from, or that know most; the current one last
        # Of all epochs, the events before each, which set it played, and its plan:
        self.planned = [(first.before, first.number, first.epoch.plan)]
        self.taught: Epoch | None = None  # the one that has learned most of those whose rounds were released
        self.rounds: dict[int, RoundPlay] = {}
        self.played: tuple[int, Floats] | None = None  # events before the epoch of the newest round, and its point
        self.passed = 0  # events of the rounds that have begun
        self.begun = self.learned = 0  # rounds that have begun; that were learned from, or passed over
        self.finished_calls = self.setup_calls = 0  # of the oracle: by epochs that are over; before their first events

    @property
    def current(self) -> Stretch:
        """The epoch that it plays."""
        return self.stretches[-1]

    def plan(self, before: int, number: int) -> Plan:
        """Return the plan of an epoch, by the events before it and the set that it played."""
        return next(plan for *place, plan in self.planned if place == [before, number])

    def planned_with(self, before: int, number: int, plan: Plan) -> list[tuple[int, int, Plan]]:
        """Return all plans with one more, however often an attempt at that is cut short."""
        return [*(one for one in self.planned if one[:2] != (before, number)), (before, number, plan)]


class BanditPolicy:
    """See `Policy`.

    Parameters
    ----------
    configuration, problem
        What the optimizer was made with.
    source
        Of noise.
    entropy
        What public coins follow from.
    """

    def __init__(self, configuration: BanditConfiguration, problem: Problem, source: NoiseSource, entropy: int) -> None:
        self.configuration, self.source, self.entropy = configuration, source, entropy
        self.problems = [problem]  # with each of the sets, as far as is known here
        self.horizon = None if configuration.horizon is None else problem.horizon
        self.streams: dict[int, Stream] = {}
        self.refresh: Callable[[], None] = lambda: None  # reads what other processes have begun
        self.read_changes: Callable[[], None] = lambda: None  # reads what sets others have changed to
        self.seen_changes = b""  # as of which that was read last
        self._view: tuple[Any, int, Epoch] | None = None  # what is known, seen from a set that is not played yet
        self.first = self._planned(None)
        self._grids = self.problems, self.first.grid  # of the losses of these sets
        self.shape = Shape(self.grid.per_slot, *self.grid.bounds)  # later epochs have no finer grid

    # ------------------------------------------------------------------ sets

    @property
    def problem(self) -> Problem:
        """The problem with the newest set."""
        return self.problems[-1]

    @property
    def grid(self) -> Any:
        """Where the integers of losses live, of all sets."""
        sets, grid = self._grids
        if sets is not self.problems:
            sets = self.problems
            grid = grid_for(self.first.grid, sets)
            self._grids = sets, grid
        return grid

    def change(self, change: SetChange) -> None:
        """Play another set from the next round on."""
        self.problems = [*self.problems, problem_after(self.problem, change)]

    @property
    def changes(self) -> list[SetChange]:
        """The sets that took the place of the first."""
        return [SetChange(one.domain, one.features) for one in self.problems[1:]]

    def check_change(self, change: SetChange) -> None:
        """Refuse a set that cannot take the place of the present one."""
        at = self.stream(0).current if self.problem.segments is None else Stretch(self.first, 0, 0)
        check_change(self.problem, change, at.epoch, self.grid)
        self._epoch_in(problem_after(self.problem, change), at)

    def _problem_of(self, number: int) -> Problem:
        if number >= len(self.problems):
            self.read_changes()
        return self.problems[number]

    def problem_of(self, one: Round) -> Problem:
        """Return the problem with the set that a round plays."""
        return self._problem_of(one.public["set"])

    @property
    def fills_slots(self) -> bool:
        """Whether every decision of every set has an item for each integer of a slot."""
        return all(one.domain.least_chosen == self.grid.width for one in self.problems)

    def _epoch_in(self, problem: Problem, at: Stretch, stream: int | None = None) -> Epoch:
        """Return an epoch that goes on for another one in another set; without a stream, to see whether it can."""
        problem = replace(problem, horizon=at.epoch.plan.horizon)
        plan = plan_after(problem, self.configuration, at.epoch.plan)
        calls = calls_of_this_thread()
        epoch = Epoch(problem, plan, self.source)
        epoch.take_over(at.epoch)
        epoch.calls = calls_of_this_thread() - calls
        return epoch

    def _follow_sets(self, stream: int, mine: Stream) -> None:
        """Let the newest set be played."""
        at, number = mine.current, len(self.problems) - 1
        if at.number == number:
            return
        epoch = self._epoch_in(self.problem, at, stream)
        mine.planned = mine.planned_with(at.before, number, epoch.plan)
        if mine.taught is at.epoch:
            mine.taught = epoch
        mine.finished_calls += at.epoch.oracle_calls
        at.go_on(number, epoch)

    def coins(self, stream: int, number: int, chunk: int = -1) -> np.random.Generator:
        """Return the public coins of a round, or of a chunk of its slots."""
        return coins_of(self.entropy, stream, number, chunk)

    # ------------------------------------------------------------------ epochs

    def _planned(self, previous: Stretch | None) -> Epoch:
        """Plan the epoch after another one."""
        before, epoch = (0, None) if previous is None else (previous.end, previous.epoch)
        problem = replace(self.problem, horizon=next_length(self.horizon, before))
        return next_epoch(problem, self.configuration, self.source, epoch)

    def join(self, stream: int, name: str) -> Stream:
        """Begin a stream."""
        found = self.streams[stream] = Stream(Stretch(self.first, 0, 0))
        found.setup_calls = self.first.setup_calls
        return found

    def start_over(self) -> None:
        """Forget all streams, and what was learned from them."""
        self.problems, self.seen_changes, plan = self.problems[:1], b"", self.first.plan
        self.streams, self.first = {}, Epoch(replace(self.problem, horizon=plan.horizon), plan, self.source)

    def stream(self, stream: int) -> Stream:
        """Return a stream; the one of an optimizer without segments is there from the start."""
        return self.streams.get(stream) or self.join(stream, "")

    def current(self, stream: int = 0) -> Epoch:
        """The epoch that a stream plays."""
        return self.stream(stream).current.epoch

    def informed(self, stream: int = 0) -> Epoch | None:
        """The epoch that has learned most: the current one, but for actions that were asked far ahead of losses."""
        taught = self.stream(stream).taught
        found = best_informed([one for one in (self.current(stream), taught) if one is not None])
        return None if found is None else self.in_newest_set(found, stream)

    def in_newest_set(self, epoch: Epoch, stream: int = 0) -> Epoch:
        """Return what an epoch knows, said of the newest set: that may not be played before the next round."""
        number, known = len(self.problems) - 1, epoch.explorer.knowledge()
        if epoch.placement.domain is self.problem.domain:
            return epoch
        if self._view is None or self._view[0] is not known or self._view[1] != number:
            self._view = known, number, self._epoch_in(self.problem, Stretch(epoch, 0, 0), stream)
        return self._view[2]

    @property
    def planned(self) -> int:
        """Events of the epochs that were planned."""
        return self.stream(0).current.end

    def point(self) -> Floats:
        """The point of the newest round; of the first, before there is one."""
        mine = self.stream(0)
        if mine.played is None or mine.current.number < len(self.problems) - 1:
            epoch = self.in_newest_set(self.current())
            return epoch.placement.original(epoch.learner.point(0))
        before, point = mine.played
        position = mine.plan(before, mine.current.number).position
        return self.problem.placement(position).original(point)

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle for planning, points and decisions."""
        if not self.streams:
            return self.first.oracle_calls
        return sum(one.finished_calls + one.current.epoch.oracle_calls for one in self.streams.values())

    @property
    def setup_calls(self) -> int:
        """Those of them that were made before the first event of an epoch."""
        return self.stream(0).setup_calls

    # ------------------------------------------------------------------ what goes on elsewhere

    def to_record(self, stream: int) -> Record:
        """Return what the rounds to come of a stream depend on: released values and public choices."""
        mine = self.stream(stream)
        facts: Record = {"passed": mine.passed, "begun": mine.begun, "learned": mine.learned}
        facts |= {"finished_calls": mine.finished_calls, "stretches": len(mine.stretches)}
        if mine.played is not None:
            facts |= {"played": mine.played[0], "point": mine.played[1]}
        facts["planned"] = [[before, number, plan.to_dict()] for before, number, plan in mine.planned]
        return {**facts, **_headed("stretch", map(_stretch_record, mine.stretches))}

    def adopt(self, stream: int, record: Record) -> None:
        """Go on where `to_record` was called, be it in another process."""
        mine = self.stream(stream)
        known = {(one.before, one.earlier): one for one in mine.stretches}
        mine.planned = [(before, number, Plan.from_dict(plan)) for before, number, plan in record["planned"]]
        stretches = []
        for place in range(record["stretches"]):
            found = part(record, f"stretch{place}")
            at, number = (found["before"], found["earlier"]), found["set"]
            one, plan = known.get(at), mine.plan(found["before"], number)
            if one is not None and one.number < number:
                one.go_on(number, self._epoch_of(stream, plan, found["before"], number))
            elif one is None or one.number != number or one.epoch.plan != plan:
                one = Stretch(self._epoch_of(stream, plan, found["before"], number), *at, found["after"], number)
            one.epoch.restore(part(found, "learned"))
            stretches.append(one)
        mine.stretches, mine.passed, mine.finished_calls = stretches, record["passed"], record["finished_calls"]
        mine.begun, mine.learned = record["begun"], record["learned"]
        mine.played = (record["played"], record["point"]) if "point" in record else None
        mine.taught = best_informed([one.epoch for one in stretches])
        mine.rounds = {number: one for number, one in mine.rounds.items() if one.stretch in stretches}

    def _epoch_of(self, stream: int, plan: Plan, before: int, number: int) -> Epoch:
        """Return an epoch that was planned elsewhere."""
        if before == number == 0 and plan == self.first.plan and not self.first.observed:
            return self.first
        return Epoch(replace(self._problem_of(number), horizon=plan.horizon), plan, self.source)

    # ------------------------------------------------------------------ rounds

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round of a stream: the same, if it was begun already and that has failed."""
        mine = self.stream(stream)
        mine.begun = number + 1
        if position == mine.current.end:
            self._next_stretch(stream, mine, number)
        self._follow_sets(stream, mine)
        at = mine.current
        size, point, exploration = at.epoch.begin_round(
            self.coins(stream, number), position - at.before, number - at.earlier
        )
        last = position + size == at.end
        public = {"before": at.before, "number": number - at.earlier, "last": last, "point": point}
        public |= {"learned": at.epoch.observed, "after": at.after, "set": at.number}
        public |= {f"exploration.{name}": one for name, one in exploration.record().items()}
        length = at.epoch.chunk_of(exploration)
        begun = RoundPlay(at, at.epoch, number - at.earlier, point, exploration, last, size, public, length)
        mine.rounds[number], mine.played, mine.passed = begun, (at.before, point), position + size
        return Draft(size, public)

    def _next_stretch(self, stream: int, mine: Stream, number: int) -> None:
        previous = mine.current
        epoch = self._next_epoch(stream, previous)
        mine.finished_calls += previous.epoch.oracle_calls
        mine.setup_calls += epoch.setup_calls
        open_ = mine.learned
        kept = [one for one in mine.stretches if one.epoch is mine.taught or open_ < one.earlier + one.epoch.counts[1]]
        newest = len(self.problems) - 1
        mine.planned = mine.planned_with(previous.end, newest, epoch.plan)
        mine.stretches = [*kept, Stretch(epoch, previous.end, number, previous.epoch.observed, newest)]

    def _next_epoch(self, stream: int, previous: Stretch) -> Epoch:
        return self._planned(previous)

    def _play(self, one: Round) -> RoundPlay:
        """Return what a round plays: as it was begun here, or as its record says."""
        if one.stream not in self.streams:
            self.refresh()  # another process has opened it
        mine = self.streams.get(one.stream) or self.stream(one.stream)
        found = mine.rounds.get(one.number)
        if found is None or found.public is not one.public:
            if found is None or pack(found.public) != pack(one.public):
                found = self._played_elsewhere(one)
            found.public = one.public
            mine.rounds[one.number] = found
        return found

    def _played_elsewhere(self, one: Round) -> RoundPlay:
        public = one.public
        stretch, place = self._stretch(one.stream, public["before"]), (public["before"], public["set"])
        if stretch is None or all(planned[:2] != place for planned in self.stream(one.stream).planned):
            self.refresh()
            stretch = self._stretch(one.stream, public["before"])
            assert stretch is not None, "an epoch is kept as long as a round of it is open"
        epoch = self._epoch_for(one.stream, stretch, public["set"])
        exploration = epoch.explorer.resume(public["point"], part(public, "exploration"))
        length, number, point = epoch.chunk_of(exploration), public["number"], public["point"]
        return RoundPlay(stretch, epoch, number, point, exploration, public["last"], one.size, public, length)

    def _epoch_for(self, stream: int, stretch: Stretch, number: int) -> Epoch:
        """Return what played a set in a stretch: it may have gone on to a later one since."""
        if number == stretch.number:
            return stretch.epoch
        if number not in stretch.past:
            plan = self.stream(stream).plan(stretch.before, number)
            stretch.past[number] = self._epoch_of(stream, plan, stretch.before, number)
        return stretch.past[number]

    def _stretch(self, stream: int, before: int) -> Stretch | None:
        return next((one for one in self.stream(stream).stretches if one.before == before), None)

    def draw(self, one: Round, start: int, count: int) -> Draw:
        """Return what slots of a round play."""
        played, pieces, wanted = self._play(one), [], []
        length = played.length
        while count:
            chunk, at = divmod(start, length)
            actions, wants, _ = self._chunk(one, played, chunk, length)
            here = slice(at, min(at + count, len(actions)))
            pieces.append(actions[here])
            wanted.append(wants if wants is None else wants[here])
            start, count = start + here.stop - at, count - (here.stop - at)
        if all(wants is None or wants.all() for wants in wanted):
            return Draw(joined(pieces))
        everything = zip(pieces, wanted, strict=True)
        flags = [np.ones(len(piece), dtype=bool) if wants is None else wants for piece, wants in everything]
        return Draw(joined(pieces), np.concatenate(flags))

    def _chunk(
        self, one: Round, played: RoundPlay, chunk: int, length: int
    ) -> tuple[Any, Any, Weighted | Probed | Itemised]:
        found = played.chunks.get(chunk)
        if found is None:
            coins = self.coins(one.stream, one.number, chunk)
            drawn = played.exploration.draw(coins, chunk * length, min(length, one.size - chunk * length))
            if isinstance(drawn.actions, np.ndarray):
                drawn.actions.setflags(write=False)
            found = played.chunks[chunk] = drawn.actions, drawn.wants_loss, drawn.weights
            if len(played.chunks) > _CHUNKS:
                del played.chunks[min(played.chunks)]
        return found

    def items_at(self, one: Round, slot: int) -> Integers:
        """Return the items of the decision that a slot of a round plays, in the order in which losses are told."""
        played = self._play(one)
        length = played.length
        weights = self._chunk(one, played, slot // length, length)[2]
        items = played.exploration.items_of(weights)[slot % length]  # type: ignore[attr-defined]
        return np.asarray(items[items >= 0])

    def plan_of(self, one: Round) -> Plan:
        """Return the plan of a round."""
        return self.stream(one.stream).plan(one.public["before"], one.public["set"])

    def compute(self, one: Round, slots: Integers) -> Any:
        """Return the sums of a complete round, with noise, drawn once; below them their weights, then any squares."""
        played = self._play(one)
        if played.last:
            return None
        epoch = played.epoch
        grid = epoch.grid
        finer = getattr(self.grid, "steps", 1) // getattr(grid, "steps", 1)
        length, missing, itemised = played.length, grid.missing, self.problem.feedback == "items"
        numbers, beside = played.exploration.numbers, bool(played.exploration.squares)
        products, total = (np.zeros(size, dtype=np.int64) for size in (numbers * (1 + beside), numbers))
        for start in range(0, one.size, length):
            weights = self._chunk(one, played, start // length, length)[2]
            mine = slots[start : start + length]
            losses = mine.copy() if mine.ndim == 1 and not itemised else self.grid.unfolded(mine)
            if finer > 1:  # long epochs have coarser grids: sums must fit
                losses = grid.coarsened(losses, finer)
            marks = mine if mine.ndim == 1 else mine[:, 0]
            losses[marks == MISSING] = missing
            unwanted = marks == UNWANTED  # by the plan, or because their people have given all their losses
            if unwanted.any():
                weights = weights.only(~unwanted)
            if isinstance(weights, Itemised):
                losses = losses[:, : weights.columns.shape[1]]
                if grid.leaves_out_missing:
                    weights = weights.only(marks != MISSING)
            of_chunk = weights.sum(losses)
            products += of_chunk
            losses[:] = of_chunk[:] = 0  # the store overwrites its own
            total += weights.total()
        if played.drawn is None or played.drawn[0] != one.first:  # or a restored store has begun a round like it
            played.drawn = one.first, epoch.mechanism.round
        released = draw_noise(epoch, products, played.drawn[1])
        products[:] = 0
        sums, *squares = released.reshape(-1, numbers)
        return np.stack([sums, total, *squares])

    def learn(self, release: Release) -> None:
        """Take in what was released, once, however often an attempt is cut short."""
        one, mine = release.round, self.stream(release.round.stream)
        played = self._play(one)
        epoch = played.stretch.epoch
        if epoch.observed == played.number and (release.dropped or not played.last):
            released = None
            if release.numbers is not None:
                released = ReleasedRound(played.exploration, *release.numbers)
            epoch.take_in(released, played.point)
            if epoch is not mine.taught:
                mine.taught = best_informed([one for one in (epoch, mine.taught) if one is not None])
        mine.learned = one.number + 1
        mine.rounds.pop(one.number, None)
        past = played.stretch.past
        if past:
            played.stretch.past = {number: one for number, one in past.items() if number >= release.round.public["set"]}

    def kind(self, one: Round) -> type[Action]:
        """Actions that answer in the names of a round's set."""
        return speaking(self.problem_of(one).domain)

    def ready(self, lease: Lease) -> Sequence[Any]:
        """Return the decisions of a lease."""
        actions = lease.draw.actions
        return actions.shared() if isinstance(actions, Decisions) else list(actions)


def draw_noise(epoch: Epoch, sums: Integers, before: int) -> Any:
    """Draw the noise of the round after `before` others, once: what a call that was cut short has drawn is kept."""
    mechanism = epoch.mechanism
    if mechanism.round > before:
        return mechanism.last
    return mechanism.add(sums) if epoch.keeps_secrets else mechanism.release(sums)


def coins_of(entropy: int, stream: int, number: int, chunk: int) -> np.random.Generator:
    """Return the public coins of a round (chunk -1), or of a chunk of its slots."""
    seed: Any = _Seed(b"%d %d %d %d" % (entropy, stream, number, chunk))
    return np.random.Generator(np.random.SFC64(seed))


class _Seed(ISeedSequence):
    """The seed of a generator, from a text by BLAKE2b: a tenth of the time of numpy's own `SeedSequence`."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return so many words; the generator in use asks for three."""
        size = n_words * np.dtype(dtype).itemsize
        data = blake2b(self.text, digest_size=size, person=_PUBLIC_COINS).digest()
        return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype)


def entropy_of(seed: int | None) -> int:
    """Return what public coins follow from: a seed, or the operating system's entropy."""
    return secrets.randbits(128) if seed is None else whole("seed", seed, least=0)


def _stretch_record(one: Stretch) -> Record:
    learned = {f"learned.{name}": value for name, value in one.epoch.state().items()}
    return {"before": one.before, "earlier": one.earlier, "after": one.after, "set": one.number, **learned}


def _headed(heading: str, records: Any) -> Record:
    return {f"{heading}{i}.{name}": one for i, record in enumerate(records) for name, one in record.items()}
