"""A study behind a service: `ask` and `tell` over HTTP."""

import json
import uuid
import weakref
from typing import Any, Self, overload
from urllib.parse import quote

from sottovoce._checks import choice, number, whole
from sottovoce._losses import raw_loss_refused
from sottovoce.client._answers import Facts, action_of, actions_of, outstanding_of, recommendation_of
from sottovoce.client._courier import Courier, Told, send
from sottovoce.client._reports import KeptReports
from sottovoce.client._service import Service
from sottovoce.client._wants import SAY_WHAT, Accepts, Wants
from sottovoce.client._wire import Tell, checked_ids, checked_losses, checked_reports
from sottovoce.client.retries import Retries
from sottovoce.client.tell_queue import Destination, TellQueue
from sottovoce.errors import WrongReport
from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.outstanding import Outstanding
from sottovoce.learning.bandit.recommendation import Recommendation
from sottovoce.learning.segmented.requests import plain_request, words_of
from sottovoce.privacy import LocalDP
from sottovoce.privacy.local import Channel

__all__ = ["RemoteStudy"]

_PATIENCE = 2.0  # seconds that a call in flight in the background is given when the connection is closed


class RemoteStudy:
    """A study that a service holds: made by `sottovoce.connect`, and used like a `Study`, from any thread.

    Every call is repeated while the service is away; an ask that is repeated gets the same action, and a loss that is
    told twice counts once.

    Parameters
    ----------
    service
        The connection.
    name
        Of the study.
    retries, queue
        As for `connect`.
    accepts
        What the service may be told: `privacy` and `raw_losses` of `connect`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> with sv.connect("https://decide.example", study="spring", key="sv_example") as remote:
    ...     print(remote.name)
    spring
    """

    def __init__(
        self, service: Service, name: str, *, retries: Retries, queue: TellQueue | None, accepts: Accepts
    ) -> None:
        self.name = name
        self._service, self._retries = service, retries
        self._to = Destination(service.address.base, name)
        self._wants = Wants(service, self._to, queue, accepts, retries)
        self._courier = None if queue is None else Courier(service, self._to, self._wants, queue, retries)
        self._reports = KeptReports(queue, self._to)
        weakref.finalize(self, service.close)  # a remote study need not be closed
        if self._courier is not None:
            weakref.finalize(self, self._courier.stop)
            self._courier.wake()  # what an earlier process has left

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, size: None = None, *, x: str = "dense", segment: Any = None) -> Action: ...

    @overload
    def ask(self, size: int, *, x: str = "dense", segment: Any = None) -> Actions: ...

    def ask(self, size: int | None = None, *, x: str = "dense", segment: Any = None) -> Action | Actions:
        """Return the next action, or a block of `size` of them, once that is on record.

        Names of several parts, such as edges, come as lists.

        Parameters
        ----------
        size
            How many actions; None for a single `Action`.
        x
            How their numbers travel: "dense", all of them, or "sparse", those that are not 0: for few of many.
        segment
            Whom it is for, of a study with segments; a list for a block with one for each action.
        """
        layout, whom = choice("x", x, ("dense", "sparse")), plain_request(segment)
        if "segments" in whom and size is None:
            size = len(whom["segments"])
        body = json.dumps({"size": None if size is None else whole("size", size), "x": layout, **whom}).encode()
        once = {"Idempotency-Key": str(uuid.uuid4())}  # the same one over all repetitions: they get the same actions
        answer = self._call("POST", "ask", body, once)
        return action_of(answer) if size is None else actions_of(answer, int(size))

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> Told:
        """Report the loss of an action, or of a block of them: durable when it returns, at the service or in the queue.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        losses
            A number for each id, if the connection was made with `raw_losses=True`. Under `LocalDP` losses are refused
            before anything is sent.
        report
            In place of losses under `LocalDP`: what `sv.local.privatise(loss, remote.channel)` returned for each id.
            Privatise a loss once, and repeat the call with the same report; `tell_privately` sees to that.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        choice("late", late, ("error", "drop"))
        named = checked_ids(ids)
        channel = self._wants.channel()
        if channel is None:
            if report is not None:
                raise WrongReport("report= is for LocalDP; this study wants the loss itself")
            self._wants.refuse_raw()
            return self._told(Tell("loss", named, checked_losses(losses, named), late))
        if losses is not None or report is None:
            raise raw_loss_refused("remote")
        return self._told(Tell("report", named, checked_reports(report, named, channel), late))

    def tell_privately(self, ids: Any, losses: Any, *, privacy: LocalDP | None = None, late: str = "error") -> Told:
        """Privatise losses here, under `LocalDP`, and send the reports; the losses themselves go no further.

        A loss is privatised once: when a call is repeated, because its answer never came, it sends the reports that
        were sent before, whatever losses are passed. Two reports of one loss would cost its owner twice the budget. The
        last 100,000 are remembered: with a `queue` in its file, otherwise by this object alone.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        losses
            A number for each id.
        privacy
            `LocalDP(epsilon)`: the most that the owner of a loss agrees to; nothing is sent to a study whose reports
            spend more. May be left out only where `connect` was given it.
        late
            As for `tell`.
        """
        choice("late", late, ("error", "drop"))
        if privacy is None and not self._wants.pinned:
            raise WrongReport(SAY_WHAT)
        named = checked_ids(ids)
        reports = self._reports.of(named, checked_losses(losses, named), self._channel(privacy))
        return self._told(Tell("report", named, reports, late))

    def _told(self, tell: Tell) -> Told:
        if not len(tell):
            return Told()
        if self._courier is not None:
            return self._courier.tell(tell)
        return send(self._service, self._to, tell, self._retries)

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come, as for `Study.forget`; return how many were closed.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        """
        answer = self._call("POST", "forget", json.dumps({"ids": checked_ids(ids)}).encode())
        return int(answer.closed)

    def flush(self, seconds: float = 60.0) -> None:
        """Deliver what waits in the queue on disk, if there is one, or raise why that cannot be done.

        Parameters
        ----------
        seconds
            How long to wait for another process that is at it.
        """
        if self._courier is not None:
            self._courier.flush(number("seconds", seconds, above=-1.0))

    @property
    def queue(self) -> TellQueue | None:
        """The queue on disk; None if there is none."""
        return None if self._courier is None else self._courier.queue

    # ------------------------------------------------------------------ looking

    @property
    def channel(self) -> Channel:
        """Under `LocalDP`: what owners privatise their losses with, once they have said what it may spend."""
        return self._channel()

    def _channel(self, privacy: LocalDP | None = None) -> Channel:
        found = self._wants.agreed(privacy)
        if found is None:
            raise AttributeError("there is a channel under LocalDP only; this study wants the losses themselves")
        return found

    def recommend(self, *, segment: Any = None) -> Recommendation:
        """Return the decision to take home, as `Study.recommend` does.

        Parameters
        ----------
        segment
            For whom, of a study with segments; None for one decision for all, with that of each beside it.
        """
        whose = "" if segment is None else f"?segment={quote(words_of(segment), safe='')}"
        return recommendation_of(self._call("GET", f"recommend{whose}"))

    def status(self) -> Facts:
        """Return where the study stands: counts and released values, by the names of `Status`."""
        return self._call("GET", "status")

    def outstanding(self, limit: int = 100) -> Outstanding:
        """Return what is asked and neither told nor forgotten, by any process, the oldest first.

        Parameters
        ----------
        limit
            How many at most.
        """
        return outstanding_of(self._call("GET", f"outstanding?limit={whole('limit', limit, least=0)}"))

    def _call(self, method: str, call: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Facts:
        url = self._service.address.of_study(self.name, call)
        return Facts(self._service.call(method, url, body, retries=self._retries, headers=headers))

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Close the connection; what waits in the queue stays there, for the next one who connects."""
        if self._courier is not None:
            self._courier.stop()
            self._courier.join(_PATIENCE)
        self._service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r} at {self._service.address.base!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a remote study cannot be copied or pickled: connect again where it is needed")
