"""The book behind `PrivateEvaluations`: each evaluation is a stream of one round, whose decision the caller chose.

What is released: for every evaluation one noisy integer, the sum of the integer losses of its slots; with
`variance=True` a second one, of their squares, which costs nothing (_sums.py).

Neighbours: one person's losses are replaced, in up to K events (`contributions`), in whichever evaluations these are.
Which event is in which evaluation is public: slots are handed out by public coins, or as the caller says, before a loss
is read; and an evaluation closes when its last slot is told or forgotten, or later people run its patience out,
whatever the losses are.

Sensitivity: every event is in exactly *one* slot of *one* evaluation, and replacing its loss moves that one number by
at most `steps`, the range of a loss on its grid. A loss that is missing counts as the middle, one of the values that a
loss can have.

Proof. These are probe sums (privacy/mechanisms/probe_sums.py) with one number to a round. Given all that was released
before, whatever was chosen from it (the parameters of the next evaluation, its size, whether there is one at all), the
noise of an evaluation is fresh, so that its likelihood ratio between neighbours is that of one release moved by
m_i*steps, m_i being how many of the person's events it holds. Evaluations hold disjoint events: the sum of the m_i is
at most K, and epsilon = K*steps/scale for all evaluations together, however many there are; Gaussian noise likewise,
with mu^2 = sum of (m_i*steps/scale)^2 <= (K*steps/scale)^2. So the guarantee is charged once. Means, standard errors,
intervals and choices made by them are post-processing.

That a loss counts once, and that a round is released once under one noise, is the book's and its store's part
(rounds/). What is here changes nothing that they do not keep, but for whose turn it is: a call that is cut short may
give one evaluation a turn twice, or none.

Tests: tests/evaluations.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._losses import as_floats
from sottovoce._sums import squares_of
from sottovoce.errors import (
    UNRECORDED,
    CopyRefused,
    HorizonReached,
    InvalidLoss,
    SottovoceError,
    StorageError,
    UnknownAction,
)
from sottovoce.evaluations._setting import EvaluationSetting
from sottovoce.evaluations._turns import Turn, next_turn
from sottovoce.evaluations.evaluation import Counts
from sottovoce.rounds.book import Book, HandedOut, Recorded
from sottovoce.rounds.lease import Piece
from sottovoce.rounds.people import Askers
from sottovoce.rounds.round import MISSING, UNWANTED, Draft, Draw, Round
from sottovoce.rounds.store import WAITING, Drawing, Store
from sottovoce.rounds.stores.memory import MemoryStore
from sottovoce.stats.released_mean import ReleasedMean

__all__ = ["EvaluationBook", "PlainIds"]

Given = ParamSpec("Given")
Found = TypeVar("Found")


def _locked(
    method: "Callable[Concatenate[EvaluationBook, Given], Found]",
) -> "Callable[Concatenate[EvaluationBook, Given], Found]":
    @wraps(method)
    def call(self: "EvaluationBook", /, *given: Given.args, **named: Given.kwargs) -> Found:
        with self._lock: return method(self, *given, **named)  # noqa: E701  # fmt: skip

    return call


class _EvaluationPolicy:
    """One number for each round, which is begun when an evaluation is opened; nothing follows from it for others."""

    def __init__(self, setting: EvaluationSetting, store: Store) -> None:
        self.setting, self.grid, self._store = setting, setting.grid, store
        self._sampler = setting.sampler()

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Refuse: an evaluation has one round, which is full."""
        raise HorizonReached(f"evaluation {stream} has no place left; {UNRECORDED}")

    def draw(self, one: Round, start: int, count: int) -> Draw:
        """Return slots: whoever has them meets what the caller chose."""
        return Draw(range(count))

    def compute(self, one: Round, slots: Integers) -> NDArray[Any]:
        """Return how many rounds were closed before, and the sums with their noise."""
        taken = slots[slots != UNWANTED]
        taken = np.where(taken == MISSING, self.grid.missing, taken)
        squares = [squares_of(taken, self.grid.steps).sum()] if self.setting.variance else []
        sums = np.array([taken.sum(), *squares], dtype=np.int64)
        noised = self.setting.stream(self._sampler).release(sums)
        taken[:] = sums[:] = 0  # the store overwrites its own
        return np.array([self._store.ended, *noised], dtype=np.int64)

    def join(self, stream: int, name: str) -> None:
        """Streams need nothing."""

    def start_over(self) -> None:
        """Nothing is known of streams."""


class PlainIds:
    """Ids as whole numbers."""

    def texts(self, ids: Integers) -> list[Any]:
        """Return what callers get."""
        return list(ids.tolist())

    def numbers(self, given: Any) -> Integers:
        """Return the ids that a caller passes; refuse what was never one, without showing it."""
        ids = np.asarray(given)
        if ids.size and ids.dtype.kind not in "iu":
            raise UnknownAction(f"ids must be the integers that assign returned, got {ids.dtype}", UNRECORDED)
        return ids.ravel().astype(np.int64)


