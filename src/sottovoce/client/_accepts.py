"""What a caller lets a service have: losses as they are, or reports that spend no more than was agreed.

No raw loss is sent before it is known whether reports are wanted, which their owners have privatised, and none ever to
a study with local privacy. The service may be among those whom losses are to be kept from, and could lie: so what is
sent is for the caller to say, raw losses as well as how much a report may spend, and never for the service.

Tests: tests/client/test_local_privacy.py.
"""

from dataclasses import dataclass

from sottovoce.errors import ConfigurationMismatch
from sottovoce.privacy import LocalDP
from sottovoce.privacy.local import OneBitChannel


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
