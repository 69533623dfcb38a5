"""Study: `ask` and `tell` that survive."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, TypeVar, Unpack, cast, overload

from numpy.typing import NDArray
from sqlalchemy import Connection

from sottovoce._arrays import Floats
from sottovoce._checks import choice, whole
from sottovoce._losses import as_array, raw_loss_refused
from sottovoce.domains import Domain
from sottovoce.errors import ForkRefused, StorageError, StudyBehind, WrongReport
from sottovoce.exploration.posterior import Posterior, Segments
from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.private_bandit import no_segments
from sottovoce.learning.bandit.recommendation import Recommendation
from sottovoce.learning.options import NOT_PASSED, OptimizerOptions, separate, spelled_out
from sottovoce.learning.planning.choosing import make_plan
from sottovoce.learning.planning.plan import Plan
from sottovoce.privacy import Guarantee, Ledger, LocalDP, NoiseSource, PrivacyStatement
from sottovoce.studies.calls.asking import Asker, Order
from sottovoce.studies.calls.closing import tend, tend_to
from sottovoce.studies.calls.counting import counted
from sottovoce.studies.calls.ids import Place, places_of
from sottovoce.studies.calls.knowing import misfit_at_hand, posterior_of, recommendation_of
from sottovoce.studies.calls.listing import outstanding
from sottovoce.studies.calls.telling import Telling
from sottovoce.studies.calls.telling_each import Outcomes, Recorded, TellCall, tell_each
from sottovoce.studies.calls.waiting import checked_waiting
from sottovoce.studies.course import Course, course_of
from sottovoce.studies.database.snapshot import take_snapshot
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.exporting import exported
from sottovoce.studies.opening.creating import Found, Wish, create_or_resume
from sottovoce.studies.opening.names import study_name
from sottovoce.studies.opening.withheld import WithheldNoise
from sottovoce.studies.session.restoration import begin_new_life
from sottovoce.studies.session.rights import refuse_without_ledger
from sottovoce.studies.session.session import Session
from sottovoce.studies.session.state import StudyState
from sottovoce.studies.stating import StudyStatement, privacy_of, state_in
from sottovoce.studies.status import Status
from sottovoce.studies.verifying.verification import Verification, verify_in

__all__ = ["Study"]

_Kind = TypeVar("_Kind", bound="Study")


class Study:
    """A private bandit whose every answer is durable before it is given: open it with `Study.open`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "slates.db"
    >>> study = sv.Study.open(
    ...     f"sqlite:///{file}",
    ...     name="spring",
    ...     domain=sv.domains.Hypersimplex(20, 5),
    ...     horizon=10_000,
    ...     loss_range=(0.0, 1.0),
    ...     privacy=sv.PureDP(epsilon=1.0),
    ... )
    >>> action = study.ask()
    >>> study.tell(action.id, 0.25)
    >>> study.close()
    >>> again = sv.Study.open(f"sqlite:///{file}", name="spring")
    >>> again.status().told
    1
    >>> again.close()
    """

    def __init__(self, storage: Storage, name: str, found: Found, repeat: str) -> None:
        self.name = name
        self._found = found
        self._repeat = choice("repeat", repeat, ("error", "ignore"))
        self._local = isinstance(found.configuration.privacy, LocalDP)
        self._session = Session(storage, StudyState(found.configuration, found.source, found.right), found.study)
        self._asker = Asker(self._session, found.key, self._tend_quietly)

    @classmethod
    @spelled_out
    def open(
        cls,
        url: str,
        *,
        name: str,
        domain: Domain = NOT_PASSED,
        horizon: int | None = NOT_PASSED,
        loss_range: tuple[float, float] = NOT_PASSED,
        privacy: Guarantee = NOT_PASSED,
        seed: int | None = None,
        noise: NoiseSource | None = None,
        ledger: Ledger | None = None,
        patience: int | str | None = NOT_PASSED,
        deadline: float | None = NOT_PASSED,
        repeat: str = "error",
        restored: bool = False,
        **options: Unpack[OptimizerOptions],
    ) -> Self:
        """Create a study, or resume it.

        Parameters
        ----------
        url
            Where it lives: "sqlite:///pricing.db", or "postgresql://user@host/database".
        name
            Of the study; a storage may hold many.
        domain, horizon, loss_range, privacy, **options
            As for `PrivateBandit`, to create a study. To resume one, leave them out; those that are passed are compared
            with what is stored. A domain that holds functions of your own has to be passed again.
        seed, noise
            As for `PrivateBandit`. Noise is never stored, nor is anything that it could be derived from.
        ledger
            Charges the guarantee, once for the life of the study; pass it again whenever the study is opened, so that
            the ledger sees that it is the same life. A copy of the study, or a backup that was overtaken, is charged as
            another life, or refused. Without it a study that was charged can be resumed, and cannot be `restored`.
        patience
            Events that are asked after a round's last action was, after which losses that did not come count as the
            middle of the range; None to wait for ever. "auto", the default, is a tenth of the horizon up to 10,000
            events, and never less than a hundredth of it.
        deadline
            The same in seconds; None, the default, for no clock. Both can be changed later: see `change`.
        repeat
            What a second loss for one action does: "error", or "ignore", for callers that repeat what they are not
            sure of.
        restored
            Say so when the storage was restored from a backup, or copied: losses that are not released are dropped,
            and ids that were handed out before are refused. Otherwise losses could be released twice.
        """
        study_name(name)
        choice("repeat", repeat, ("error", "ignore"))
        needed = {"domain": domain, "horizon": horizon, "loss_range": loss_range, "privacy": privacy}
        arguments, choices = separate(options)
        given = _passed({**needed, "choices": choices or NOT_PASSED, **arguments})
        waiting = _passed({"patience": patience, "deadline": deadline})
        storage = Storage(url, create=bool(given))
        try:
            storage.check()
            found = create_or_resume(storage, Wish(name, given, waiting, seed, noise, ledger))
            if restored and ledger is None:
                refuse_without_ledger(storage, found.study, name)
            study = _kind_of(cls, found)(storage, name, found, repeat)
            study._session.submit(lambda connection: None)  # reads everything that is open, and its checksums
            if restored:
                study._session.submit(study._begin_new_life)
            study._tend()
        except BaseException:
            storage.close()
            raise
        return study

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, size: None = None, *, segment: Any = None) -> Action: ...

    @overload
    def ask(self, size: int, *, segment: Any = None) -> Actions: ...

    def ask(self, size: int | None = None, *, segment: Any = None) -> Action | Actions:
        """Return the next action, or a block of `size` of them, once that is on record. Ids are short texts.

        Parameters
        ----------
        size
            How many actions; None for a single `Action`.
        segment
            Whom it is for, of a study with `segments`; for a block, one segment for all of it or a list with one for
            each event.
        """
        if segment is not None:
            raise no_segments()
        return self._asker.one() if size is None else self._asker.block(Order(whole("size", size)))

    def ask_round(self, most: int | None = None, *, segment: Any = None) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it.

        Parameters
        ----------
        most
            How many actions at most; None for all that are left of the round.
        segment
            Whose round, of a study with `segments`.
        """
        if segment is not None:
            raise no_segments()
        return self._asker.block(Order(None, None if most is None else whole("most", most)))

    def ask_in_parts(self, size: int, first: int = 16, *, segment: Any = None) -> Iterator[Actions]:
        """Yield `size` actions in blocks, each asked when it is taken: whoever stops half-way leaves the rest unasked.

        Blocks grow from `first` actions. All of them count as one call: none counts against the patience of another.

        Parameters
        ----------
        size
            How many actions in all.
        first
            How many in the first block.
        segment
            Whom all of them are for, of a study with `segments`.
        """
        if segment is not None:
            raise no_segments()
        return self._asker.in_parts(whole("size", size), whole("first", first))

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> None:
        """Report the loss of an action, or of a block of them, as for `PrivateBandit`; durable when it returns.

        A loss for an action that was given up is refused (`RoundClosed`), and with it the whole call; `late="drop"`
        drops such losses unread, and records the others.

        Parameters
        ----------
        ids
            The id of one action, or an array of them; any process may have asked.
        losses
            A number for each id.
        report
            In place of losses under `LocalDP`: what `sv.local.privatise` returned for each id.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        choice("late", late, ("error", "drop"))
        values = as_array(self._reported(losses, report))
        places = places_of(self._found.key, ids)
        if values.size != len(places):
            raise ValueError(f"losses must have the shape of ids, ({len(places)},), got {values.shape}")
        self._record(places, values.ravel(), repeat=self._repeat, late=late)

    def tell_each(
        self, calls: Sequence[TellCall], on_record: Callable[[Outcomes], None] | None = None
    ) -> list[Recorded | Exception]:
        """Carry out calls of tell that arrived together, in one transaction; return what came of each, in order.

        Each call is recorded as a whole or refused as a whole, with its error in its place, whatever comes of the
        others. A loss that is on record already is no error here: see `Recorded`. Which of two calls counts that tell
        the same action at once is not said.

        Parameters
        ----------
        calls
            What each of them tells.
        on_record
            Is handed what came of them as soon as that is durable, before rounds that are complete are closed.
        """
        return tell_each(self._session, self._found.key, calls, self._reported, on_record)

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range, whatever it was.

        What is told or forgotten already is skipped. Return how many actions were closed.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        """
        return self._record(places_of(self._found.key, ids), None, repeat="ignore", late="drop")

    def _reported(self, losses: Any, report: Any) -> Any:
        if self._local:
            if losses is not None or report is None:
                raise raw_loss_refused("study")
            return report
        if report is not None:
            raise WrongReport(f"report= is for LocalDP; under {self._found.configuration.privacy} tell the loss itself")
        return losses

    def _record(self, places: list[Place], values: NDArray[Any] | None, **choices: str) -> int:
        told = self._session.tell(Telling(places, values, **choices))
        if isinstance(told, StudyBehind):
            raise told
        with suppress(StorageError):  # the call is on record: should this fail, what is due is tried again later
            tend_to(self._session, told.filled)
        return told.stored

    def _begin_new_life(self, connection: Connection) -> None:
        begin_new_life(self._session.state, connection, self._session.cells(connection))

    # ------------------------------------------------------------------ closing rounds

    def change(self, *, patience: int | str | None = NOT_PASSED, deadline: float | None = NOT_PASSED) -> None:
        """Change how long rounds wait for their losses: as for `Study.open`, from now on, for all processes.

        Takes what is passed, and leaves the other as it is. Choose them without looking at losses: when a round closes
        is public.

        Parameters
        ----------
        patience
            Events, "auto", or None to wait for ever.
        deadline
            Seconds, or None for no clock.
        """
        changes = checked_waiting(_passed({"patience": patience, "deadline": deadline}))

        def note(connection: Connection) -> None:
            for name, value in changes.items():
                setattr(self._session.state.counters, name, value)

        self._session.submit(note)
        self._tend_quietly()

    def _tend(self) -> None:
        if not isinstance(self._found.source, WithheldNoise):  # whoever only looks closes nothing
            tend(self._session)

    def _tend_quietly(self) -> None:
        """After a call that is on record: should this fail, the call has not; what is due is tried again later."""
        with suppress(StorageError):
            self._tend()

    # ------------------------------------------------------------------ looking

    def status(self) -> Status:
        """Return where the study stands: counts and released values only."""
        self._session.submit(lambda connection: None)
        self._tend()
        with self._session.at_rest():
            found: Status = self._session.submit(self._status)
            return found

    def _status(self, connection: Connection) -> Status:
        session, found = self._session, counted(self._session, connection)
        state = session.state
        return Status(
            self.name,
            state.counters.generation,
            found.round,
            found.open_rounds,
            found.asked,
            found.told,
            found.forgotten,
            found.outstanding,
            state.remaining(session.hand.count),
            self.privacy.headline,
            self._spent(found.round),
            self.point,
            found.erasure_pending,
            state.patience,
            state.deadline,
            found.waiting,
            misfit_at_hand(session),
            None if self.domain.labels is None else self.domain.chosen(self.point),
        )

    def _spent(self, closed: int) -> str:
        guarantee = self._found.configuration.privacy
        if not guarantee.private:
            return "nothing is protected"
        return f"all of it: {guarantee}" if closed else "nothing so far"

    def recommend(self, *, segment: Any = None) -> Recommendation:
        """Return the decision to take home, now or after the last event, with how sure that is and what it rests on.

        Released values alone decide it, of all processes. Works for a study whose events are all asked, too.

        Parameters
        ----------
        segment
            For whom, of a study with `segments`; None for one decision for all of them, with that of each beside it.
        """
        if segment is not None:
            raise no_segments()
        self._session.submit(lambda connection: None)
        self._tend()
        return recommendation_of(self._session)

    def posterior(self, *, segment: Any = None) -> Posterior:
        """Return what is believed about losses: to look at, to `save`, and to begin another study with (`prior=`).

        It holds released values alone. Plans without a model (frames, designs) have none, and say so.

        Parameters
        ----------
        segment
            Of whom, of a study with `segments`.
        """
        if segment is not None:
            raise no_segments()
        self._session.submit(lambda connection: None)
        self._tend()
        statement, known = self.privacy, posterior_of(self._session)
        if known is None:
            raise ValueError("there is no posterior yet: nothing was asked")
        return replace(known, promises=statement.promises)

    def course(self, earlier: Course | None = None, *, most: int = 2_000, segment: Any = None) -> Course:
        """Return what was released, round after round, and how often the world was seen to change; see `Course`.

        Parameters
        ----------
        earlier
            What was returned before, by this study: then only what was released since is read.
        most
            How many rounds at most: the newest ones.
        segment
            Whose, of a study with `segments`.

        Examples
        --------
        >>> import sottovoce as sv
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "slates.db"
        >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0), "integral": True}
        >>> with sv.Study.open(f"sqlite:///{file}", name="spring", privacy=sv.NoPrivacy(), **options) as study:
        ...     actions = study.ask_round()
        ...     study.tell(actions.ids, [0.5] * len(actions))
        ...     study.course().means.round(6).tolist()
        [0.5]
        """
        if segment is not None:
            raise no_segments()
        newest = whole("most", most)
        self._session.submit(lambda connection: None)
        self._tend()
        return course_of(self._session, earlier, newest)

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return what is asked and neither told nor forgotten, by any process: ids, rounds and ages, the oldest first.

        Parameters
        ----------
        limit
            How many at most.
        """
        most = None if limit is None else whole("limit", limit, least=0)
        self._session.submit(lambda connection: None)
        self._tend()
        return outstanding(self._session, self._found.key, most)

    def verify(self) -> Verification:
        """Check every checksum and invariant of what is stored, and compute the point again; see `Verification`.

        Rows are read in one transaction, during which other processes wait; they are checked after it.

        Examples
        --------
        >>> import sottovoce as sv
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "slates.db"
        >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
        >>> with sv.Study.open(f"sqlite:///{file}", name="spring", privacy=sv.PureDP(1.0), **options) as study:
        ...     study.tell(study.ask().id, 0.25)
        ...     study.verify().ok
        True
        """
        with self._session.at_rest():
            self._session.check_usable()
            self._session.note_erasure()
            return verify_in(self._session.storage, self.name, self.domain)

    def export(self) -> dict[str, Any]:
        """Return all released and public values as plain data that JSON can hold.

        Examples
        --------
        >>> import sottovoce as sv
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "slates.db"
        >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
        >>> with sv.Study.open(f"sqlite:///{file}", name="spring", privacy=sv.PureDP(1.0), **options) as study:
        ...     actions = study.ask_round()
        ...     study.tell(actions.ids, [0.5] * len(actions))
        ...     study.export()["rounds"][0]["missing"]
        0
        """
        status = self.status()
        with self._session.at_rest():
            self._session.check_usable()
            with self._session.storage.unwinding(), self._session.storage.transaction() as connection:
                snapshot = take_snapshot(connection, self.name, losses=False)
            problem = self._session.state.problem
            return exported(snapshot, problem, name=self.name, privacy=self.privacy, status=status)

    @property
    def point(self) -> Floats:
        """The point that actions are taken around at present: a function of released values alone."""
        with self._session.at_rest():
            point = self._session.state.point
            return self.domain.middle if point is None else point

    @property
    def created(self) -> bool:
        """Whether it did not exist before it was opened here."""
        return self._found.plan is not None

    @property
    def domain(self) -> Domain:
        """The feasible set."""
        return self._found.configuration.domain

    @property
    def segments(self) -> Segments | None:
        """Whom decisions are for; None if that makes no difference."""
        found: Segments | None = self._found.configuration.segments
        return found

    @property
    def horizon(self) -> int | None:
        """How many events there will be; None if unknown."""
        return self._session.state.horizon

    @property
    def loss_range(self) -> tuple[float, float]:
        """What losses are clipped to."""
        low, high = self._found.configuration.loss_range
        return float(low), float(high)

    @property
    def remaining(self) -> int | None:
        """Events that are left to ask; None if the horizon is unknown."""
        with self._session.at_rest():
            self._session.submit(lambda connection: None)
            return self._session.state.remaining(self._session.hand.count)

    @property
    def round(self) -> int:
        """Rounds that are closed."""
        with self._session.at_rest():
            return self._session.state.counters.closed

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with."""
        return self._session.state.problem.channel_of_owners

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        with self._session.at_rest():
            state = self._session.state
            if state.epochs:
                return state.epochs[max(state.epochs)].plan
        return self._first_plan

    @cached_property
    def _first_plan(self) -> Plan:
        """The plan of the first epoch, before that has begun."""
        made, configuration = self._found.plan, self._found.configuration
        if made is None:
            made = make_plan(self._session.state.problem, plan=configuration.plan, **configuration.choices)
        return made

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        session = self._session
        doubling = self.horizon is None
        return privacy_of(session.state.problem, self.plan, self._found.source, session.storage, doubling=doubling)

    def statement(self, *, verify: bool = False) -> StudyStatement:
        """Return what a privacy officer has to know: the promise, counts and public facts; `report` makes a page of it.

        Parameters
        ----------
        verify
            Whether to check everything that is stored as well; see `verify`.
        """
        with self._session.at_rest():
            self._session.check_usable()
            self._session.note_erasure()
            return state_in(self._session.storage, self.name, self.domain, verify=verify)

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle for the epochs at hand: all of this process's, and those for points of others'."""
        with self._session.at_rest():
            return sum(epoch.oracle_calls for epoch in self._session.state.epochs.values())

    @property
    def setup_oracle_calls(self) -> int:
        """Those of them that this process made to plan, and to find geometry that has no formula."""
        with self._session.at_rest():
            return sum(epoch.setup_calls for epoch in self._session.state.epochs.values())

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Give back actions that were reserved and not handed out, and close the connection.

        Everything is on record already; a study need not be closed. What a process that ends without it had reserved
        counts as asked, and is waited for as long as `patience` and `deadline` say.
        """
        with suppress(ForkRefused), self._session.at_rest():  # a child leaves alone what is its parent's
            if not self._session.closed:
                with suppress(StorageError):
                    self._give_back()
                self._session.storage.close()
                self._session.closed = True

    def _give_back(self) -> None:
        session = self._session
        if session.hand.count:
            session.submit(session.give_back)
        session.note_erasure()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r} at {self._session.storage.name!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a study cannot be copied or pickled: open it again, by URL and name, where it is needed")


def _kind_of(kind: type[_Kind], found: Found) -> type[_Kind]:
    """Return what a study is opened as: one with segments is of a kind of its own."""
    if found.configuration.segments is None:
        return kind
    from sottovoce.studies.segmented import SegmentedStudy

    return cast(type[_Kind], SegmentedStudy)


def _passed(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not NOT_PASSED}
