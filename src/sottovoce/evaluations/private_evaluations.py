"""PrivateEvaluations: the mean loss of whatever is tried, one private number for each; any optimizer does the rest."""

import copy
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, overload

import numpy as np

from sottovoce._checks import choice, whole
from sottovoce._losses import as_array
from sottovoce.errors import UnknownAction
from sottovoce.evaluations._book import EvaluationBook, PlainIds
from sottovoce.evaluations._setting import EvaluationSetting
from sottovoce.evaluations.evaluation import ONE_NUMBER, Evaluation
from sottovoce.plans.options import NOT_PASSED
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, PrivacyStatement
from sottovoce.privacy.promise import warn_of
from sottovoce.rounds.book import Recorded
from sottovoce.rounds.people import people_for
from sottovoce.rounds.stores.memory import MemoryStore
from sottovoce.stats.released_mean import ReleasedMean

__all__ = ["Assignment", "EvaluationsVerification", "PrivateEvaluations"]


@dataclass(frozen=True)
class Assignment:
    """Where a person was assigned to; unpacked, the evaluation and the id.

    Attributes
    ----------
    evaluation
        Whose parameters the person meets.
    id
        What the loss is told with: a whole number; of evaluations in a storage, a short text.
    wants_loss
        False for a person who has given all their losses, where people are counted: what is told is dropped unread.
    """

    evaluation: Evaluation
    id: Any
    wants_loss: bool = True

    def __iter__(self) -> Iterator[Any]:
        return iter((self.evaluation, self.id))


@dataclass(frozen=True)
class EvaluationsVerification:
    """What `PrivateEvaluations.verify` has found.

    Attributes
    ----------
    released, abandoned, open
        How many evaluations there are of each.
    faults
        What is wrong, in words; empty if nothing is.
    """

    released: int
    abandoned: int
    open: int
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def __str__(self) -> str:
        counts = f"{self.released} released, {self.abandoned} abandoned, {self.open} open"
        return "\n".join([f"{counts}: {'no fault' if self.ok else 'DAMAGED'}", *self.faults])


