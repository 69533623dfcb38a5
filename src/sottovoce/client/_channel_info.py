"""What a study wants to be told: losses, or reports that their owners have privatised.

No raw loss is sent before this is known, and none ever to a study with local privacy. The service may be among those
whom losses are to be kept from, and could lie: so what is sent is for the caller to say, raw losses as well as how much
a report may spend, and never for the service.

Tests: tests/client/test_local_privacy.py.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from sottovoce.client._answers import read
from sottovoce.client._service import Service
from sottovoce.client.retries import BRIEFLY, Retries
from sottovoce.client.tell_queue import Destination, TellQueue
from sottovoce.errors import ConfigurationMismatch, ServiceError, StorageError, WrongReport
from sottovoce.privacy import LocalDP
from sottovoce.privacy.local import OneBitChannel

NO_CHANNEL = "no-channel"
"""The kind of problem that says so: other refusals must never be taken for it, or raw losses would be sent."""

SAY_WHAT = (
    "what a report may spend is for the owner of the loss to say, not for the service: pass privacy=sv.LocalDP(1.0), "
    "or connect(..., privacy=sv.LocalDP(1.0))"
)


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


class ChannelInfo:
    """Finds out once, from the service, or from the queue if the service is away.

    Parameters
    ----------
    service, to
        Whom to ask, about which study.
    queue
        Keeps the answer for when the service is away; or None.
    accepts
        What the caller lets it have.
    retries
        How often to ask.
    where
        The address of the channel.
    """

    def __init__(
        self, service: Service, to: Destination, queue: TellQueue | None, accepts: Accepts, retries: Retries, where: str
    ) -> None:
        self._service, self._to, self._queue, self._accepts = service, to, queue, accepts
        self._retries, self._where = retries, where
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

    @property
    def pinned(self) -> bool:
        """Whether the caller has said what a report may spend."""
        return self._accepts.privacy is not None

    def agreed(self, privacy: LocalDP | None = None) -> OneBitChannel | None:
        """Return the same to privatise with: only to a caller who has said what may be spent, or does with `privacy`.

        Parameters
        ----------
        privacy
            What a report may spend, beside what was said when the connection was made.
        """
        Accepts(privacy).check(channel := self.channel())
        if channel is not None and privacy is self._accepts.privacy is None and not self._accepts.raw_losses:
            raise WrongReport(SAY_WHAT)
        return channel

    def refuse_raw(self) -> None:
        """Refuse to send a loss as it is, unless the caller has said that it may be."""
        if not self._accepts.raw_losses:
            raise ConfigurationMismatch(
                "the service wants the loss itself, and would see it; it was not sent. If it may: "
                "connect(..., raw_losses=True). Under local privacy it must not ask for that"
            )

    def _find(self, confirmed: bool) -> _FoundChannel:
        stored, plain = (False, None) if self._queue is None or confirmed else self._queue.channel(self._to)
        hurried = stored or (confirmed and self._queue is not None)  # whoever asks can wait, or goes by what is stored
        try:
            found = self._asked(BRIEFLY if hurried else self._retries)
        except StorageError:
            if not stored:
                raise
            return _FoundChannel(_channel(plain), False)
        channel = _channel(found)
        if self._queue is not None and (not stored or found != plain):
            self._queue.keep_channel(self._to, found)
        return _FoundChannel(channel, True)

    def _asked(self, retries: Retries) -> Any:
        try:
            return self._service.call("GET", self._where, retries=retries)
        except ServiceError as problem:
            if problem.kind != NO_CHANNEL:
                raise
            return None


def _channel(plain: Any) -> OneBitChannel | None:
    return None if plain is None else read("a channel", OneBitChannel.from_dict, plain)
