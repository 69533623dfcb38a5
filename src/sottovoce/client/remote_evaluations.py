"""Evaluations behind a service: the same calls as `PrivateEvaluations`, over HTTP."""

import json
import uuid
import weakref
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import choice, whole
from sottovoce.client._answers import Facts
from sottovoce.client._courier import Told, send_to
from sottovoce.client._service import Service
from sottovoce.client._wants import Accepts, Wants
from sottovoce.client._wire import Tell, checked_ids, checked_losses, checked_reports
from sottovoce.client.retries import Retries
from sottovoce.client.tell_queue import Destination
from sottovoce.errors import NotReleased, ServiceError, WrongReport
from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.evaluations.private_evaluations import Assignment
from sottovoce.evaluations.released_mean import ReleasedMean, Scale
from sottovoce.privacy.local import Channel

__all__ = ["RemoteEvaluations"]


class RemoteEvaluations:
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

    def __init__(self, service: Service, name: str, *, retries: Retries, accepts: Accepts) -> None:
        self.name = name
        self._books = _RemoteBooks(service, name, retries, accepts)
        self._service = service
        weakref.finalize(self, service.close)  # it need not be closed

    def open(self, events: int) -> Evaluation:
        """Begin an evaluation: so many people will meet one set of parameters.

        Parameters
        ----------
        events
            How many people, or events; public, and fixed from here on.
        """
        made = self._books.once("open", {"events": whole("events", events)})
        return self._books.handle(made.number, made.events)

    @overload
    def assign(self, size: None = None) -> Assignment: ...

    @overload
    def assign(self, size: int) -> list[Assignment]: ...

    def assign(self, size: int | None = None) -> Assignment | list[Assignment]:
        """Assign the next person, or `size` of them, to evaluations that have places left, by public coins.

        Parameters
        ----------
        size
            How many people, all of them or none; None for one, whose assignment is returned by itself.
        """
        if size is None:
            one = self._books.once("assign", {})
            return Assignment(self._books.handle(one.number), one.id)
        found = self._books.once("assign", {"size": whole("size", size)}).assigned
        return [Assignment(self._books.handle(one["number"]), one["id"]) for one in found]

    def evaluation(self, number: int) -> Evaluation:
        """Return an evaluation by its number, whoever has opened it.

        Parameters
        ----------
        number
            What `Evaluation.number` says.
        """
        known = self._books.stands(whole("number", number, least=0))
        return self._books.handle(known.number, known.events)

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> Told:
        """Report losses by their ids, whichever evaluations these are of; durable when it returns.

        Parameters
        ----------
        ids
            What `assign` returned, one or an array of them.
        losses
            A number for each id, if the connection was made with `raw_losses=True`. Under `LocalDP` losses are refused
            before anything is sent.
        report
            In place of losses under `LocalDP`.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        choice("late", late, ("error", "drop"))
        return self._books.send(checked_ids(ids), self._books.told(losses, report), late)

    def forget(self, ids: Any) -> int:
        """Close places whose loss will never come, whichever evaluations these are of; return how many were closed.

        Parameters
        ----------
        ids
            What `assign` returned, one or an array of them.
        """
        return self._books.forget(None, ids)

    @property
    def open_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that are not closed, in the order in which they were opened."""
        return tuple(self._books.handle(one["number"], one["events"]) for one in self.status().open)

    @property
    def results(self) -> tuple[ReleasedMean, ...]:
        """All that was released so far, in the order in which it was."""
        return tuple(map(self._books.mean_of, self._books.call("GET", "results").results))

    @property
    def channel(self) -> Channel | None:
        """Under `LocalDP`: what owners privatise with, once they have said what it may spend; None otherwise."""
        return self._books.wants.agreed()

    @property
    def loss_range(self) -> tuple[float, float]:
        """(low, high): what losses are clipped to."""
        return self._books.scale.loss_range

    def status(self) -> Facts:
        """Return where the evaluations stand: what they were created with, the statement, which are open."""
        return self._books.call("GET", "status")

    def close(self) -> None:
        """Close the connection."""
        self._service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteEvaluations({self.name!r} at {self._service.address.base!r})"

    def __reduce__(self) -> Any:
        raise TypeError("remote evaluations cannot be copied or pickled: connect again where they are needed")


class _RemotePlaces:
    """The places of one evaluation, as the service has them now."""

    def __init__(self, books: "_RemoteBooks", number: int, size: int | None) -> None:
        self.number = number
        self._books, self._size = books, size
        self.handle: Any = Evaluation(books, self)

    @property
    def size(self) -> int:
        """How many places there are."""
        if self._size is None:
            self._size = int(self._books.stands(self.number).events)
        return self._size

    @property
    def assigned(self) -> int:
        """How many of them are taken."""
        return int(self._books.stands(self.number).assigned)

    @property
    def room(self) -> int:
        """How many are left to take."""
        return int(self._books.stands(self.number).remaining)

    @property
    def abandoned(self) -> bool:
        """Whether nothing of it will ever be released."""
        return bool(self._books.stands(self.number).abandoned)


