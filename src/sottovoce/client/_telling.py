"""What a study wants to be told, losses or reports that their owners have privatised; and telling it.

No raw loss is sent before this is known, and none ever to a study with local privacy. The service may be among those
whom losses are to be kept from, and could lie: so what is sent is for the caller to say, raw losses as well as how much
a report may spend, and never for the service.

Tests: tests/client/test_local_privacy.py.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from sottovoce._losses import raw_loss_refused
from sottovoce.client._answers import read
from sottovoce.client._service import Service
from sottovoce.client._wire import Tell
from sottovoce.client.retries import BRIEFLY, Retries
from sottovoce.client.tell_queue import Destination, TellQueue
from sottovoce.errors import ConfigurationMismatch, ServiceError, StorageError, WrongReport
from sottovoce.privacy import LocalDP
from sottovoce.privacy.local import OneBitChannel

NO_CHANNEL = "no-channel"
"""The kind of problem that says so: other refusals must never be taken for it, or raw losses would be sent."""


class Told(NamedTuple):
    """What became of a call of tell.

    Attributes
    ----------
    recorded
        Losses that are on record now.
    already
        Losses that were on record before: the call was repeated.
    dropped
        Losses that came too late, with `late="drop"`, or that nobody wanted.
    queued
        Losses that wait on disk until the service is back.
    """

    recorded: int = 0
    already: int = 0
    dropped: int = 0
    queued: int = 0


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


class _FoundChannel(NamedTuple):
    channel: OneBitChannel | None
    confirmed: bool  # by the service; otherwise from the queue


class Teller:
    """Tells a study, or evaluations, what they want and the caller lets them have, and nothing else.

    What they want is asked once of the service, or found in the queue if the service is away.

    Parameters
    ----------
    service, where
        Whom to tell, and the address of what is told.
    to, queue
        What the queue has it under; it keeps the answer for when the service is away. None if there is no queue.
    accepts
        What the caller lets it have.
    retries
        How often to ask.
    """

    def __init__(
        self, service: Service, where: str, to: Destination, queue: TellQueue | None, accepts: Accepts, retries: Retries
    ) -> None:
        self._service, self._where, self._to, self._queue = service, where, to, queue
        self._accepts, self._retries = accepts, retries
        self._known: _FoundChannel | None = None

    def channel(self, *, confirmed: bool = False) -> OneBitChannel | None:
        """Return what owners privatise their losses with; None if the study wants the losses themselves.

        Parameters
        ----------
        confirmed
            Whether the service must have said so itself, as before a raw loss is sent: a study that the queue knows may
            have given way to another of its name since.
        """
        known = self._known
        if known is None or (confirmed and not known.confirmed):
            known = self._find(confirmed)
            self._accepts.check(known.channel)
            self._known = known
        return known.channel

    def _find(self, confirmed: bool) -> _FoundChannel:
        stored, plain = (False, None) if self._queue is None else self._queue.channel(self._to)
        hurried = self._queue is not None and (stored or confirmed)  # what is stored will do, or the queue waits
        try:
            found = self._service.call("GET", f"{self._where}/channel", retries=BRIEFLY if hurried else self._retries)
        except ServiceError as problem:
            if problem.kind != NO_CHANNEL:
                raise
            found = None
        except StorageError:
            if confirmed or not stored:
                raise
            return _FoundChannel(_channel(plain), confirmed=False)
        channel = _channel(found)
        if self._queue is not None and (not stored or found != plain):
            self._queue.keep_channel(self._to, found)
        return _FoundChannel(channel, confirmed=True)

    def agreed(self) -> OneBitChannel | None:
        """Return what to privatise with, to a caller who has said what a report may spend."""
        channel = self.channel()
        if channel is not None and self._accepts == Accepts():
            raise WrongReport(
                "what a report may spend is for the owner of the loss to say, not for the service: pass "
                "connect(..., privacy=sv.LocalDP(1.0))"
            )
        return channel

    def refuse_raw(self) -> None:
        """Refuse to send a loss as it is, unless the caller has said that it may be."""
        if not self._accepts.raw_losses:
            raise ConfigurationMismatch(
                "the service wants the loss itself, and would see it; it was not sent. If it may: "
                "connect(..., raw_losses=True). Under local privacy it must not ask for that"
            )

    def send(self, tell: Tell, retries: Retries) -> Told:
        """Send a tell; return what became of it, or raise why it was refused, or that the service is away."""
        if tell.kind == "loss":
            if self.channel(confirmed=True) is not None:
                raise raw_loss_refused("remote")
            self.refuse_raw()
        answer = self._service.call("POST", f"{self._where}/tell", tell.body(), retries=retries)
        counts = [answer.get(name, 0) for name in ("recorded", "already", "dropped")]
        if not all(type(count) is int and count >= 0 for count in counts) or sum(counts) != len(tell):
            # Erasing a loss takes an acknowledgement of every one of them.
            raise ServiceError(f"{self._service.base} has acknowledged another number of losses than were sent")
        return Told(*counts)


def _channel(plain: Any) -> OneBitChannel | None:
    return None if plain is None else read("a channel", OneBitChannel.from_dict, plain)
