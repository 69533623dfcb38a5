"""A study behind a service: `ask` and `tell` over HTTP."""

import json
import os
import uuid
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast, overload
from urllib.parse import quote

from sottovoce._arrays import Floats
from sottovoce._checks import choice, number, whole
from sottovoce._closing import Closing
from sottovoce._disk import write_atomically
from sottovoce._losses import losses_or_reports
from sottovoce.client import _answers
from sottovoce.client._accepts import Accepts
from sottovoce.client._answers import read
from sottovoce.client._item_losses import ItemsShown, are_by_item
from sottovoce.client._service import Service
from sottovoce.client._types import Definition
from sottovoce.client._wire import checked_ids, checked_losses, checked_reports, tell_body
from sottovoce.client.retries import Retries
from sottovoce.domains import Domain
from sottovoce.domains.specification import build
from sottovoce.errors import ConfigurationMismatch, ServiceError, WrongReport
from sottovoce.learning.actions import Action, Actions
from sottovoce.learning.outstanding import Outstanding
from sottovoce.learning.recommendation import Recommendation
from sottovoce.learning.segment_requests import plain_request, words_of
from sottovoce.learning.set_changes import SetChange
from sottovoce.learning.status import Status
from sottovoce.learning.stopping import MayStop
from sottovoce.models import FitCheck, Posterior, Segment, Segments
from sottovoce.plans.forecast import Forecast
from sottovoce.plans.options import NOT_PASSED, passed
from sottovoce.plans.plan import Plan
from sottovoce.privacy import LocalDP, PrivacyStatement
from sottovoce.privacy.local import OneBitChannel
from sottovoce.rounds.book import Recorded
from sottovoce.rounds.people import people_of, plain_people

Found = TypeVar("Found")
NO_CHANNEL = "no-channel"
"""The kind of problem that says so: other refusals must never be taken for it, or raw losses would be sent."""
_MOST = 10_000  # ids that a service lists at once


def _of_status(name: str, words: str) -> Any:
    """Return a property that is a part of the status."""
    return property(lambda remote: getattr(remote.status(), name), doc=words)


