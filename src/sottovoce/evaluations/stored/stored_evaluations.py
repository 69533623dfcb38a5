"""Evaluations in a storage: `open_evaluations`, and what it returns."""

from typing import Any, Self, overload

from sottovoce._checks import choice, whole
from sottovoce._losses import as_array
from sottovoce.errors import UnknownAction
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.evaluations.private_evaluations import Assignment, PrivateEvaluations
from sottovoce.evaluations.stored._books import StoredBooks
from sottovoce.evaluations.stored._opening import Found, Wish, create_or_resume
from sottovoce.evaluations.stored.verifying import EvaluationsVerification
from sottovoce.learning.options import NOT_PASSED
from sottovoce.privacy import Guarantee, Ledger, NoiseSource, PrivacyStatement
from sottovoce.studies import Recorded
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.opening.names import study_name
from sottovoce.studies.session.rights import refuse_without_ledger
from sottovoce.studies.stating import as_stored

__all__ = ["StoredEvaluations", "open_evaluations"]


class StoredEvaluations(PrivateEvaluations):
    """`PrivateEvaluations` whose every answer is durable before it is given; made by `open_evaluations`.

    Ids are short texts. Any number of processes may open the same ones, assign and tell; each opens them for itself.

    Parameters
    ----------
    storage
        The connection; it is closed with this.
    name
        Of the evaluations.
    found
        What they were made with.
    repeat
        As for `open_evaluations`.
    """

    _books: StoredBooks

    def __init__(self, storage: Storage, name: str, found: Found, repeat: str) -> None:
        self.seed, self.name, self.created = found.seed, name, found.created
        self._keep(StoredBooks(storage, found, repeat))

    def open(self, events: int) -> Evaluation:
        """Begin an evaluation, for all processes: so many people will meet one set of parameters.

        Parameters
        ----------
        events
            How many people, or events; public, and fixed from here on.
        """
        handle: Evaluation = self._books.make(whole("events", events)).handle
        return handle

    @overload
    def assign(self, size: None = None) -> Assignment: ...

    @overload
    def assign(self, size: int) -> list[Assignment]: ...

    def assign(self, size: int | None = None) -> Assignment | list[Assignment]:
        """Assign the next person, or the next `size` of them, to evaluations that have places left, by public coins.

        In blocks, as `PrivateEvaluations.assign` does, over all processes: each takes up where the last one left off.

        Parameters
        ----------
        size
            How many people, all of them or none; None for one, whose assignment is returned by itself.
        """
        if size is None:
            positions, person = self._books.assign()
            return Assignment(positions.handle, person)
        return [Assignment(one.handle, person) for one, person in self._books.assign_several(whole("size", size))]

    def evaluation(self, number: int) -> Evaluation:
        """Return an evaluation by its number, whichever process has opened it, and whether it is closed or not.

        Parameters
        ----------
        number
            What `Evaluation.number` says.
        """
        found = self._books.find(whole("number", number, least=0))
        if found is None:
            raise UnknownAction(f"there is no evaluation {number}")
        handle: Evaluation = found.handle
        return handle

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
        return self._books.tell_ids(ids, as_array(self._books.setting.told(losses, report)), late)

    def forget(self, ids: Any) -> int:
        """Close places whose loss will never come, whichever evaluations these are of; return how many were closed.

        Parameters
        ----------
        ids
            What `assign` returned, one or an array of them.
        """
        return self._books.forget(None, ids)

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        return as_stored(super().privacy, self._books.engine.storage)

    def verify(self) -> EvaluationsVerification:
        """Check every checksum of what is stored, and how all rows fit together; other processes wait meanwhile."""
        return self._books.verify()

    def export(self) -> dict[str, Any]:
        """Return all released and public values as plain data that JSON can hold."""
        released = self.results
        opened = self.open_evaluations
        return {
            "format": "sottovoce evaluations, exported",
            "version": 1,
            "name": self.name,
            "loss_range": list(self.loss_range),
            "guarantee": self._books.setting.privacy.to_dict(),
            "channel": None if self.channel is None else self.channel.to_dict(),
            "privacy": str(self.privacy),
            "scale": self._books.setting.scale.to_dict(),
            "patience": self.patience,
            "released": [one.to_dict() for one in released],
            "open": [{"number": one.number, "events": one.events, "assigned": one.assigned} for one in opened],
        }

    def close(self) -> None:
        """Give back places that were reserved and that nobody was assigned to, and close the connection.

        Everything is on record already; evaluations stay open, and need not be closed by this.
        """
        self._books.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"StoredEvaluations({self.name!r} at {self._books.engine.storage.name!r})"


def open_evaluations(
    url: str,
    *,
    name: str,
    loss_range: tuple[float, float] = NOT_PASSED,
    privacy: Guarantee = NOT_PASSED,
    seed: int | None = None,
    noise: NoiseSource | None = None,
    ledger: Ledger | None = None,
    patience: int | str | None = NOT_PASSED,
    channel: str = NOT_PASSED,
    repeat: str = "error",
    restored: bool = False,
) -> StoredEvaluations:
    """Create evaluations in a storage, or resume them; they are used like `PrivateEvaluations`, and survive.

    Parameters
    ----------
    url
        Where they live, with studies if there are any: "sqlite:///trials.db", or "postgresql://user@host/database".
    name
        Of the evaluations; a storage may hold many, and none has the name of a study.
    loss_range, privacy, patience, channel
        As for `PrivateEvaluations`, to create them. To resume them, leave these out; those that are passed are compared
        with what is stored.
    seed, noise
        As for `PrivateEvaluations`. Noise is never stored, nor is anything that it could be derived from.
    ledger
        Charges the guarantee, once for the life of the evaluations; pass it again whenever they are opened. A copy of
        them, or a backup that was overtaken, is charged as another life, or refused.
    repeat
        What a second loss for one id does: "error", or "ignore", for callers that repeat what they are not sure of.
    restored
        Say so when the storage was restored from a backup, or copied: evaluations that are open are dropped, and ids
        that were handed out before are refused. Otherwise losses could be released twice.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sottovoce as sv
    >>> url = f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'trials.db'}"
    >>> with open_evaluations(url, name="checkout", loss_range=(0.0, 1.0), privacy=sv.PureDP(1.0)) as evaluations:
    ...     evaluation = evaluations.open(events=3)
    ...     person = evaluation.assign()
    ...     evaluation.tell([0.25, 0.5])
    >>> with open_evaluations(url, name="checkout") as again:
    ...     evaluation = again.evaluation(0)
    ...     evaluation.tell(0.75, ids=person)
    ...     evaluation.closed
    True
    """
    study_name(name)
    choice("repeat", repeat, ("error", "ignore"))
    passed = {"loss_range": loss_range, "privacy": privacy, "patience": patience, "channel": channel}
    given = {one: value for one, value in passed.items() if value is not NOT_PASSED}
    seeded = None if seed is None else whole("seed", seed, least=0)
    storage = Storage(url, create=bool(given))
    try:
        storage.check()
        found = create_or_resume(storage, Wish(name, given, seeded, noise, ledger))
        if restored and ledger is None:
            refuse_without_ledger(storage, found.study, name)
        evaluations = StoredEvaluations(storage, name, found, repeat)
        evaluations._books.begin(restored=restored)
    except BaseException:
        storage.close()
        raise
    return evaluations