class EvaluationBook(Book):
    """All evaluations of one `PrivateEvaluations`.

    Parameters
    ----------
    store
        Where open ones live.
    setting
        What they have in common.
    entropy
        What the public coins come from.
    ids
        How ids are given and read: `PlainIds`, or `TextIds`.
    repeat
        What a second loss for one id does: "error" or "ignore".
    before_first
        What is to be called before the first loss.
    """

    def __init__(
        self,
        store: Store,
        setting: EvaluationSetting,
        entropy: int,
        *,
        ids: Any,
        repeat: str = "error",
        before_first: Callable[[], None] | None = None,
    ) -> None:
        policy: Any = _EvaluationPolicy(setting, store)  # which is asked neither for actions nor for what it believes
        super().__init__(store, policy)
        self.setting, self._entropy, self.ids = setting, entropy, ids
        self.repeat, self._before_first = repeat, before_first
        self._outcomes: dict[int, tuple[int, ReleasedMean | None]] = {}  # of those that are closed: order, and mean
        self._counts: dict[int, Counts] = {}  # as they were last seen
        self._sizes: dict[int, int] = {}
        self.losses_told, self.closed = setting.losses_told, False
        self._most_losses = setting.privacy.contributions

    # ------------------------------------------------------------------ opening and assigning

    def open(self, events: int) -> int:
        """Begin an evaluation; return its number."""
        self.setting.check_events(events)
        with self._lock: return self._store.open_stream(lambda *_: Draft(events, {"events": events}))  # noqa: E701  # fmt: skip

    @_locked
    def assign(self, size: int, person: Sequence[str] | None = None) -> list[tuple[int, Any, bool]]:
        """Assign the next people by coins, all or none; return evaluation, id and whether a loss is wanted of each."""
        people = self._named(person)
        self._close_overdue()
        met: list[int] = []
        draw: Drawing = self._policy.draw

        def orders() -> dict[int, int]:
            """Deal people to evaluations, while nobody else does."""
            nonlocal draw
            turn, free = Turn.of(self._store.note), +Counter(self._store.room())  # of those that have some
            if size > free.total():
                raise HorizonReached(_NO_PLACE if size == 1 else f"fewer than {size} places are left; open another")
            met.clear()
            for _ in range(size):
                number, turn = next_turn(turn, list(free), self._entropy)
                met.append(number)
                free -= Counter([number])
            self._store.note = turn.record()
            draw = self._drawing(met, people)
            return self._lacking(Counter(met))

        self._store.reserve(orders, self._policy.begin, lambda *slots: draw(*slots), handed=size)
        handed, pieces = self._next(dict(Counter(met)))  # evaluation by evaluation, as they are first met
        order = [place for places in _by_evaluation(met).values() for place in places]
        found = dict(zip(order, zip(self.ids.texts(handed.ids), handed.wanted.tolist(), strict=True), strict=True))
        self._store.hand_out(pieces)
        return [(number, *found[place]) for place, number in enumerate(met)]

    def _named(self, person: Sequence[str] | None) -> list[bytes] | None:
        """Return whom a call is for, hashed; places that one which was cut short took for its people are closed."""
        self._check_usable()
        people = self._hashed(person)
        self._refuse_unnamed(people)
        if people is not None:
            self._close_unclaimed()
        return people

    def _close_unclaimed(self) -> None:
        """Close places that are leased for people who never got them."""
        for number in self._store.room():
            self._close_leases(number)

    def _drawing(self, met: Sequence[int], people: Sequence[bytes] | None) -> Drawing:
        """Return what draws slots: for people, where they are counted, who meet these evaluations."""
        if people is None:
            return self._policy.draw
        whom = {number: [people[place] for place in places] for number, places in _by_evaluation(met).items()}
        return Askers(whom, self._policy.draw, self._store.count).draw

    @_locked
    def assign_to(self, number: int, size: int, person: Sequence[str] | None = None) -> list[tuple[Any, bool]]:
        """Assign the next people to one evaluation; return the id of each, and whether a loss is wanted."""
        handed, pieces = self._prepared(number, size, person)
        found = list(zip(self.ids.texts(handed.ids), handed.wanted.tolist(), strict=True))
        self._store.hand_out(pieces)
        return found

    def _prepared(self, number: int, size: int, person: Sequence[str] | None = None) -> tuple[HandedOut, list[Piece]]:
        """Lease slots of one evaluation; return them, and the pieces of leases that they are."""
        people = self._named(person)
        self._close_overdue()
        room = self._store.room().get(number)
        if room is None or size > room:
            outcome = self._outcome(number)
            closed = "" if outcome is None else "was abandoned" if outcome[1] is None else "is closed"
            left = closed or f"has {room} of {self._events(number)} places left"
            raise HorizonReached(
                f"evaluation {number} {left}, and {size} more {'were' if size > 1 else 'was'} wanted; {UNRECORDED}. "
                "Losses of people who were assigned before are told by their id: tell(loss, ids=id)"
            )
        lacking = self._lacking({number: size})
        if lacking:
            draw = self._drawing([number] * size, people)
            self._store.reserve(lacking, self._policy.begin, draw, handed=size)
        return self._next({number: size})

    def _lacking(self, wanted: Mapping[int, int]) -> dict[int, int]:
        """How many slots have to be leased for so many to be at hand."""
        lacking = {number: count - self._store.left(number) for number, count in wanted.items()}
        return {number: count for number, count in lacking.items() if count > 0}

    # ------------------------------------------------------------------ telling

    def tell(
        self,
        number: int | None,
        ids: Any,
        losses: NDArray[Any],
        late: str,
        person: Sequence[str] | None = None,
    ) -> Recorded:
        """Take in losses by their ids, of one evaluation or of whichever; or those of its next people."""
        values = losses.ravel()
        with self._lock: self._mark_used()  # noqa: E701  # fmt: skip
        if ids is not None:
            places = self._places(number, ids)
            if losses.shape != np.shape(ids) and (number is not None or losses.ndim > 1 or len(values) != len(places)):
                raise InvalidLoss(f"losses must have the shape of ids, {np.shape(ids)}; {UNRECORDED}")
            if len(places) == 1:
                return self._tell_one(int(places[0]), values[0], late, self.repeat)
            return self._tell_block(places, values, late, self.repeat)
        assert number is not None
        self._policy.grid.quantise(as_floats(values))  # refused before anybody has a place
        told = 0
        if len(values):
            with self._lock: told = self._tell_next(number, values, person)  # noqa: E701  # fmt: skip
        return Recorded(told, 0, len(values) - told)

    def _places(self, number: int | None, ids: Any) -> Integers:
        """Return ids as numbers; refuse those that are not of this evaluation."""
        self._check_usable()
        places: Integers = self.ids.numbers(ids)
        if number is not None:
            one = self._store.round_of(number)
            if ((places < one.first) | (places >= one.first + self._events(number))).any():
                raise UnknownAction(f"an id was not handed out for evaluation {number}", UNRECORDED)
        return places

    def _id_text(self, one: int) -> Any:
        return self.ids.texts(np.array([one]))[0]

    def _mark_used(self) -> None:
        self._check_usable()
        if self._before_first is not None:
            self._before_first()  # before the first loss: from here on a ledger gives nothing back
            self._before_first = None

    def forget_ids(self, number: int | None, ids: Any) -> int:
        """Close places without their losses, of one evaluation or of whichever; return how many."""
        return self.forget(self._places(number, ids))

    def _tell_next(self, number: int, losses: NDArray[Any], person: Sequence[str] | None) -> int:
        """Take in losses of the next people; return how many were wanted."""
        handed, pieces = self._prepared(number, len(losses), person)
        before = [(lease, 0, lease.at) for lease in self._store.held(number)]
        ids = handed.ids[handed.wanted]
        try:
            self._store.hand_out(pieces)
            if len(ids):
                self._record_block(ids, losses[handed.wanted], "error", "error")
        except BaseException:
            if (self._store.look(ids) == WAITING).all():
                self._store.hand_out(before[::-1])  # nobody has got these places
            raise
        return len(ids)

    # ------------------------------------------------------------------ closing

    def _close_overdue(self) -> None:
        """Close evaluations that have been full for longer than patience lasts."""
        for number in self._store.overdue(self.setting.patience_of):
            self._store.finish(number)
            self._outcome(number)

    @_locked
    def end(self, number: int) -> None:
        """Close an evaluation with those who were assigned so far."""
        outcome = self._outcome(number)
        if outcome is None and self._look(number).assigned:
            self._store.finish(number)
            self._outcome(number)
        elif outcome is None or outcome[1] is None:
            why = "it was abandoned" if outcome is not None else "nobody was assigned to it, so it has no mean"
            raise ValueError(f"evaluation {number} cannot be closed: {why}")

    @_locked
    def abandon(self, number: int) -> None:
        """Drop an evaluation: nothing of it is ever released."""
        if self._outcome(number) is None:
            self._store.drop(number)
            self._outcome(number)

    # ------------------------------------------------------------------ looking

    def outcome(self, number: int) -> tuple[int, ReleasedMean | None] | None:
        """Return what became of an evaluation: when, and its mean, None if it was abandoned; None if it is open."""
        if number in self._outcomes or self.closed:
            return self._outcomes.get(number)
        with self._lock: return self._outcome(number)  # noqa: E701  # fmt: skip

    def _outcome(self, number: int) -> tuple[int, ReleasedMean | None] | None:
        if number not in self._outcomes:
            self._check_usable()
            self._release({number})
            for release in self._store.releases(number, 0):
                mean, order = None, -1
                if release.numbers is not None and release.wanted:
                    order, total, *squares = release.numbers.tolist()
                    mean = ReleasedMean(number, release.wanted, total, self.setting.scale, *squares)
                places, taken = release.round.public["events"], release.round.size
                self._counts[number] = Counts(places, taken, 0, abandoned=mean is None)
                self._outcomes.setdefault(number, (order, mean))  # what a signal handler has read meanwhile stays
                self._store.retire(number)
        return self._outcomes.get(number)

    def results(self) -> tuple[ReleasedMean, ...]:
        """Return what was released, in the order in which it was."""
        with self._lock: found = [self._outcome(number) for number in range(self._store.opened)]  # noqa: E701  # fmt: skip
        means = [(order, mean.number, mean) for order, mean in filter(None, found) if mean is not None]
        return tuple(mean for _, _, mean in sorted(means, key=lambda one: one[:2]))

    def counts(self, number: int) -> Counts:
        """Return how many places an evaluation has, how many are taken, and how many are left."""
        if number in self._outcomes or (self.closed and number in self._counts):
            return self._counts[number]
        if self.closed:
            self._check_usable()
        with self._lock: return self._look(number)  # noqa: E701  # fmt: skip

    def _look(self, number: int) -> Counts:
        if self._outcome(number) is None:
            events, room = self._events(number), self._store.room().get(number, 0)
            self._counts[number] = Counts(events, events - room, room)
        return self._counts[number]

    def _events(self, number: int) -> int:
        """How many places an evaluation was opened with."""
        if number not in self._sizes:
            self._sizes[number] = self._store.round_of(number).public["events"]
        return self._sizes[number]

    def open_numbers(self) -> list[int]:
        """Return the numbers of the evaluations that are open."""
        with self._lock: return [one for one in self._store.room() if self._outcome(one) is None]  # noqa: E701  # fmt: skip

    def result(self, number: int) -> ReleasedMean | None:
        """Return what an evaluation has released; None if it is open, or was abandoned."""
        found = self.outcome(number)
        return None if found is None else found[1]

    @_locked
    def waiting(self, number: int) -> NDArray[Any]:
        """Return the ids of an evaluation that were handed out, and have no loss."""
        if self._outcome(number) is not None:
            return np.empty(0, dtype=np.int64)
        one, found = self._store.round_of(number), self._store.waiting(None)
        return np.asarray(self.ids.texts(found[(found >= one.first) & (found < one.end)]))

    @property
    def counts_people(self) -> bool:
        """Whether people are counted, or were until they were erased."""
        return self._store.counts_people

    def erase_people(self) -> int:
        """Erase all that is kept of people, and the key; return how many they were."""
        return self._erase_people()

    def keyed_hash(self, person: str | Sequence[str]) -> str:
        """Return a text that is the same for the same people, and says nothing of them without the key."""
        return self._keyed_hash(person)

    @property
    def opened(self) -> int:
        """How many evaluations there are."""
        return self._store.opened

    @_locked
    def leave(self) -> None:
        """Give back what is leased; nothing can be called after this."""
        if not self.closed:
            with suppress(SottovoceError):  # it is closed, whatever is wrong with what is stored
                if self._counted:
                    self._close_unclaimed()
                self._store.close()
            self.closed = True

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not isinstance(self._store, MemoryStore):
            raise CopyRefused(_STORED_COPY)
        if self.setting.in_earnest:
            raise CopyRefused(_COPY)
        return super().__reduce_ex__(protocol)

    def _check_usable(self) -> None:
        if self.closed:
            raise StorageError("this connection to the evaluations is closed: open them again")
        self._store.check()


def _by_evaluation(met: Sequence[int]) -> dict[int, list[int]]:
    """Return who meets which evaluation: evaluations as they are first met, with the places of their people."""
    places: dict[int, list[int]] = {}
    for place, number in enumerate(met):
        places.setdefault(number, []).append(place)
    return places


_NO_PLACE = "no evaluation has a place left for another person; open one: open(events=...)"
_COPY = (
    "evaluations with real noise cannot be copied or pickled: two copies of one would release the same losses under "
    "two noises. Use noise=SimulatedNoise(seed) or privacy=NoPrivacy() in simulations"
)
_STORED_COPY = (
    "evaluations in a storage cannot be copied or pickled: open them again, by URL and name, where they are needed"
)
