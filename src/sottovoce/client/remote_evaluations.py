"""Evaluations behind a service: the same calls as `PrivateEvaluations`, over HTTP."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import whole
from sottovoce.client._answers import Facts, read
from sottovoce.client._remote import Remote
from sottovoce.client._wire import checked_ids
from sottovoce.errors import NotReleased
from sottovoce.evaluations.evaluation import Counts, Evaluation
from sottovoce.evaluations.private_evaluations import Assignment
from sottovoce.privacy.local import OneBitChannel
from sottovoce.rounds.people import people_for, plain_people
from sottovoce.stats.released_mean import ReleasedMean
from sottovoce.stats.scale import Scale


class RemoteEvaluations(Remote):
    """Evaluations that a service holds: made by `sottovoce.connect`, and used like `PrivateEvaluations`.

    Calls are repeated while the service is away: one that is repeated opens and assigns nothing anew, and a loss that
    is told twice counts once. To open, close and abandon takes a key with the role admin, to assign one with ask, to
    tell and forget tell, to read results read.

    Parameters
    ----------
    service
        The connection.
    name
        Of the evaluations.
    retries
        As for `connect`.
    accepts
        What the service may be told: `privacy` and `raw_losses` of `connect`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> with sv.connect("https://decide.example", evaluations="checkout", key="sv_example") as remote:
    ...     print(remote)
    RemoteEvaluations('checkout' at 'https://decide.example')
    """

    _kind = "evaluations"

    def open(self, events: int) -> Evaluation:
        """Begin an evaluation: so many people will meet one set of parameters.

        Parameters
        ----------
        events
            How many people, or events; public, and fixed from here on.
        """
        made = self._once("open", {"events": whole("events", events)})
        return self._handle(made.number)

    @overload
    def assign(self, size: None = None, *, person: str | None = None) -> Assignment: ...

    @overload
    def assign(self, size: int, *, person: Sequence[str] | None = None) -> list[Assignment]: ...

    def assign(
        self, size: int | None = None, *, person: str | Sequence[str] | None = None
    ) -> Assignment | list[Assignment]:
        """Assign the next person, or `size` of them, to evaluations that have places left, by public coins.

        Parameters
        ----------
        size
            How many people, all of them or none; None for one, whose assignment is returned by itself.
        person
            Who it is, by any string that is theirs alone, so that the service counts their losses; for several, a list.
        """
        count = None if size is None else whole("size", size)
        met = self._assigned({}, count, people_for(count, person))
        found = [Assignment(self._handle(one["number"]), one["id"], one["wants_loss"]) for one in met]
        return found[0] if size is None else found

    def _assigned(self, wish: Any, size: int | None, people: Sequence[str] | None) -> list[Any]:
        whom = plain_people(people if size is not None or people is None else people[0])
        answer = self._once("assign", {"size": size, **wish, **whom})
        return [answer] if size is None else answer.assigned

    def erase_people(self) -> int:
        """Erase all that is kept of people who were counted; return how many. Nobody is assigned any more after it.

        It takes a key with the role admin.
        """
        return int(self._call("POST", "erase-people").erased)

    def evaluation(self, number: int) -> Evaluation:
        """Return an evaluation by its number, whoever has opened it.

        Parameters
        ----------
        number
            What `Evaluation.number` says.
        """
        return self._handle(self._stands(whole("number", number, least=0)).number)

    @property
    def open_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that are not closed, in the order in which they were opened."""
        return tuple(self._handle(one["number"]) for one in self.status().open)

    @property
    def results(self) -> tuple[ReleasedMean, ...]:
        """All that was released so far, in the order in which it was."""
        return tuple(read("a result", self._mean_of, one) for one in self._call("GET", "results").results)

    @property
    def channel(self) -> OneBitChannel | None:
        """Under `LocalDP`: what owners privatise with, once they have said what it may spend; None otherwise."""
        return self._channel_info.agreed()

    @property
    def loss_range(self) -> tuple[float, float]:
        """(low, high): what losses are clipped to."""
        return self._scale.loss_range

    def status(self) -> Facts:
        """Return where the evaluations stand: what they were created with, the statement, which are open."""
        return self._call("GET", "status")

    # ------------------------------------------------------------------ single ones

    def _stands(self, number: int) -> Facts:
        return self._call("GET", f"evaluation?number={number}")

    def _send(
        self, number: int | None, ids: Any, losses: NDArray[Any], late: str, people: Sequence[str] | None
    ) -> None:
        """Send losses, for ids or for the next places, which are taken first."""
        if ids is None:
            assert number is not None
            self._checked(("",) * losses.size, losses)  # before anybody is assigned
            taken = self._keeper.assign_to(number, losses.size, people) if losses.size else []
            ids = [one for one, _ in taken]
        self._tell(checked_ids(ids), losses, late)

    @cached_property
    def _handles(self) -> dict[int, Evaluation]:
        return {}

    @cached_property
    def _keeper(self) -> "_Keeper":
        return _Keeper(self, self._brought)

    def _handle(self, number: int) -> Evaluation:
        """Return an evaluation: always the same object."""
        return self._handles.setdefault(int(number), Evaluation(self._keeper, int(number)))

    @cached_property
    def _scale(self) -> Scale:
        """What released integers are worth."""
        return read("a scale", Scale.from_dict, self.status().scale)

    def _mean_of(self, plain: Any) -> ReleasedMean:
        number, events, total = (plain[name] for name in ("number", "events", "total"))
        if not all(type(one) is int for one in (number, events, total)):
            raise TypeError("these are whole numbers")
        squares = plain.get("squares")
        return ReleasedMean(number, events, total, self._scale, squares if type(squares) is int else None)