class _RemoteBooks:
    """What `Evaluation` needs of whoever keeps it: a service."""

    def __init__(self, service: Service, name: str, retries: Retries, accepts: Accepts) -> None:
        self._service, self._name, self._retries = service, name, retries
        to = Destination(service.address.base, name)
        self.wants = Wants(service, to, None, accepts, retries, service.address.of_evaluations(name, "channel"))
        self._handles: dict[int, _RemotePlaces] = {}
        self._scale: Scale | None = None
        self._released: dict[int, ReleasedMean] = {}

    def call(self, method: str, call: str, body: dict[str, Any] | None = None, **headers: str) -> Facts:
        """Call the service; return what it answers."""
        url = self._service.address.of_evaluations(self._name, call)
        sent = None if body is None else json.dumps(body).encode()
        return Facts(self._service.call(method, url, sent, retries=self._retries, headers=headers))

    def once(self, call: str, body: dict[str, Any]) -> Facts:
        """Call the service for what must happen once, however often it has to be called."""
        return self.call("POST", call, body, **{"Idempotency-Key": str(uuid.uuid4())})

    def stands(self, number: int) -> Facts:
        """Return where an evaluation stands."""
        return self.call("GET", f"evaluation?number={number}")

    def handle(self, number: int, size: int | None = None) -> Evaluation:
        """Return an evaluation: always the same object."""
        places = self._handles.setdefault(int(number), _RemotePlaces(self, int(number), size))
        found: Evaluation = places.handle
        return found

    # ------------------------------------------------------------------ what an evaluation calls

    @property
    def setting(self) -> "_RemoteBooks":
        """What says what a call of tell has brought: this."""
        return self

    @property
    def assigned(self) -> int:
        """Ids that were handed out, of evaluations that are open."""
        return sum(int(one["assigned"]) for one in self.call("GET", "status").open)

    @property
    def still_open(self) -> list[Any]:
        """The places of the evaluations that are open."""
        opened = self.call("GET", "status").open
        return [self._handles[self.handle(one["number"], one["events"]).number] for one in opened]

    def told(self, losses: Any, report: Any) -> Any:
        """Return what a call has brought, losses or reports; no raw loss goes where reports are wanted."""
        if self.wants.channel() is None:
            if report is not None:
                raise WrongReport("report= is for LocalDP; these evaluations want the loss itself")
            return losses
        if losses is not None or report is None:
            raise WrongReport(
                "under LocalDP a raw loss is refused: privatise it where it is born, and "
                "tell(report=sv.local.privatise(loss, evaluations.channel))"
            )
        return report

    def assign(self) -> tuple[Any, str]:
        """Hand out the next id, for the evaluation whose turn it is."""
        one = self.once("assign", {})
        return self._handles[self.handle(one.number).number], one.id

    def assign_to(self, one: Any, size: int) -> list[str]:
        """Hand out the next ids, all for one evaluation."""
        return [person["id"] for person in self.once("assign", {"number": one.number, "size": size}).assigned]

    def tell(self, one: Any, ids: Any, losses: NDArray[Any], late: str) -> None:
        """Send losses, for ids or for the next places, which are taken first."""
        if ids is None:
            values = losses.ravel()
            self._checked(values, [""] * len(values))  # before anybody is assigned
            if len(values):
                self.send(tuple(self.assign_to(one, len(values))), values, late)
            return
        self.send(checked_ids(ids), losses, late)

    def send(self, ids: tuple[str, ...], values: Any, late: str) -> Told:
        """Send losses, or reports, by their ids."""
        kind, checked = self._checked(values, ids)
        if not len(ids):
            return Told()
        where = self._service.address.of_evaluations(self._name, "tell")
        return send_to(self._service, where, Tell(kind, ids, checked, late), self._retries)

    def _checked(self, values: Any, ids: Any) -> tuple[str, tuple[float, ...]]:
        channel = self.wants.channel()
        if channel is None:
            self.wants.refuse_raw()
            return "loss", checked_losses(values, ids)
        return "report", checked_reports(values, ids, channel)

    def forget(self, one: Any, ids: Any) -> int:
        """Close places without their losses; return how many."""
        named = checked_ids(ids)
        return int(self.call("POST", "forget", {"ids": list(named)}).closed) if named else 0

    def close(self, one: Any) -> None:
        """Close an evaluation with what it has."""
        self.call("POST", "close", {"number": one.number})

    def abandon(self, one: Any) -> None:
        """Drop an evaluation: nothing of it is ever released."""
        self.call("POST", "abandon", {"number": one.number})

    def result(self, one: Any) -> ReleasedMean | None:
        """Return what an evaluation has released; None if it has not."""
        if one.number not in self._released:
            try:
                self._released[one.number] = self.mean_of(self.call("GET", f"result?number={one.number}"))
            except NotReleased:
                return None
        return self._released[one.number]

    def results(self) -> tuple[ReleasedMean, ...]:
        """Return what was released, in the order in which it was."""
        return tuple(map(self.mean_of, self.call("GET", "results").results))

    def waiting(self, one: Any) -> NDArray[Any]:
        """Return the ids of an evaluation that were handed out, and have no loss: 10,000 at most."""
        return np.array(self.stands(one.number).ids, dtype=str)

    # ------------------------------------------------------------------ what was released

    @property
    def scale(self) -> Scale:
        """What released integers are worth."""
        if self._scale is None:
            self._scale = _read_scale(self.call("GET", "status").scale)
        return self._scale

    def mean_of(self, plain: Any) -> ReleasedMean:
        """Return what an answer says was released."""
        number, events, total = (plain.get(name) for name in ("number", "events", "total"))
        if not all(type(one) is int for one in (number, events, total)):
            raise ServiceError("the service's answer is not a result: is it a sottovoce service of this version?")
        return ReleasedMean(number, events, total, self.scale)


def _read_scale(plain: Any) -> Scale:
    try:
        return Scale.from_dict(plain)
    except (TypeError, ValueError, KeyError):
        pass
    raise ServiceError("the service's answer is not a scale: is it a sottovoce service of this version?")
