"""A channel of local privacy alone: the reports of one owner, by the thousand."""

from dataclasses import dataclass

import numpy as np

from sottovoce.auditing.attacks.observations import Observations
from sottovoce.auditing.playing.worlds import FAR
from sottovoce.privacy import LocalDP, Noise, NoiseSource, local


@dataclass(frozen=True)
class OwnersChannel:
    """The reports that an owner sends of a loss far below its range, or far above.

    Parameters
    ----------
    channel
        "one-bit" or "laplace".
    privacy
        The guarantee; with K contributions an owner sends K reports.
    chunk
        Runs that are made at a time.

    Examples
    --------
    >>> import sottovoce as sv
    >>> OwnersChannel("one-bit", sv.LocalDP(1.0, contributions=2)).observe(None, 5, sv.SecureNoise()).released.shape
    (5, 2, 1)
    """

    channel: str
    privacy: LocalDP
    chunk: int = 2500

    @property
    def name(self) -> str:
        """The channel's name."""
        return f"{self.channel} channel"

    @property
    def noise(self) -> Noise:
        """Noise of the kind that pure privacy asks for; the channel has its own."""
        return Noise("laplace", 1.0)

    @property
    def people(self) -> tuple[tuple[int, ...], ...]:
        """There is one owner, and all reports are its own."""
        return (tuple(range(self.privacy.contributions)),)

    def observe(self, person: tuple[int, ...] | None, runs: int, source: NoiseSource) -> Observations:
        """Run one world. Owners have their own randomness, whatever the source."""
        channel = local.channel_for(self.privacy, (0.0, 1.0), self.channel)
        loss = -FAR if person is None else FAR
        count = self.privacy.contributions
        reports = [[local.privatise(loss, channel) for _ in range(count)] for _ in range(runs)]
        return Observations(np.array(reports, dtype=np.float64)[:, :, None])
