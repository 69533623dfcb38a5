"""What a remote study and remote evaluations have in common: calls, what may be told, and the end.

No raw loss is sent before it is known whether reports are wanted, which their owners have privatised, and none ever to
a study with local privacy. The service may be among those whom losses are to be kept from, and could lie: so what is
sent is for the caller to say, raw losses as well as how much a report may spend, and never for the service.

Tests: tests/client/test_local_privacy.py.
"""

import json
import uuid
import weakref
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.parse import quote

from sottovoce._checks import choice
from sottovoce._losses import losses_or_reports
from sottovoce.client._answers import read
from sottovoce.client._item_losses import ItemsShown, are_by_item
from sottovoce.client._service import Service
from sottovoce.client._wire import checked_ids, checked_losses, checked_reports, tell_body
from sottovoce.errors import ConfigurationMismatch, ServiceError, WrongReport
from sottovoce.privacy import LocalDP
from sottovoce.privacy.local import OneBitChannel
from sottovoce.rounds.book import Recorded

NO_CHANNEL = "no-channel"
"""The kind of problem that says so: other refusals must never be taken for it, or raw losses would be sent."""


@dataclass(frozen=True)
class Accepts:
    """What the caller lets a service have.

    Parameters
    ----------
    privacy
        What a report may spend; None if that was not said.
    raw_losses
        Whether losses may be sent as they are.
    """

    privacy: LocalDP | None = None
    raw_losses: bool = False

    def __post_init__(self) -> None:
        if self.privacy is not None and not isinstance(self.privacy, LocalDP):
            raise TypeError(
                f"privacy must be LocalDP: other guarantees are the service's to keep, got {self.privacy!r}"
            )
        if not isinstance(self.raw_losses, bool):
            raise TypeError(f"raw_losses must be True or False, got {self.raw_losses!r}")
        if self.raw_losses and self.privacy is not None:
            raise ValueError("privacy= and raw_losses= contradict each other: under LocalDP no raw loss is sent")

    def check(self, channel: OneBitChannel | None) -> None:
        """Refuse a channel that spends more than was agreed on, or none at all where one was."""
        wanted = self.privacy
        if wanted is None:
            return
        if channel is None:
            raise ConfigurationMismatch(f"privacy is {wanted}, and the study wants raw losses; none was sent")
        if channel.epsilon > wanted.per_report:
            raise ConfigurationMismatch(
                f"privacy is {wanted}, which leaves {wanted.per_report:g} for a report, and the study's channel spends "
                f"{channel.epsilon:g}; nothing was reported"
            )


class Remote:
    """Something that a service holds, and can be called from any thread.

    Parameters
    ----------
    service, name
        The connection, and the name of what it holds.
    accepts
        What the service may be told: `privacy` and `raw_losses` of `connect`.
    """

    _kind: ClassVar[str]

    def __init__(self, service: Service, name: str, accepts: Accepts) -> None:
        self.name = name
        self._service, self._accepts, self._items = service, accepts, ItemsShown()
        self._known: tuple[OneBitChannel | None] | None = None  # what is wanted, once that was asked
        weakref.finalize(self, service.close)  # it need not be closed

    def _call(self, method: str, call: str, body: bytes | None = None, **headers: str) -> dict[str, Any]:
        return self._service.call(method, f"{self._kind}/{quote(self.name, safe='')}/{call}", body, headers)

    def _post(self, call: str, plain: Any, **headers: str) -> dict[str, Any]:
        return self._call("POST", call, json.dumps(plain).encode(), **headers)

    def _once(self, call: str, plain: Any) -> dict[str, Any]:
        """Call for what must happen once: all repetitions have the same key, and get the same answer."""
        return self._post(call, plain, **{"Idempotency-Key": str(uuid.uuid4())})

    def erase_people(self) -> int:
        """Erase all that is kept of people who were counted; return how many. Nobody is asked any more after it.

        It takes a key with the role admin.
        """
        return int(self._call("POST", "erase-people")["erased"])

    # ------------------------------------------------------------------ telling

    def _wanted(self) -> OneBitChannel | None:
        """Return what owners privatise their losses with; None if the study wants the losses themselves."""
        if self._known is None:
            try:
                plain: Any = self._call("GET", "channel")
            except ServiceError as problem:
                if problem.kind != NO_CHANNEL:
                    raise
                plain = None
            channel = None if plain is None else read("a channel", OneBitChannel.from_dict, plain)
            self._accepts.check(channel)
            self._known = (channel,)
        return self._known[0]

    def _agreed(self) -> OneBitChannel | None:
        """Return what to privatise with, to a caller who has said what a report may spend."""
        channel = self._wanted()
        if channel is not None and self._accepts == Accepts():
            raise WrongReport(
                "what a report may spend is for the owner of the loss to say, not for the service: pass "
                "connect(..., privacy=sv.LocalDP(1.0))"
            )
        return channel

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> Recorded:
        """Report the loss of an action, or of a block of them: durable when it returns.

        A loss that is on record already counts once, and is no error: see `Recorded`. While the service is away the
        call is repeated, and in the end it raises `ServiceAway`: then repeat it.

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
        return losses_or_reports(losses, report, local=self._wanted() is not None, owner="remote")

    def _tell(self, ids: tuple[str, ...], values: Any, late: str) -> Recorded:
        if not ids:
            return Recorded(0, 0, 0)
        answer = self._call("POST", "tell", tell_body(*self._checked(ids, values), late))
        counts = [answer.get(name, 0) for name in ("recorded", "already", "dropped")]
        if not all(type(count) is int and count >= 0 for count in counts) or sum(counts) != len(ids):
            raise ServiceError(f"{self._service.base} has acknowledged another number of losses than were sent")
        return Recorded(*counts)

    def _checked(self, ids: tuple[str, ...], values: Any) -> tuple[str, tuple[str, ...], tuple[Any, ...]]:
        """Return the kind of what is told, ids and values, as they are sent."""
        channel = self._wanted()
        if channel is not None:
            return "report", ids, checked_reports(values, ids, channel)
        if not self._accepts.raw_losses:
            raise ConfigurationMismatch(
                "the service wants the loss itself, and would see it; it was not sent. If it may: "
                "connect(..., raw_losses=True). Under local privacy it must not ask for that"
            )
        if are_by_item(values):
            return "loss", ids, self._items.in_order(ids, values)
        return "loss", ids, checked_losses(values, ids)

    def forget(self, ids: Any) -> int:
        """Close what was handed out, and whose loss will never come; return how many were closed.

        Parameters
        ----------
        ids
            What `ask`, or `assign`, returned: one id, or an array of them.
        """
        named = checked_ids(ids)
        return int(self._post("forget", {"ids": named})["closed"]) if named else 0

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
