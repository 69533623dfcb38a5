"""PrivateEvaluations: rounds of one number whose decision the caller chose; any optimizer does the rest.

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

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._checks import choice, whole
from sottovoce._closing import Closing
from sottovoce._losses import as_array, as_floats, losses_or_reports
from sottovoce._records import Record
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
from sottovoce.evaluations._opening import open_in_memory, open_stored
from sottovoce.evaluations._setting import EvaluationSetting
from sottovoce.evaluations.evaluation import Assignment, Evaluation, State
from sottovoce.learning.actions import as_ids
from sottovoce.plans.options import NOT_PASSED, passed
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, PrivacyStatement
from sottovoce.privacy.promise import warn_of
from sottovoce.rounds.book import Book, Recorded, locked
from sottovoce.rounds.people import people_for
from sottovoce.rounds.round import MISSING, UNWANTED, Draft, Draw, Round, TextIds
from sottovoce.rounds.store import Drawing, Store
from sottovoce.stats.released_mean import ReleasedMean

_COINS = 0x61737369676E  # "assign": neither noise nor directions have such a spawn key


@dataclass(frozen=True)
class EvaluationsVerification:
    """What `PrivateEvaluations.verify` has found.

    Attributes
    ----------
    faults
        What is wrong, in words; empty if nothing is.
    """

    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def __str__(self) -> str:
        return "\n".join(["no fault" if self.ok else "DAMAGED", *self.faults])


class _EvaluationPolicy:
    """One number for each round, which is begun when an evaluation is opened; nothing follows from it for others."""

    def __init__(self, setting: EvaluationSetting, store: Store) -> None:
        self._setting, self.grid, self._store = setting, setting.grid, store
        self._mechanism = setting.mechanism()

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
        squares = [squares_of(taken, self.grid.steps).sum()] if self._setting.variance else []
        sums = np.array([taken.sum(), *squares], dtype=np.int64)
        noised = self._mechanism.release(sums)
        taken[:] = sums[:] = 0  # the store overwrites its own
        return np.array([sum(self._store.closed().values()), *noised], dtype=np.int64)

    def join(self, stream: int, name: str) -> None:
        """Streams need nothing."""

    def start_over(self) -> None:
        """Nothing is known of streams."""


class PrivateEvaluations(Closing, Book):
    """Evaluate anything by people's losses, while every person's loss stays private.

    Each evaluation releases one number, the noisy sum of its losses, once. An event is in one evaluation only, so that
    all of them together cost the guarantee once, however many there are and however the next one is chosen by the means
    of those before: given the past, its noise is fresh, and the person's events, at most K of them (`contributions`),
    are shared out among evaluations, each moving one sum by at most the range of a loss. Hence epsilon = K *
    range/scale for all of them (parallel composition). A person who takes part several times is covered as long as all
    of their events, in whichever evaluations, are at most K.

    Parameters
    ----------
    loss_range
        (low, high): losses are clipped to it, silently. Privacy rests on this clipping and on nothing else that a
        caller does.
    privacy
        The guarantee, such as `PureDP(epsilon=1.0)`: for each person, over all evaluations.
    storage
        Where they live, with studies if there are any: "sqlite:///trials.db" or "postgresql://user@host/database"; None
        for the memory of this process. In a storage everything is durable before it is answered, any number of
        processes may open the same ones, and ids are short texts. To resume evaluations there, pass their name; what
        else is passed is compared with what is stored.
    name
        Of the evaluations: a storage may hold many, and none has the name of a study. In memory it is for a ledger, and
        a fresh one by default.
    ledger
        Charges the guarantee, once for all evaluations, when they are created; pass it again whenever they are opened
        in a storage. A copy of them, or a backup that was overtaken, is charged as another life, or refused.
    noise
        `SecureNoise()` by default. `SimulatedNoise(seed)` for simulations: reproducible, and NOT PRIVATE.
    seed
        Seeds the public coins by which people are assigned. Operating-system entropy by default.
    patience
        How many later people are assigned, to any evaluation, before one that is full is closed without the losses that
        it lacks, which then count as the middle of the range. "auto" (a tenth of its events up to 10,000, and never
        less than 1,000 or a hundredth), a whole number, or None to wait for ever. Nothing private decides when one
        closes.
    variance
        Whether each evaluation releases a second number, the noisy sum of squares of its losses: for intervals that are
        as narrow as losses vary, where those are not one end of the range or the other. It costs no privacy and no
        noise. Not for `LocalDP`.
    repeat
        What a second loss for one id does: "error", or "ignore", for callers that repeat what they are not sure of.
    restored
        Say so when the storage was restored from a backup, or copied: evaluations that are open are dropped, and ids
        that were handed out before are refused. Otherwise losses could be released twice.

    Examples
    --------
    >>> import sottovoce as sv
    >>> evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0), noise=sv.SimulatedNoise(2), seed=1)
    >>> red, blue = evaluations.open(events=200), evaluations.open(events=200)
    >>> for person in range(400):
    ...     shown, person_id = evaluations.assign()
    ...     shown.tell(0.2 if shown is red else 0.6, ids=person_id)
    >>> print(f"{red.mean:.2f} {blue.mean:.2f}")
    0.21 0.60
    >>> low, high = red.interval(0.95)
    >>> low < 0.2 < high
    True
    """

    def __init__(
        self,
        loss_range: tuple[float, float] = NOT_PASSED,
        privacy: Guarantee = NOT_PASSED,
        *,
        storage: str | None = None,
        name: str | None = None,
        ledger: Ledger | None = None,
        noise: NoiseSource | None = None,
        seed: int | None = None,
        patience: int | str | None = NOT_PASSED,
        variance: bool = NOT_PASSED,
        repeat: str = "error",
        restored: bool = False,
    ) -> None:
        self.repeat = choice("repeat", repeat, ("error", "ignore"))
        seed = None if seed is None else whole("seed", seed, least=0)
        given = passed({"loss_range": loss_range, "privacy": privacy, "patience": patience, "variance": variance})
        if storage is None:
            found = open_in_memory(name, given, seed, noise, ledger)
        elif name is None:
            raise TypeError("name= is needed with storage=: evaluations are found by it")
        else:
            found = open_stored(storage, name, given, seed, noise, ledger, restored=restored)
        self.name, self.seed, self._entropy, self._setting, self._opened = found[:5]
        self.created = self._opened is None or self._opened.created
        self._texts = None if self._opened is None else TextIds(self._opened.stored.secret)
        policy: Any = _EvaluationPolicy(self._setting, found.store)  # asked neither for actions nor for beliefs
        super().__init__(found.store, policy)
        self._over: dict[int, State] = {}
        self._handles: dict[int, Evaluation] = {}
        self._closed, self._most_losses = False, self._setting.privacy.contributions
        if self.created:
            warn_of(self._setting.privacy, simulated=self._setting.source.simulated, level=2)

    # ------------------------------------------------------------------ opening and assigning

    def open(self, events: int) -> Evaluation:
        """Begin an evaluation: so many people will meet one set of parameters.

        Parameters
        ----------
        events
            How many people, or events; public, and fixed from here on.
        """
        self._setting.check_events(whole("events", events))
        self._check_usable()
        with self._lock: number = self._store.open_stream(lambda *_: Draft(events, {"events": events}))  # noqa: E701  # fmt: skip
        return self._handle(number)

    def _handle(self, number: int) -> Evaluation:
        """Return an evaluation: always the same object."""
        return self._handles.setdefault(number, Evaluation(self, number))

    @locked
    def evaluation(self, number: int) -> Evaluation:
        """Return an evaluation by its number, whichever process has opened it, and whether it is closed or not.

        Parameters
        ----------
        number
            What `Evaluation.number` says.
        """
        self._check_usable()
        if whole("number", number, least=0) >= len(self._store.closed()):
            raise UnknownAction(f"there is no evaluation {number}")
        return self._handle(number)

    @overload
    def assign(self, size: None = None, *, person: str | None = None) -> Assignment: ...

    @overload
    def assign(self, size: int, *, person: Sequence[str] | None = None) -> list[Assignment]: ...

    def assign(
        self, size: int | None = None, *, person: str | Sequence[str] | None = None
    ) -> Assignment | list[Assignment]:
        """Assign the next person, or the next `size` of them, to evaluations that have places left, by public coins.

        In blocks: of every K people each of the K evaluations gets one, in a random order, so that what changes with
        the time of day does not pose as quality. One that is opened in the middle of a block joins with the next.
        Processes that share a storage share the coins: each takes up where the last one left off.

        Parameters
        ----------
        size
            How many people, all of them or none; None for one, whose assignment is returned by itself.
        person
            Who it is, by any string that is theirs alone; for several, a list. People are then counted, over all
            evaluations: once a person was asked for as many losses as the guarantee's `contributions` says,
            `wants_loss` is False, and what is told is dropped unread. Such a person has a place, which counts for
            nothing. A keyed hash is kept, and never the string. From the first person on, all calls say it, or none.
        """
        count = None if size is None else whole("size", size)
        met = self._assign(None, count or 1, people_for(count, person))
        found = [Assignment(self._handle(number), *rest) for number, *rest in met]
        return found[0] if size is None else found

    @locked
    def _assign(self, number: int | None, size: int, people: Sequence[str] | None) -> list[tuple[int, Any, bool]]:
        """Assign the next people by coins, or to one evaluation; return evaluation, id, whether a loss is wanted."""
        self._check_usable()
        whom = self._hashed(people)
        self._refuse_unnamed(whom)
        if whom is not None:
            for one in self._store.room():  # places that are leased for people who never got them
                self._close_leases(one)
        self._close_overdue()
        met: list[int] = []
        draw: Drawing = self._policy.draw

        def orders() -> dict[int, int]:
            """Deal people to evaluations, while nobody else does."""
            nonlocal draw
            met[:] = self._dealt(size) if number is None else self._placed(number, size)
            counts, order = _by_evaluation(met)
            draw = self._policy.draw if whom is None else self._askers(counts, order, whom).draw
            return {one: lacking for one, count in counts.items() if (lacking := count - self._store.left(one)) > 0}

        self._store.reserve(orders, self._policy.begin, lambda *slots: draw(*slots), handed=size)
        counts, order = _by_evaluation(met)
        handed, pieces = self._next(counts, order)
        back = np.argsort(order)
        found = list(zip(met, self._shown(handed.ids[back]).tolist(), handed.wanted[back].tolist(), strict=True))
        self._store.hand_out(pieces)
        return found

    def _dealt(self, size: int) -> list[int]:
        """Return which evaluations the next people meet: of every K in a row each of the K, in an order of its own.

        So whatever changes with time, the hour of the day or the season, meets all of them alike. The coins come from
        the seed and the number of the block, from nothing that anybody lost.
        """
        free = +Counter(self._store.room())  # of those that have some
        if size > free.total():
            raise HorizonReached(_NO_PLACE if size == 1 else f"fewer than {size} places are left; open another")
        note: Record = self._store.common or {"block": 0, "order": np.empty(0, dtype=np.int64)}
        block, order, met = note["block"], note["order"].tolist(), list[int]()
        for _ in range(size):
            order = [one for one in order if free[one]]  # one that is full by now is left out
            if not order:  # one that is new joins with the next block
                coins = np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(_COINS, block)))
                order, block = coins.permutation(sorted(free)).tolist(), block + 1
            met.append(order.pop(0))
            free -= Counter(met[-1:])
        self._store.common = {"block": block, "order": np.array(order, dtype=np.int64)}
        return met

    def _placed(self, number: int, size: int) -> list[int]:
        """Return an evaluation for each person, if it has so many places."""
        room = self._store.room().get(number)
        if room is None or size > room:
            ended = self._ended(number)
            closed = "" if ended is None else "was abandoned" if ended.mean is None else "is closed"
            left = closed or f"has {room} of {self._state(number).events} places left"
            raise HorizonReached(
                f"evaluation {number} {left}, and {size} more {'were' if size > 1 else 'was'} wanted; {UNRECORDED}. "
                "Losses of people who were assigned before are told by their id: tell(loss, ids=id)"
            )
        return [number] * size

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> Recorded:
        """Report losses by their ids, whichever evaluations these are of; return what became of them.

        As `Evaluation.tell`, for whoever has the ids and nothing else.

        Parameters
        ----------
        ids
            What `assign` returned, one or an array of them.
        losses
            A number for each id.
        report
            In place of losses under `LocalDP`.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        return self._take_in(None, ids, losses, report, late)

    def _take_in(
        self, number: int | None, ids: Any, losses: Any, report: Any, late: str, person: Any = None
    ) -> Recorded:
        """Take in losses by their ids, of one evaluation or of whichever; without ids, those of its next people."""
        choice("late", late, ("error", "drop"))
        local = self._setting.channel is not None
        told = as_array(losses_or_reports(losses, report, local=local, owner="evaluations"))
        if told.ndim > 1 or isinstance(losses, Mapping):
            raise InvalidLoss(f"losses must be one number for each person, whatever they met; {UNRECORDED}")
        self._check_usable()
        if ids is None:
            people = people_for(told.size if told.ndim else None, person)
            self._setting.grid.quantise(as_floats(told))  # refused before anybody has a place
            ids = [one for _, one, _ in self._assign(number, told.size, people)] if told.size else []
        places, values = self._places(number, ids), told.ravel()
        if len(values) != len(places):
            raise InvalidLoss(f"losses must be one number for each of {len(places)} ids; {UNRECORDED}")
        if len(places) == 1:
            return self._tell_one(int(places[0]), values[0], late, self.repeat)
        return self._tell_block(places, values, late, self.repeat)

    def _places(self, number: int | None, ids: Any) -> Integers:
        """Return ids as numbers; refuse those that are not of this evaluation."""
        self._check_usable()
        places = as_ids(ids).ravel() if self._texts is None else self._texts.numbers(ids)
        if number is not None:
            one = self._store.round_of(number)
            if ((places < one.first) | (places >= one.first + one.public["events"])).any():
                raise UnknownAction(f"an id was not handed out for evaluation {number}", UNRECORDED)
        return places

    def forget(self, ids: Any) -> int:
        """Close places whose loss will never come, whichever evaluations these are of; return how many were closed.

        Parameters
        ----------
        ids
            What `assign` returned, one or an array of them.
        """
        return self._forget_in(None, ids)

    @locked
    def _forget_in(self, number: int | None, ids: Any) -> int:
        """Close places without their losses, of one evaluation or of whichever; return how many."""
        return super().forget(self._places(number, ids))

    # ------------------------------------------------------------------ closing

    def _close_overdue(self) -> None:
        """Close evaluations that have been full for longer than patience lasts."""
        for one in self._store.overdue(self._setting.patience_of):
            self._store.finish(one.stream)
            self._ended(one.stream)

    @locked
    def _finish(self, number: int, *, drop: bool) -> None:
        """Close an evaluation with those who were assigned so far, or drop it."""
        ended = self._ended(number)
        if ended is None and drop:
            self._store.drop(number)
        elif ended is None and self._state(number).assigned:
            self._store.finish(number)
        elif not drop and (ended is None or ended.mean is None):
            why = "it was abandoned" if ended is not None else "nobody was assigned to it, so it has no mean"
            raise ValueError(f"evaluation {number} cannot be closed: {why}")
        self._ended(number)

    # ------------------------------------------------------------------ looking

    def _ended(self, number: int) -> State | None:
        """Return what became of an evaluation; None if it is open."""
        if number not in self._over:
            self._check_usable()
            self._release({number})
            for release in self._store.releases(number, 0):
                mean, order = None, -1
                if release.numbers is not None and release.wanted:
                    order, total, *squares = release.numbers.tolist()
                    mean = ReleasedMean(number, release.wanted, total, self._setting.scale, *squares)
                found = State(release.round.public["events"], release.round.size, 0, True, mean, order)
                self._over.setdefault(number, found)  # what a signal handler has read meanwhile stays
                self._store.retire(number)
        return self._over.get(number)

    @locked
    def _state(self, number: int) -> State:
        """Return where an evaluation stands."""
        ended = self._ended(number)
        if ended is not None:
            return ended
        events, room = self._store.round_of(number).public["events"], self._store.room().get(number, 0)
        return State(events, events - room, room)

    @locked
    def _waiting(self, number: int) -> NDArray[Any]:
        """Return the ids of an evaluation that were handed out, and have no loss."""
        if self._ended(number) is not None:
            return np.empty(0, dtype=np.int64)
        one, found = self._store.round_of(number), self._store.waiting(None)
        return self._shown(found[(found >= one.first) & (found < one.end)])

    @property
    def open_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that are not closed, in the order in which they were opened."""
        with self._lock: opened = [one for one in self._store.room() if self._ended(one) is None]  # noqa: E701  # fmt: skip
        return tuple(map(self._handle, opened))

    @property
    def results(self) -> tuple[ReleasedMean, ...]:
        """All that was released so far, in the order in which it was."""
        with self._lock: found = [self._ended(number) for number in range(len(self._store.closed()))]  # noqa: E701  # fmt: skip
        ended = sorted(filter(None, found), key=lambda one: one.order)
        return tuple(one.mean for one in ended if one.mean is not None)

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with; None otherwise."""
        return self._setting.channel

    @property
    def loss_range(self) -> tuple[float, float]:
        """(low, high): what losses are clipped to."""
        return self._setting.scale.loss_range

    @property
    def patience(self) -> int | str | None:  # type: ignore[override]
        """How many later people an evaluation that is full waits for: as it was passed."""
        return self._setting.patience

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        statement = self._setting.statement(counted=self._store.counts_people)
        if self._opened is None:
            return statement
        from sottovoce.rounds.stored import as_stored  # drivers are imported where they are used

        return as_stored(statement, self._opened.base)

    def verify(self) -> EvaluationsVerification:
        """Check every checksum of what is stored, and how all rows fit together; in memory nothing is."""
        if self._opened is None:
            return EvaluationsVerification(())
        from sottovoce.rounds.stores.sql.verify import CheckedBook, read_book

        rows = read_book(self._opened.base, self.name)
        if rows is None:
            return EvaluationsVerification(("the evaluations are gone",))
        book = CheckedBook(rows)
        book.valid = self._setting.grid.valid
        book.check()
        return EvaluationsVerification(tuple(book.faults))

    def export(self) -> dict[str, Any]:
        """Return all released and public values as plain data that JSON can hold."""
        return {
            "format": "sottovoce evaluations, exported",
            "version": 1,
            "name": self.name,
            "loss_range": list(self.loss_range),
            "guarantee": self._setting.privacy.to_dict(),
            "channel": None if self.channel is None else self.channel.to_dict(),
            "privacy": str(self.privacy),
            "scale": self._setting.scale.to_dict(),
            "patience": self.patience,
            "released": [one.to_dict() for one in self.results],
            "open": [
                {"number": one.number, "events": one.events, "assigned": one.assigned} for one in self.open_evaluations
            ],
        }

    # ------------------------------------------------------------------ the end, and copies

    def _check_usable(self) -> None:
        if self._closed:
            raise StorageError("this connection to the evaluations is closed: open them again")
        self._store.check()

    @locked
    def close(self) -> None:
        """Give back places that were reserved and that nobody was assigned to, and close the connection.

        Everything is on record already; evaluations stay open, and need not be closed by this. What is in memory ends
        with it.
        """
        if not self._closed:
            with suppress(SottovoceError):  # it is closed, whatever is wrong with what is stored
                self._store.close()
            self._closed = True
        if self._opened is not None:
            self._opened.base.close()

    def __repr__(self) -> str:
        if self._opened is not None:
            return f"PrivateEvaluations({self.name!r} at {self._opened.base.name!r})"
        opened, assigned, privacy = len(self.open_evaluations), self.asked, self._setting.privacy
        return f"PrivateEvaluations(loss_range={self.loss_range}, {privacy=}, open={opened}, {assigned=})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._opened is not None:
            raise CopyRefused(_STORED_COPY)
        if self._setting.in_earnest:
            raise CopyRefused(_COPY)
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> "PrivateEvaluations":
        return copy.deepcopy(self)


def _by_evaluation(met: Sequence[int]) -> tuple[dict[int, int], Integers]:
    """Return how many people meet each evaluation, and the order of people evaluation by evaluation."""
    return dict(sorted(Counter(met).items())), np.argsort(met, kind="stable")


_NO_PLACE = "no evaluation has a place left for another person; open one: open(events=...)"
_COPY = (
    "evaluations with real noise cannot be copied or pickled: two copies of one would release the same losses under "
    "two noises. Use noise=SimulatedNoise(seed) or privacy=NoPrivacy() in simulations"
)
_STORED_COPY = (
    "evaluations in a storage cannot be copied or pickled: open them again, by URL and name, where they are needed"
)
