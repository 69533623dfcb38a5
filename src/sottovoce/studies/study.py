"""Study: the optimizer whose every answer is durable before it is given."""

import importlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._checks import choice, whole
from sottovoce._closing import Closing
from sottovoce._losses import as_floats
from sottovoce.domains import Domain
from sottovoce.errors import ForkRefused, InvalidLoss, SottovoceError, StorageError, StudyNotFound
from sottovoce.learning.patience import patience_for
from sottovoce.learning.set_changes import SetChange, sets_in, with_set
from sottovoce.learning.status import Status
from sottovoce.optimizer import Optimizer
from sottovoce.plans.options import NOT_PASSED, OptimizerOptions, passed, separate, spelled_out
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, PrivacyStatement
from sottovoce.privacy.noise import WithheldNoise
from sottovoce.privacy.promise import spent_words, warn_of
from sottovoce.rounds.book import Recorded, computing, locked
from sottovoce.rounds.round import TextIds
from sottovoce.rounds.stored import OpenedBook, Wanted, as_stored
from sottovoce.rounds.stores.sql.books import counts_of
from sottovoce.rounds.stores.sql.store import SqlStore
from sottovoce.studies.exporting import exported
from sottovoce.studies.history import History, history_of
from sottovoce.studies.opening import checked_waiting, in_words, open_study
from sottovoce.studies.statement import StudyStatement, state_in
from sottovoce.studies.verifying.verification import Verification, verify_in


class TellCall(NamedTuple):
    """One call of tell, among others: as for `Study.tell`.

    Attributes
    ----------
    ids, losses, report, late
        As the arguments of `Study.tell`.
    """

    ids: Any
    losses: Any = None
    report: Any = None
    late: str = "error"

    def __repr__(self) -> str:
        return f"TellCall(late={self.late!r})"  # losses are never in print


Outcomes = list[Recorded | Exception]