class PrivateEvaluations:
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
    feedback
        "decision": one number a person. There is no other here; `PrivateBandit` learns from each item of a slate.

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
        feedback: str = "decision",
    ) -> None:
        choice("repeat", repeat, ("error", "ignore"))
        if feedback != "decision":
            raise ValueError(f"feedback must be 'decision' here: evaluations take one number a person, {ONE_NUMBER}")
        self.seed = None if seed is None else whole("seed", seed, least=0)
        passed = {"loss_range": loss_range, "privacy": privacy, "patience": patience}
        given = {one: value for one, value in {**passed, "variance": variance}.items() if value is not NOT_PASSED}
        self._handles: dict[int, Evaluation] = {}
        self._stored: Any = None
        if storage is None:
            self._book = self._in_memory(given, noise, ledger, name, repeat)
        else:
            from sottovoce.evaluations._stored import open_stored  # drivers are imported where they are used

            if name is None:
                raise TypeError("name= is needed with storage=: evaluations are found by it")
            self._book, self._stored = open_stored(
                storage, name, given, seed=self.seed, noise=noise, ledger=ledger, repeat=repeat, restored=restored
            )
            self.name, self.created, self.seed = name, self._stored.created, self._stored.stored.made["seed"]
        if self.created:
            setting = self._book.setting
            warn_of(setting.privacy, simulated=setting.source.simulated, level=2)

    def _in_memory(
        self, given: dict[str, Any], noise: NoiseSource | None, ledger: Ledger | None, name: str | None, repeat: str
    ) -> EvaluationBook:
        missing = [one for one in ("loss_range", "privacy") if one not in given]
        if missing:
            raise TypeError(f"evaluations need {' and '.join(missing)}")
        setting = EvaluationSetting(**given, noise=noise)
        entropy: Any = np.random.SeedSequence().entropy if self.seed is None else self.seed
        self.name, self.created = name or f"private-evaluations-{uuid.uuid4().hex}", True
        store, before_first = MemoryStore(setting.shape, forks=not setting.in_earnest), None
        if ledger is not None:  # last of all: what cannot be built is not charged
            ledger.charge(self.name, setting.privacy, simulated=setting.source.simulated, resume=False)
            before_first = partial(ledger.mark_used, self.name)
        return EvaluationBook(store, setting, entropy, ids=PlainIds(), repeat=repeat, before_first=before_first)

    # ------------------------------------------------------------------ opening and assigning

    def open(self, events: int) -> Evaluation:
        """Begin an evaluation: so many people will meet one set of parameters.

        Parameters
        ----------
        events
            How many people, or events; public, and fixed from here on.
        """
        return self._handle(self._book.open(whole("events", events)))

    def _handle(self, number: int) -> Evaluation:
        """Return an evaluation: always the same object."""
        return self._handles.setdefault(number, Evaluation(self._book, number))

    def evaluation(self, number: int) -> Evaluation:
        """Return an evaluation by its number, whichever process has opened it, and whether it is closed or not.

        Parameters
        ----------
        number
            What `Evaluation.number` says.
        """
        if whole("number", number, least=0) >= self._book.opened:
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
        met = self._book.assign(count or 1, people_for(count, person))
        found = [Assignment(self._handle(number), *rest) for number, *rest in met]
        return found[0] if size is None else found

    def erase_people(self) -> int:
        """Erase all that is kept of people who were counted, and the key that they were hashed with; return how many.

        For the end: nobody is assigned any more after it. Losses of those who were assigned before can still be told.
        """
        return self._book.erase_people()

    def keyed_hash(self, person: str | Sequence[str]) -> str:
        """Return a text that is the same for the same people, and says nothing of them without the key.

        For whoever has to remember that a call was made, and not for whom. From here on people are counted.

        Parameters
        ----------
        person
            As for `assign`.
        """
        return self._book.keyed_hash(person)

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
        choice("late", late, ("error", "drop"))
        return self._book.tell(None, ids, as_array(self._book.losses_told(losses, report)), late)

    def forget(self, ids: Any) -> int:
        """Close places whose loss will never come, whichever evaluations these are of; return how many were closed.

        Parameters
        ----------
        ids
            What `assign` returned, one or an array of them.
        """
        return self._book.forget_ids(None, ids)

    # ------------------------------------------------------------------ looking

    @property
    def open_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that are not closed, in the order in which they were opened."""
        return tuple(map(self._handle, self._book.open_numbers()))

    @property
    def results(self) -> tuple[ReleasedMean, ...]:
        """All that was released so far, in the order in which it was."""
        return self._book.results()

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with; None otherwise."""
        return self._book.setting.channel

    @property
    def loss_range(self) -> tuple[float, float]:
        """(low, high): what losses are clipped to."""
        return self._book.setting.scale.loss_range

    @property
    def patience(self) -> int | str | None:
        """How many later people an evaluation that is full waits for: as it was passed."""
        return self._book.setting.patience

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        statement = self._book.setting.statement(counted=self._book.counts_people)
        if self._stored is None:
            return statement
        from sottovoce.rounds.stored import as_stored

        return as_stored(statement, self._stored.base)

    def verify(self) -> EvaluationsVerification:
        """Check every checksum of what is stored, and how all rows fit together; in memory nothing is."""
        if self._stored is None:
            released, opened = len(self.results), len(self._book.open_numbers())
            return EvaluationsVerification(released, self._book.opened - released - opened, opened, ())
        from sottovoce.evaluations._stored import verify_stored

        return EvaluationsVerification(*verify_stored(self._stored, self.name, self._book.setting))

    def export(self) -> dict[str, Any]:
        """Return all released and public values as plain data that JSON can hold."""
        setting = self._book.setting
        return {
            "format": "sottovoce evaluations, exported",
            "version": 1,
            "name": self.name,
            "loss_range": list(self.loss_range),
            "guarantee": setting.privacy.to_dict(),
            "channel": None if self.channel is None else self.channel.to_dict(),
            "privacy": str(self.privacy),
            "scale": setting.scale.to_dict(),
            "patience": self.patience,
            "released": [one.to_dict() for one in self.results],
            "open": [
                {"number": one.number, "events": one.events, "assigned": one.assigned} for one in self.open_evaluations
            ],
        }

    # ------------------------------------------------------------------ the end, and copies

    def close(self) -> None:
        """Give back places that were reserved and that nobody was assigned to, and close the connection.

        Everything is on record already; evaluations stay open, and need not be closed by this. What is in memory ends
        with it.
        """
        self._book.leave()
        if self._stored is not None:
            self._stored.base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._stored is not None:
            return f"PrivateEvaluations({self.name!r} at {self._stored.base.name!r})"
        opened, assigned = len(self._book.open_numbers()), self._book.asked
        privacy = self._book.setting.privacy
        return f"PrivateEvaluations(loss_range={self.loss_range}, {privacy=}, open={opened}, {assigned=})"

    def __copy__(self) -> "PrivateEvaluations":
        return copy.deepcopy(self)
