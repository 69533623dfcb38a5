"""What an optimizer's rounds play, and what becomes of their losses: the policy behind its book.

A stream has epochs (one, if the horizon is known), and an epoch has a plan: an explorer that begins rounds, a learner
that takes in what they release, a mechanism that releases them. Segments are streams whose explorers inform each other.
Where the set changes in the middle of an epoch, another `Epoch` takes its place, with the plan of the new set.

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
from sottovoce._records import Record, headed, pack, part
from sottovoce._sums import Itemised, Probed, Weighted
from sottovoce.domains.oracles import watched_calls
from sottovoce.learning.actions import Action, speaking
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.epoch import Epoch, next_length
from sottovoce.learning.learners import ReleasedRound
from sottovoce.learning.recommendation import Recommendation, recommended, shown
from sottovoce.learning.set_changes import SetChange, check_change, grid_for, plan_for, problem_after
from sottovoce.plans.decisions import Decisions, joined
from sottovoce.plans.explorer import Exploration
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import NoiseSource
from sottovoce.rounds.lease import Lease
from sottovoce.rounds.round import MISSING, UNWANTED, Draft, Draw, Release, Round, Shape

_PUBLIC_COINS = b"sottovoce coins"  # simulated noise is seeded in another way, so equal seeds never share a stream
_COUNTS = ("passed", "begun", "learned")  # of a stream
_CHUNKS = 4  # of a round that are kept as they were drawn: of a long one, the others are drawn again for its sums


@dataclass(eq=False)
class RoundPlay:
    """A round that has begun: who plays what."""

    epoch: Epoch  # of its own set
    exploration: Exploration
    public: Record
    drawn: tuple[int, int] | None = None  # its first id, and what its mechanism had released before its noise was drawn
    chunks: dict[int, tuple[Any, Any, Weighted | Probed | Itemised]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.length = self.epoch.chunk_of(self.exploration)


class Stream:
    """Epochs and open rounds of one stream."""

    def __init__(self, first: Epoch) -> None:
        # Those with rounds that are not learned from, or that know most; the current one last. Several may play one
        # set after another from the same event on: the last of them learns from the rounds of all.
        self.epochs = [first]
        # Plans of all epochs, by the events before each, and which set it played:
        self.planned = {(first.before, first.number): first.plan}
        self.rounds: dict[int, RoundPlay] = {}
        self.played: tuple[int, Floats] | None = None  # events before the epoch of the newest round, and its point
        self.passed = 0  # events of the rounds that have begun
        self.begun = self.learned = 0  # rounds that have begun; that were learned from, or passed over

    @property
    def current(self) -> Epoch:
        """The epoch that it plays."""
        return self.epochs[-1]

    @property
    def informed(self) -> Epoch:
        """The epoch that has learned most: the current one, but for actions that were asked far ahead of losses."""
        return max(reversed(self.epochs), key=lambda one: one.knows)

    def epoch_at(self, before: int) -> Epoch | None:
        """Return the epoch after so many events, if it is kept: it learns from all rounds that began there."""
        return next((one for one in reversed(self.epochs) if one.before == before), None)


class BanditPolicy:
    """See `Policy`. It has one stream, of everybody: what is said of segments here holds for that one.

    Parameters
    ----------
    configuration, problem
        What the optimizer was made with.
    source
        Of noise.
    entropy
        What public coins follow from.
    """

    first_streams: tuple[str, ...] = ("",)
    """Names of the streams that are there from the start."""

    own: frozenset[Any] = frozenset()
    """Segments that have left rounds which they shared."""

    def __init__(self, configuration: BanditConfiguration, problem: Problem, source: NoiseSource, entropy: int) -> None:
        self.configuration, self.source, self.entropy = configuration, source, entropy
        self.problems = [problem]  # with each of the sets, as far as is known here
        self.numbers: dict[Any, int] = {None: 0}  # the streams of segments
        self.horizon = None if configuration.horizon is None else problem.horizon
        self.streams: dict[int, Stream] = {}
        self.refresh: Callable[[], None] = lambda: None  # reads what other processes have begun
        self.read_changes: Callable[[], None] = lambda: None  # reads what sets others have changed to
        self.seen_changes = b""  # as of which that was read last
        self.first = self._planned(replace(problem, horizon=next_length(self.horizon, 0)))
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

    def check_change(self, change: SetChange) -> None:
        """Refuse a set that cannot take the place of the present one."""
        at = self.newest
        check_change(self.problem, change, at, self.grid)
        later = replace(problem_after(self.problem, change), horizon=at.plan.horizon)
        self._planned(later, at).take_over(at, at.number)

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

    def _epoch_after(self, at: Epoch, stream: int) -> Epoch:
        """Return an epoch that goes on for another one in the newest set."""
        number = len(self.problems) - 1
        epoch = self._epoch(stream, at.plan.horizon, number, at)
        epoch.take_over(at, number)
        return epoch

    def _follow_sets(self, stream: int, mine: Stream) -> None:
        """Let the newest set be played."""
        at, number = mine.current, len(self.problems) - 1
        if at.number == number:
            return
        epoch = self._epoch_after(at, stream)
        mine.planned = {**mine.planned, (at.before, number): epoch.plan}
        mine.epochs = [*mine.epochs, epoch]

    def coins(self, stream: int, number: int, chunk: int = -1) -> np.random.Generator:
        """Return the public coins of a round, or of a chunk of its slots."""
        seed: Any = _Seed(b"%d %d %d %d" % (self.entropy, stream, number, chunk))
        return np.random.Generator(np.random.SFC64(seed))

    # ------------------------------------------------------------------ epochs

    def _next_epoch(self, stream: int, previous: Epoch) -> Epoch:
        """Plan an epoch that begins where another one has come to, if both work in the same position."""
        problem = replace(self.problem, horizon=next_length(self.horizon, previous.end))
        start, center = None, None
        if previous.plan.options.steps:
            start = previous.learner.point(previous.counts[1])  # the newest point there is
            far = float(np.linalg.norm(start - previous.placement.working.center))
            problem = replace(problem, moved=(previous.plan.position, far))
        with watched_calls(f"setting up for {problem.domain!r}"):
            plan = self._choose(problem, previous.end)
            if plan.options.steps and previous.plan.position == plan.position:
                center = start
            epoch = self._new_epoch(problem, plan, center)
        epoch.follow(previous)
        return epoch

    def _epoch(self, stream: int, length: int, number: int = 0, at: Epoch | None = None) -> Epoch:
        """Return an epoch of so many events in a set, which knows nothing; in place of `at`, if that played another."""
        return self._planned(replace(self._problem_of(number), horizon=length), at)

    def _planned(self, problem: Problem, at: Epoch | None = None) -> Epoch:
        """Plan an epoch that knows nothing; of another set, as one that is to take the place of `at`."""
        with watched_calls(f"setting up for {problem.domain!r}"):
            return self._new_epoch(problem, self._choose(problem, 0 if at is None else at.before, at))

    def _new_epoch(self, problem: Problem, plan: Plan, center: Floats | None = None) -> Epoch:
        """Return an epoch that knows nothing."""
        return Epoch(replace(problem, horizon=plan.horizon), plan, self.source, center)

    def _choose(self, problem: Problem, before: int, at: Epoch | None = None) -> Plan:
        """Choose the plan of the epoch after so many events; of another set, in which the epoch `at` goes on."""
        return plan_for(problem, self.configuration, None if at is None else at.plan)

    def join(self, stream: int, name: str) -> Stream:
        """Begin a stream."""
        found = self.streams[stream] = Stream(self.first)
        return found

    def start_over(self) -> None:
        """Forget all streams, and what was learned from them."""
        self.problems, self.seen_changes = self.problems[:1], b""
        self.streams, self.first = {}, self._new_epoch(self.problem, self.first.plan)

    def stream(self, stream: int) -> Stream:
        """Return a stream; the one of an optimizer without segments is there from the start."""
        return self.streams.get(stream) or self.join(stream, "")

    def current(self, stream: int = 0) -> Epoch:
        """The epoch that a stream plays."""
        return self.stream(stream).current

    @property
    def newest(self) -> Epoch:
        """The epoch whose plan is in force."""
        return self.current()

    # ------------------------------------------------------------------ whom rounds are for

    def key(self, segment: Any) -> Any:
        """Return a segment as `numbers` has it; refuse what is none."""
        if segment is not None:
            raise TypeError("segment= is for an optimizer with segments: pass segments=[...] when it is created")
        return None

    def name_of(self, segment: Any) -> str:
        """Return the name of a segment's stream."""
        return ""

    def check_room(self, segments: list[Any]) -> None:
        """Refuse segments beyond the number that there may be."""

    def admit(self, name: str) -> None:
        """Refuse the stream of a segment beyond the number that there may be."""

    def route(self, own: Any) -> Any:
        """Return the stream that events are asked for in, by the stream that the segment of each has."""
        return own

    def route_of(self, segment: Any, unknown: int) -> int:
        """Return the stream that a segment is asked for in; `unknown`, if it has none before somebody asks."""
        return self.numbers.get(segment, unknown)

    def count(self, own: Integers | int, streams: Integers | int, size: int) -> None:
        """Take note of whom events of streams were for."""

    def sizes(self, asked: Callable[[int], int]) -> dict[Any, int]:
        """Return how many events each segment has, by how many were `asked` of each stream."""
        return {segment: asked(stream) for segment, stream in self.numbers.items()}

    # ------------------------------------------------------------------ what is known

    def informed(self, stream: int = 0) -> Epoch:
        """The epoch that has learned most, said of the newest set."""
        return self.in_newest_set(self.stream(stream).informed, stream)

    def in_newest_set(self, epoch: Epoch, stream: int = 0) -> Epoch:
        """Return what an epoch knows, said of the newest set: that may not be played before the next round."""
        newest = epoch.number == len(self.problems) - 1  # the same set may have been there before
        return epoch if newest else self._epoch_after(epoch, stream)

    def belief_of(self, segment: Any) -> Any:
        """Return what is believed of a segment; None if the plan believes nothing."""
        return self.informed().explorer.belief

    def recommended(self, segment: Any, sizes: dict[Any, int]) -> Recommendation:
        """Return the decision to take home for a segment, or for all, who have so many events."""
        return replace(shown(recommended(self.informed(), self.problem), self.problem), events=sizes[self.key(segment)])

    def point(self) -> Floats:
        """The point of the newest round; of the first, before there is one."""
        mine = self.stream(0)
        if mine.played is None or mine.current.number < len(self.problems) - 1:
            epoch = self.in_newest_set(self.current())
            return epoch.placement.original(epoch.learner.point(0))
        before, point = mine.played
        plan = mine.planned[before, mine.current.number]
        return self.problem.placement(plan.position).original(point)

    # ------------------------------------------------------------------ what goes on elsewhere

    def to_record(self, stream: int) -> Record:
        """Return what the rounds to come of a stream depend on: released values and public choices."""
        mine = self.stream(stream)
        learning = [one for one in mine.epochs if one is mine.epoch_at(one.before)]
        facts: Record = {name: getattr(mine, name) for name in _COUNTS}
        assert mine.played is not None, "what is stored of a stream is stored as one of its rounds begins, or later"
        facts |= {"epochs": len(learning), "played": mine.played[0], "point": mine.played[1]}
        facts["planned"] = [[*place, plan.to_dict()] for place, plan in mine.planned.items()]
        for place, one in enumerate(learning):
            facts |= headed(f"epoch{place}", one.state())
        return facts

    def adopt(self, stream: int, record: Record) -> None:
        """Go on where `to_record` was called, be it in another process."""
        mine = self.stream(stream)
        known = {(one.before, one.earlier, one.number): one for one in mine.epochs}
        mine.planned = {(before, number): Plan.from_dict(plan) for before, number, plan in record["planned"]}
        epochs: list[Epoch] = []
        for place in range(record["epochs"]):
            found = part(record, f"epoch{place}")
            before, earlier, number = found["before"], found["earlier"], found["set"]
            plan, one = mine.planned[before, number], known.get((before, earlier, number))
            if one is None or one.plan != plan:
                one = self._epoch_of(stream, plan, before, number)
            one.restore(found)
            same = [known[place] for place in sorted(known) if place[:2] == (before, earlier) and place[2] < number]
            epochs += [*same, one]
        mine.epochs, mine.passed, mine.begun, mine.learned = epochs, *(record[one] for one in _COUNTS)
        mine.played = record["played"], record["point"]
        mine.rounds = {number: one for number, one in mine.rounds.items() if one.epoch in epochs}

    def _epoch_of(self, stream: int, plan: Plan, before: int, number: int) -> Epoch:
        """Return an epoch that was planned elsewhere."""
        if before == number == 0 and plan == self.first.plan and not self.first.observed:
            return self.first
        return self._new_epoch(self._problem_of(number), plan)

    # ------------------------------------------------------------------ rounds

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round of a stream: the same, if it was begun already and that has failed."""
        mine = self.stream(stream)
        mine.begun = number + 1
        if position == mine.current.end:
            self._go_to_next_epoch(stream, mine, number)
        self._follow_sets(stream, mine)
        at = mine.current
        size, point, exploration = at.begin_round(self.coins(stream, number), position - at.before, number - at.earlier)
        last = position + size == at.end
        public = {"before": at.before, "number": number - at.earlier, "last": last, "point": point}
        public |= {"learned": at.observed, "after": at.after, "set": at.number}
        public |= headed("exploration", exploration.record())
        mine.rounds[number] = RoundPlay(at, exploration, public)
        mine.played, mine.passed = (at.before, point), position + size
        return Draft(size, public)

    def _go_to_next_epoch(self, stream: int, mine: Stream, number: int) -> None:
        previous, newest = mine.current, len(self.problems) - 1
        epoch = self._next_epoch(stream, previous)
        epoch.before, epoch.earlier, epoch.after, epoch.number = previous.end, number, previous.observed, newest
        best = mine.informed if mine.informed.knows else None
        kept = [one for one in mine.epochs if one is best or mine.learned < one.earlier + one.counts[1]]
        mine.planned = {**mine.planned, (previous.end, newest): epoch.plan}
        mine.epochs = [*kept, epoch]

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
        public, mine = one.public, self.stream(one.stream)
        place = public["before"], public["set"]
        if mine.epoch_at(place[0]) is None or place not in mine.planned:
            self.refresh()
            mine = self.stream(one.stream)
            assert mine.epoch_at(place[0]) is not None, "an epoch is kept as long as a round of it is open"
        epoch = next((one for one in mine.epochs if (one.before, one.number) == place), None)
        if epoch is None:  # of an earlier set than the newest that begins there
            epoch = self._epoch_of(one.stream, mine.planned[place], *place)
            epoch.before, epoch.number = place
            mine.epochs = [epoch, *mine.epochs]
        return RoundPlay(epoch, epoch.explorer.resume(public["point"], part(public, "exploration")), public)

    def draw(self, one: Round, start: int, count: int) -> Draw:
        """Return what slots of a round play."""
        played, pieces, wanted = self._play(one), [], []
        while count:
            chunk, at = divmod(start, played.length)
            actions, wants, _ = self._chunk(one, played, chunk)
            here = slice(at, min(at + count, len(actions)))
            pieces.append(actions[here])
            wanted.append(wants if wants is None else wants[here])
            start, count = start + here.stop - at, count - (here.stop - at)
        if all(wants is None or wants.all() for wants in wanted):
            return Draw(joined(pieces))
        each = zip(pieces, wanted, strict=True)
        flags = [np.ones(len(piece), dtype=bool) if wants is None else wants for piece, wants in each]
        return Draw(joined(pieces), np.concatenate(flags))

    def _chunk(self, one: Round, played: RoundPlay, chunk: int) -> tuple[Any, Any, Weighted | Probed | Itemised]:
        found = played.chunks.get(chunk)
        if found is None:
            coins, length = self.coins(one.stream, one.number, chunk), played.length
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
        chunk, at = divmod(slot, played.length)
        items = played.exploration.items_of(self._chunk(one, played, chunk)[2])[at]  # type: ignore[attr-defined]
        return np.asarray(items[items >= 0])

    def plan_of(self, one: Round) -> Plan:
        """Return the plan of a round."""
        return self.stream(one.stream).planned[one.public["before"], one.public["set"]]

    def compute(self, one: Round, slots: Integers) -> Any:
        """Return the sums of a complete round, with noise, drawn once; below them their weights, then any squares."""
        played = self._play(one)
        if one.public["last"] or one.number < self.stream(one.stream).learned:
            return None  # nothing would follow in its epoch; or a signal handler has released it, and learned from it
        epoch = played.epoch
        grid = epoch.grid
        finer = getattr(self.grid, "steps", 1) // getattr(grid, "steps", 1)
        length, missing, itemised = played.length, grid.missing, self.problem.feedback == "items"
        numbers, beside = played.exploration.numbers, bool(played.exploration.squares)
        products, total = (np.zeros(size, dtype=np.int64) for size in (numbers * (1 + beside), numbers))
        for start in range(0, one.size, length):
            weights = self._chunk(one, played, start // length)[2]
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
        epoch = mine.epoch_at(one.public["before"]) or played.epoch
        if epoch.observed == one.public["number"] and (release.dropped or not one.public["last"]):
            released = None
            if release.numbers is not None:
                released = ReleasedRound(played.exploration, *release.numbers)
            epoch.take_in(released, one.public["point"])
        mine.learned = one.number + 1
        mine.rounds.pop(one.number, None)
        if len(mine.epochs) > 1:  # rounds of earlier sets have all been learned from
            place = epoch.before, one.public["set"]
            mine.epochs = [kept for kept in mine.epochs if kept.before != place[0] or kept.number >= place[1]]

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