class RemoteStudy(Closing, MayStop):
    """A study that a service holds: made by `sottovoce.connect`, and used like a `Study`, from any thread.

    Every call is repeated while the service is away; an ask that is repeated gets the same action, and a loss that is
    told twice counts once. Names of several parts, such as edges, come as lists in `chosen`.

    Parameters
    ----------
    service
        The connection.
    name
        Of the study.
    accepts
        What the service may be told: `privacy` and `raw_losses` of `connect`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> with sv.connect("https://decide.example", study="spring", key="sv_example") as remote:
    ...     print(remote.name)
    spring
    """

    repeat = "ignore"
    """What a second loss for one action does: nothing, since calls are repeated that were not answered."""

    def __init__(self, service: Service, name: str, accepts: Accepts) -> None:
        self.name = name
        self._service, self._accepts, self._items = service, accepts, ItemsShown()
        self._known: tuple[OneBitChannel | None] | None = None  # what is wanted, once that was asked
        weakref.finalize(self, service.close)  # it need not be closed

    def _call(self, method: str, call: str, body: bytes | None = None, **headers: str) -> dict[str, Any]:
        return self._service.call(method, f"studies/{quote(self.name, safe='')}/{call}", body, headers)

    def _post(self, call: str, plain: Any, **headers: str) -> dict[str, Any]:
        return self._call("POST", call, json.dumps(plain).encode(), **headers)

    def _once(self, call: str, plain: Any) -> dict[str, Any]:
        """Call for what must happen once: all repetitions have the same key, and get the same answer."""
        return self._post(call, plain, **{"Idempotency-Key": str(uuid.uuid4())})

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, size: None = None, *, segment: Any = None, person: str | None = None) -> Action: ...

    @overload
    def ask(self, size: int, *, segment: Any = None, person: Sequence[str] | None = None) -> Actions: ...

    def ask(
        self, size: int | None = None, *, segment: Any = None, person: str | Sequence[str] | None = None
    ) -> Action | Actions:
        """Return the next action, or a block of `size` of them, once that is on record.

        Parameters
        ----------
        size, segment
            As for `PrivateBandit.ask`.
        person
            Who it is, by any string that is theirs alone, so that the service counts their losses; for a block, a list
            with one for each event.
        """
        given, whom = None if size is None else whole("size", size), plain_request(segment) | plain_people(person)
        many = whom.get("segments") or whom.get("people")
        count = len(many) if given is None and many is not None else given
        answer = self._asked({"size": given, **whom})
        if count is None:
            return read("an action", _answers.action, answer)
        return read(f"{count} actions", lambda plain: _answers.actions(plain, count), answer)

    def ask_round(
        self, most: int | None = None, *, segment: Any = None, person: Sequence[str] | None = None
    ) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it.

        A service hands out so many at once at most (`--largest-block`): of a longer round, call again.

        Parameters
        ----------
        most
            How many actions at most; None for all that are left of the round.
        segment
            Whose round, of a study with segments; or a list with one for each event that comes. Then actions are for
            the first of these, until one is the last of its segment's round.
        person
            Where people are counted: a list with one for each event that comes.
        """
        limit = None if most is None else whole("most", most)
        whom = plain_request(segment) | plain_people(people_of(person))
        return read("actions", _answers.actions, self._asked({"round": True, "size": limit, **whom}))

    def _asked(self, wish: dict[str, Any]) -> Any:
        answer = self._once("ask", {**wish, "x": "sparse"})  # numbers that are not 0: few of many
        read("actions", lambda plain: self._items.remember(plain.get("actions", [plain])), answer)
        return answer

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

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> Recorded:
        """Report the loss of an action, or of a block of them: durable when it returns.

        A loss that is on record already counts once, and is no error: see `Recorded`. While the service is away the
        call is repeated, and in the end it raises `ServiceAway`: then repeat it.

        Parameters
        ----------
        ids
            What `ask` returned: one id, or an array of them.
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
        named = checked_ids(ids)
        brought = losses_or_reports(losses, report, local=self._wanted() is not None, owner="remote")
        if not named:
            return Recorded(0, 0, 0)
        kind, values = self._checked(named, [brought] if isinstance(ids, str) else brought)
        answer = self._call("POST", "tell", tell_body(kind, named, values, late))
        counts = [answer.get(name, 0) for name in ("recorded", "already", "dropped")]
        if not all(type(count) is int and count >= 0 for count in counts) or sum(counts) != len(named):
            raise ServiceError(f"{self._service.base} has acknowledged another number of losses than were sent")
        return Recorded(*counts)

    def _checked(self, ids: tuple[str, ...], values: Any) -> tuple[str, tuple[Any, ...]]:
        """Return what is told as it is sent, and its kind; no raw loss goes where none was agreed on."""
        channel = self._wanted()
        if channel is not None:
            return "report", checked_reports(values, ids, channel)
        if not self._accepts.raw_losses:
            raise ConfigurationMismatch(
                "the service wants the loss itself, and would see it; it was not sent. If it may: "
                "connect(..., raw_losses=True). Under local privacy it must not ask for that"
            )
        if are_by_item(values):
            return "loss", self._items.in_order(ids, values)
        return "loss", checked_losses(values, ids)

    def forget(self, ids: Any) -> int:
        """Close what was handed out, and whose loss will never come; return how many were closed.

        Parameters
        ----------
        ids
            What `ask` returned: one id, or an array of them.
        """
        named = checked_ids(ids)
        return int(self._post("forget", {"ids": named})["closed"]) if named else 0

    # ------------------------------------------------------------------ changing

    def change(
        self,
        *,
        domain: Domain | None = None,
        features: Any = None,
        patience: int | str | None = NOT_PASSED,
        deadline: float | None = NOT_PASSED,
    ) -> None:
        """Change the set of decisions, from the next round on, or how long rounds wait: as for `Study.change`.

        It takes a key that may administer.

        Parameters
        ----------
        domain, features, patience, deadline
            As there.
        """
        body = passed({"patience": patience, "deadline": deadline})
        if domain is not None:
            body |= SetChange(domain, features).to_record()
        self._post("change", body)

    # ------------------------------------------------------------------ looking

    def _look(self, call: str, what: str, reader: Callable[[Any], Found], segment: Any = None) -> Found:
        whose = "" if segment is None else f"?segment={quote(words_of(segment), safe='')}"
        return read(what, reader, self._call("GET", call + whose))

    def recommend(self, *, segment: Any = None) -> Recommendation:
        """Return the decision to take home, now or after the last event, with how sure that is and what it rests on.

        Parameters
        ----------
        segment
            For whom, of a study with segments; None for one decision for all, with that of each beside it.
        """
        return self._look("recommend", "a recommendation", _answers.recommendation, segment)

    def forecast(self, *, rehearse: float = 1.0) -> Forecast:
        """Return what to expect of the whole run, rehearsed in worlds like the one that released numbers show.

        The service plays them: that takes a few seconds.

        Parameters
        ----------
        rehearse
            What the work that it may take is multiplied by, at most 1.
        """
        times = number("rehearse", rehearse, above=0.0, at_most=1.0)
        return self._look(f"forecast?rehearse={times!r}", "a forecast", Forecast.from_dict)

    def posterior(self, *, segment: Any = None) -> Posterior:
        """Return what is believed about losses: to look at, to `save`, and to begin another run with (`prior=`).

        Parameters
        ----------
        segment
            Of whom, of a study with segments.
        """
        return self._look("posterior", "a posterior", _answers.posterior, segment)

    def fit_check(self, *, segment: Any = None) -> FitCheck | None:
        """Return how well what was released fits the model of the losses; None if the plan has none.

        Parameters
        ----------
        segment
            Of whom, of a study with segments; None for the one that it fits least.
        """
        return self._look("fit-check", "a fit check", _answers.fit_check, segment)

    def status(self) -> Status:
        """Return where the study stands: counts and released values."""
        return self._look("status", "a status", Status.from_dict)

    def export(self) -> dict[str, Any]:
        """Return all released and public values as plain data that JSON can hold."""
        return self._look("export", "an export", lambda plain: {**plain["lines"][0], "rounds": plain["lines"][1:]})

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return what is asked and neither told nor forgotten, by any process, the oldest first.

        Parameters
        ----------
        limit
            How many at most; None for as many as a service lists at once, 10,000.
        """
        most = _MOST if limit is None else whole("limit", limit, least=0)
        return self._look(f"outstanding?limit={most}", "what is outstanding", _answers.outstanding)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write what the study has come to as one HTML page, with its pictures; nothing in it costs privacy.

        Parameters
        ----------
        path
            Of the page.
        """
        return write_atomically(path, self._look("report", "a page", _answers.page))

    @property
    def channel(self) -> OneBitChannel:
        """Under `LocalDP`: what owners privatise their losses with, once they have said what it may spend."""
        found = self._wanted()
        if found is None:
            raise AttributeError("there is a channel under LocalDP only; this study wants the losses themselves")
        if self._accepts == Accepts():
            raise WrongReport(
                "what a report may spend is for the owner of the loss to say, not for the service: pass "
                "connect(..., privacy=sv.LocalDP(1.0))"
            )
        return found

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._look("plan", "a plan", Plan.from_dict)

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        return self._look("privacy", "a statement", PrivacyStatement.from_dict)

    @cached_property
    def _definition(self) -> Definition:
        return cast(Definition, self._call("GET", "definition"))

    @property
    def domain(self) -> Domain:
        """The feasible set, as it is now; one that holds functions of its own is known where it was made only."""
        return read("a set that can be written down", build, self._call("GET", "definition")["domain"])

    @property
    def segments(self) -> Segments | None:
        """Whom decisions are for; None if that makes no difference."""
        found = self._definition["segments"]
        return None if found is None else read("segments", Segments.from_record, found)

    @property
    def horizon(self) -> int | None:
        """How many events there will be; None if unknown."""
        return self._definition["horizon"]

    @property
    def loss_range(self) -> tuple[float, float]:
        """What losses are clipped to."""
        low, high = self._definition["loss_range"]
        return float(low), float(high)

    @property
    def direction(self) -> str:
        """What is sought: "minimize" losses, or "maximize" rewards, which are told in their place."""
        return self._definition["direction"]

    asked = _of_status("asked", "Events that were asked.")
    round = _of_status("round", "Rounds that are closed.")
    remaining = _of_status("remaining", "Events that are left to ask; None if the horizon is unknown.")
    patience = _of_status("patience", "How many later positions a full round waits for its losses; None for ever.")
    deadline = _of_status("deadline", "How many seconds a full round waits for its losses; None for ever.")

    @property
    def sizes(self) -> dict[Segment, int]:
        """Events that were asked, by segment, in the order in which segments were first asked for."""
        return dict(self.status().segments or ())

    @property
    def point(self) -> Floats:
        """The point that actions are taken around at present: a function of released values alone."""
        if self.segments is not None:
            raise ValueError("each segment plays around a point of its own: recommend(segment=...) says what is best")
        return self.status().point

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Close the connection."""
        self._service.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self._service.base!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a study of a service cannot be copied or pickled: connect again where it is needed")


def connect(
    url: str,
    *,
    study: str,
    key: str | None = None,
    privacy: LocalDP | None = None,
    raw_losses: bool = False,
    retries: Retries | None = None,
    timeout: float = 30.0,
    certificates: Any = None,
    insecure: bool = False,
) -> RemoteStudy:
    """Connect to a study that a service holds (`sottovoce serve`), and use it as such.

    Parameters
    ----------
    url
        Of the service: "https://decide.example". With http:// losses and the key would travel in clear: it is refused,
        except to this machine.
    study
        The name of the study.
    key
        What `sottovoce serve key create` has shown; None for a service that was started with --dev.
    privacy
        `LocalDP(epsilon)`: the most that owners of losses agree to. Nothing is told to a study that wants raw losses,
        or whose reports spend more, whatever the service says.
    raw_losses
        Whether the service may be told losses as they are, as under every guarantee but `LocalDP`: it then sees them,
        and is trusted with them. Without this no raw loss is sent, even if the service says that it wants them.
    retries
        How often calls are repeated while the service is away.
    timeout
        Seconds to wait for a connection, and for each piece of an answer.
    certificates
        For a service whose certificate the system does not trust: the file of its authority.
    insecure
        Whether http:// to another machine is fine, on a network that nobody else can read.

    Examples
    --------
    >>> remote = connect("https://decide.example", study="spring", key="sv_example")
    >>> remote
    RemoteStudy('spring' at 'https://decide.example')
    >>> remote.close()
    """
    if not isinstance(study, str) or not study or study in (".", ".."):  # dots would lead to another address
        raise ValueError(f"study must be the name of a study, got {study!r}")
    retries, accepts = Retries() if retries is None else retries, Accepts(privacy, raw_losses)
    if not isinstance(retries, Retries):
        raise TypeError(f"retries must be like sottovoce.client.Retries(attempts=3), got {retries!r}")
    service = Service(url, key, retries, number("timeout", timeout, above=0), certificates, insecure=insecure)
    return RemoteStudy(service, study, accepts)
