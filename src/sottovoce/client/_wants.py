"""What a study wants to be told: losses, or reports that their owners have privatised.

No raw loss is sent before this is known, and none ever to a study with local privacy. A service that is itself among
those whom losses are to be kept from could lie: whoever connects with `privacy=` does not take its word.

Tests: tests/client/test_local_privacy.py.
"""

from typing import Any, NamedTuple

from sottovoce.client._service import Service
from sottovoce.client.retries import BRIEFLY, Retries
from sottovoce.client.tell_queue import Destination, TellQueue
from sottovoce.errors import ConfigurationMismatch, ServiceError, StorageError
from sottovoce.privacy import LocalDP
from sottovoce.privacy.local import Channel, channel_from_dict

__all__ = ["NO_CHANNEL", "Wants"]

NO_CHANNEL = "no-channel"
"""The kind of problem that says so: other refusals must never be taken for it, or raw losses would be sent."""


class _Known(NamedTuple):
    channel: Channel | None
    confirmed: bool  # by the service; otherwise from the queue


class Wants:
    """Finds out once, from the service, or from the queue if the service is away.

    Parameters
    ----------
    service, to
        Whom to ask, about which study.
    queue
        Keeps the answer for when the service is away; or None.
    privacy
        What the caller insists on; or None.
    retries
        How often to ask.
    where
        The address of the channel; that of the study, unless it is another's.
    """

    def __init__(
        self,
        service: Service,
        to: Destination,
        queue: TellQueue | None,
        privacy: LocalDP | None,
        retries: Retries,
        where: str | None = None,
    ) -> None:
        self._service, self._to, self._queue, self._privacy, self._retries = service, to, queue, privacy, retries
        self._where = service.address.of_study(to.study, "channel") if where is None else where
        self._known: _Known | None = None

    def channel(self, *, confirmed: bool = False) -> Channel | None:
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
            self._insist(known.channel)
            self._known = known
        return known.channel

    def _find(self, confirmed: bool) -> _Known:
        stored, plain = (False, None) if self._queue is None or confirmed else self._queue.channel(self._to)
        hurried = stored or (confirmed and self._queue is not None)  # whoever asks can wait, or goes by what is stored
        try:
            found = self._asked(BRIEFLY if hurried else self._retries)
        except StorageError:
            if not stored:
                raise
            return _Known(self._read(plain), False)
        channel = self._read(found)
        if self._queue is not None and (not stored or found != plain):
            self._queue.keep_channel(self._to, found)
        return _Known(channel, True)

    def _asked(self, retries: Retries) -> Any:
        try:
            return self._service.call("GET", self._where, retries=retries)
        except ServiceError as problem:
            if problem.kind != NO_CHANNEL:
                raise
            return None

    def _read(self, plain: Any) -> Channel | None:
        if plain is None:
            return None
        try:
            return channel_from_dict(plain)
        except (TypeError, ValueError, KeyError, AttributeError):
            pass
        raise ServiceError("the service's answer is not a channel: is it a sottovoce service of this version?")

    def _insist(self, channel: Channel | None) -> None:
        wanted = self._privacy
        if wanted is None:
            return
        if channel is None:
            raise ConfigurationMismatch(f"privacy is {wanted}, and the study wants raw losses; none was sent")
        if channel.epsilon > wanted.per_report:
            raise ConfigurationMismatch(
                f"privacy is {wanted}, which leaves {wanted.per_report:g} for a report, and the study's channel spends "
                f"{channel.epsilon:g}; nothing was reported"
            )
