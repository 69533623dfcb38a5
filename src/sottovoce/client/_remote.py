"""What a remote study and remote evaluations have in common: calls, what may be told, and the end."""

import json
import uuid
import weakref
from typing import Any, ClassVar, Self
from urllib.parse import quote

from sottovoce._checks import choice
from sottovoce._losses import losses_or_reports
from sottovoce.client._item_losses import ItemsShown, are_by_item
from sottovoce.client._service import Service
from sottovoce.client._telling import Accepts, Teller, Told
from sottovoce.client._wire import Tell, checked_ids, checked_losses, checked_reports
from sottovoce.client.retries import Retries
from sottovoce.client.tell_queue import Destination, TellQueue


class Remote:
    """Something that a service holds, and can be called from any thread.

    Parameters
    ----------
    service, name
        The connection, and the name of what it holds.
    retries, queue
        As for `connect`.
    accepts
        What the service may be told: `privacy` and `raw_losses` of `connect`.
    """

    _kind: ClassVar[str]

    def __init__(
        self, service: Service, name: str, *, retries: Retries, accepts: Accepts, queue: TellQueue | None = None
    ) -> None:
        self.name = name
        self._service, self._retries, self._items = service, retries, ItemsShown()
        self._where = f"{service.base}/{self._kind}/{quote(name, safe='')}"
        self._to = Destination(service.base, name)
        self._teller = Teller(service, self._where, self._to, queue, accepts, retries)
        weakref.finalize(self, service.close)  # it need not be closed

    def _call(self, method: str, call: str, body: Any = None, **headers: str) -> dict[str, Any]:
        sent = None if body is None else json.dumps(body).encode()
        where = f"{self._where}/{call}"
        found: dict[str, Any] = self._service.call(method, where, sent, retries=self._retries, headers=headers)
        return found

    def _once(self, call: str, body: Any) -> dict[str, Any]:
        """Call for what must happen once: all repetitions have the same key, and get the same answer."""
        return self._call("POST", call, body, **{"Idempotency-Key": str(uuid.uuid4())})

    def erase_people(self) -> int:
        """Erase all that is kept of people who were counted; return how many. Nobody is asked any more after it.

        It takes a key with the role admin.
        """
        return int(self._call("POST", "erase-people")["erased"])

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> Told:
        """Report the loss of an action, or of a block of them: durable when it returns, at the service or in the queue.

        A loss that is on record already counts once, and is no error: see `Told`.

        Parameters
        ----------
        ids
            What `ask`, or `assign`, returned: one id, or an array of them.
        losses
            A number for each id, if the connection was made with `raw_losses=True`. Under `LocalDP` losses are refused
            before anything is sent. With feedback by item: as for `Study.tell`; by name where the action was asked for
            with this object, otherwise in order. What is sent is as long whatever was clicked.
        report
            In place of losses under `LocalDP`: what `sv.local.privatise(loss, remote.channel)` returned for each id.
            Privatise a loss once, and repeat the call with the same report: a second one would spend its budget again.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        choice("late", late, ("error", "drop"))
        named, brought = checked_ids(ids), self._losses_told(losses, report)
        return self._tell(named, [brought] if isinstance(ids, str) else brought, late)

    def _losses_told(self, losses: Any, report: Any) -> Any:
        """Return what a call has brought, losses or reports; no raw loss goes where reports are wanted."""
        return losses_or_reports(losses, report, local=self._teller.channel() is not None, owner="remote")

    def _tell(self, ids: tuple[str, ...], values: Any, late: str) -> Told:
        return self._deliver(Tell(*self._checked(ids, values), late)) if ids else Told()

    def _checked(self, ids: tuple[str, ...], values: Any) -> tuple[str, tuple[str, ...], tuple[Any, ...]]:
        channel = self._teller.channel()
        if channel is not None:
            return "report", ids, checked_reports(values, ids, channel)
        self._teller.refuse_raw()
        if are_by_item(values):
            return "loss", ids, self._items.in_order(ids, values)
        return "loss", ids, checked_losses(values, ids)

    def _deliver(self, tell: Tell) -> Told:
        return self._teller.send(tell, self._retries)

    def forget(self, ids: Any) -> int:
        """Close what was handed out, and whose loss will never come; return how many were closed.

        Parameters
        ----------
        ids
            What `ask`, or `assign`, returned: one id, or an array of them.
        """
        named = checked_ids(ids)
        return int(self._call("POST", "forget", {"ids": named})["closed"]) if named else 0

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Close the connection."""
        self._service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self._service.base!r})"

    def __reduce__(self) -> Any:
        raise TypeError("what a service holds cannot be copied or pickled: connect again where it is needed")