class _Keeper:
    """What evaluations need of whoever keeps them: a service."""

    def __init__(self, remote: RemoteEvaluations, losses_told: Callable[[Any, Any], Any]) -> None:
        self._remote, self._released = remote, dict[int, ReleasedMean]()
        self.losses_told = losses_told  # from losses or reports to what a call has brought

    def assign_to(self, number: int, size: int, person: Sequence[str] | None = None) -> list[tuple[str, bool]]:
        """Hand out the next ids, with whether a loss is wanted."""
        met = self._remote._assigned({"number": number}, size, person)
        return [(one["id"], one["wants_loss"]) for one in met]

    def tell(
        self,
        number: int | None,
        ids: Any,
        losses: NDArray[Any],
        late: str,
        person: Sequence[str] | None = None,
    ) -> None:
        """Send losses, for ids or for the next places."""
        self._remote._send(number, ids, losses, late, person)

    def forget_ids(self, number: int | None, ids: Any) -> int:
        """Close places without their losses; return how many."""
        return self._remote.forget(ids)

    def end(self, number: int) -> None:
        """Close an evaluation with what it has."""
        self._remote._call("POST", "close", {"number": number})

    def abandon(self, number: int) -> None:
        """Drop an evaluation: nothing of it is ever released."""
        self._remote._call("POST", "abandon", {"number": number})

    def result(self, number: int) -> ReleasedMean | None:
        """Return what an evaluation has released; None if it has not."""
        if number not in self._released:
            try:
                found = self._remote._call("GET", f"result?number={number}")
            except NotReleased:
                return None
            self._released[number] = read("a result", self._remote._mean_of, found)
        return self._released[number]

    def counts(self, number: int) -> Counts:
        """Return how many places an evaluation has, how many are taken, and how many are left."""
        found = self._remote._stands(number)
        return Counts(int(found.events), int(found.assigned), int(found.remaining), bool(found.abandoned))

    def waiting(self, number: int) -> NDArray[Any]:
        """Return the ids that were handed out, and have no loss: 10,000 at most."""
        return np.array(self._remote._stands(number).ids, dtype=str)