class Study(Closing, Optimizer):
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

    _store: SqlStore
    _texts: TextIds

    def __init__(
        self, opened: OpenedBook, name: str, configuration: Any, source: NoiseSource, repeat: str, restored: bool
    ) -> None:
        self.name, self.created, self.repeat = name, opened.created, repeat
        self._opened, self._base = opened, opened.base
        self._base.what = "the study"
        self._texts = TextIds(opened.stored.secret)
        self._releases = not isinstance(source, WithheldNoise)
        made = opened.stored.made
        store = partial(opened.store, restored=restored)
        super().__init__(configuration, source, made["seed"], made["entropy"], store)

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
        choice("repeat", repeat, ("error", "ignore"))
        needed = {"domain": domain, "horizon": horizon, "loss_range": loss_range, "privacy": privacy}
        arguments, choices = separate(options)
        given = passed({**needed, "choices": choices or NOT_PASSED, **arguments})
        waiting = passed({"patience": patience, "deadline": deadline})
        opened, configuration, source = open_study(Wanted(url, name, seed, noise, ledger), given, waiting)
        try:
            study = cls(opened, name, configuration, source, repeat, restored)
            study._tend()
            if opened.created:
                warn_of(configuration.privacy, configuration.horizon, simulated=source.simulated, level=3)
        except BaseException:
            opened.base.close()
            raise
        return study

    # ------------------------------------------------------------------ telling

    @locked
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
        read: dict[int, tuple[Integers, NDArray[Any]]] = {}
        found: dict[int, Recorded | Exception] = {}
        for place, call in enumerate(calls):
            try:
                read[place] = self._read(call.ids, self._reported(call.losses, call.report, call.late))
            except (SottovoceError, ValueError, TypeError) as refused:
                found[place] = refused
        if self._itemised and len({losses.shape[1] for _, losses in read.values()}) > 1:
            return self.tell_each(calls, on_record)  # one of them was the first that is heard of a wider set
        filled = self._recorded_at_once(list(read.values()))
        for place, (ids, losses) in read.items():
            found[place] = Recorded(len(ids), 0, 0)
            if filled is None:  # one of them is not as it should be: each by itself
                try:
                    found[place] = self._tell_block(ids, losses, calls[place].late, "ignore")
                except (SottovoceError, ValueError, TypeError) as refused:
                    found[place] = refused
        outcomes = [found[place] for place in range(len(calls))]
        if on_record is not None:
            on_record(outcomes)
        self._release(filled or set())
        return outcomes

    def _recorded_at_once(self, read: list[tuple[Integers, NDArray[Any]]]) -> set[int] | None:
        """Record all of it in one transaction, if all of it is waited for; None if nothing was recorded."""
        if not read:
            return set()
        ids, losses = (np.concatenate(one) for one in zip(*read, strict=True))
        try:
            return self._store.record(ids, self._policy.grid.quantise(as_floats(losses)))
        except InvalidLoss:
            return None

    # ------------------------------------------------------------------ closing rounds

    @locked
    def change(
        self,
        *,
        domain: Domain | None = None,
        features: Any = None,
        patience: int | str | None = NOT_PASSED,
        deadline: float | None = NOT_PASSED,
    ) -> None:
        """Change the set of decisions, from the next round on, or how long rounds wait for their losses, from now on.

        It holds for all processes, and is on record before this returns. Takes what is passed, and leaves the rest as
        it is. Choose it without looking at losses: sets are public, and so is when a round closes.

        Parameters
        ----------
        domain, features
            As for `PrivateBandit.change`: what is known is carried over by name.
        patience
            Events, "auto", or None to wait for ever.
        deadline
            Seconds, or None for no clock.
        """
        changes = checked_waiting(passed({"patience": patience, "deadline": deadline}))
        if domain is not None or features is not None:
            super().change(domain=domain, features=features)
        self._store.change_settings(**changes)
        with suppress(StorageError):
            self._tend()

    def _note_change(self, change: SetChange) -> None:
        record = change.to_record()
        self._store.amend(partial(with_set, record=record))
        self._read_changes()

    def _read_changes(self) -> None:
        policy, seen = self._policy, self._store.changes
        for record in sets_in(self._store.common)[len(policy.problems) - 1 :]:
            policy.change(SetChange.from_record(record))
        policy.seen_changes = seen

    def _knows_sets_of(self, ids: Integers) -> bool:
        if not (self.domain.labels and len(ids)):
            return True
        last = int(ids.max())  # it is of the newest set
        if self._policy.seen_changes == self._store.changes and self._store.had_begun(last):
            return True
        newest = self._store.round_with(last)
        return newest is None or newest.public["set"] < len(self._policy.problems)

    def _refresh(self) -> None:
        super()._refresh()
        if self._policy.seen_changes != self._store.changes:
            self._read_changes()

    @property
    def patience(self) -> int | None:  # type: ignore[override]
        """How many later positions, of all segments, a full round waits for its losses; None for ever."""
        return patience_for(in_words(self._store.settings()[0]), self.horizon, self.asked)

    @property
    def deadline(self) -> float | None:  # type: ignore[override]
        """How many seconds a full round waits for its losses; None for ever."""
        return self._store.settings()[1]

    # ------------------------------------------------------------------ looking

    @computing
    def status(self) -> Status:
        """Return where the study stands: counts and released values only."""
        self._learn()
        counts, mine = counts_of(self._base, self._opened.stored.book), self._configuration.privacy
        point = self.point if self.segments is None else self.domain.middle
        return Status(
            self.name,
            counts.incarnation,
            counts.rounds,
            counts.open_rounds,
            self.asked,
            counts.told,
            counts.forgotten,
            sum(one.waiting for one in self._store.open_rounds()),
            self.remaining,
            self.privacy.headline,
            spent_words(mine, told=counts.told, rounds=counts.rounds),
            point,
            self._store.erase(),
            self.patience,
            self.deadline,
            next((waiting for _, waiting in self._waiting_rounds()), None),
            None if self.segments is not None or not counts.released else self.fit_check(),
            None if self.domain.labels is None else self.domain.chosen(point),
            None if self.segments is None else tuple(self.sizes.items()),
        )

    @computing
    def history(self, *, most: int = 2_000, segment: Any = None) -> History:
        """Return what was released, round after round, and how often the world was seen to change; see `History`.

        Parameters
        ----------
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
        ...     study.history().means.round(6).tolist()
        [0.5]
        """
        newest = whole("most", most)
        self._learn()
        return history_of(self._store, self._policy, self._stream_of(segment), newest)

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
        with self._lock: return verify_in(self._base, self.name, self._configuration.domain)  # noqa: E701  # fmt: skip

    @computing
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
        return exported(self, self.status(), self._opened.stored.made, self._store, self._policy)

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        return as_stored(super().privacy, self._base)

    def statement(self, *, verify: bool = False) -> StudyStatement:
        """Return what a privacy officer has to know: the promise, counts and public facts; `report` makes a page of it.

        Parameters
        ----------
        verify
            Whether to check everything that is stored as well; see `verify`.
        """
        with self._lock: return state_in(self._base, self.name, self._configuration.domain, verify=verify)  # noqa: E701  # fmt: skip

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write what the study has come to as one HTML page, with its pictures; nothing in it costs privacy.

        Parameters
        ----------
        path
            Of the page.
        """
        report: Any = importlib.import_module("sottovoce.report")  # which shows studies, and stands above them
        written: Path = report.study_report(self, path)
        return written

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Give back actions that were reserved and not handed out, and close the connection.

        Everything is on record already; a study need not be closed. What a process that ends without it had reserved
        counts as asked, and is waited for as long as `patience` and `deadline` say.
        """
        with suppress(ForkRefused), self._lock: self._end()  # noqa: E701  # fmt: skip

    def _end(self) -> None:
        with suppress(StorageError, StudyNotFound):  # it is closed already, say
            self._store.close()
        self._base.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r} at {self._base.name!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a study cannot be copied or pickled: open it again, by URL and name, where it is needed")
