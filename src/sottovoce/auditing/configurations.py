"""Small configurations of the optimizer, cheap enough to be run by the thousand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sottovoce.domains import Domain
from sottovoce.learning import Plan, PrivateBandit
from sottovoce.privacy import Guarantee, NoiseSource, SimulatedNoise

__all__ = ["Configuration"]


@dataclass(frozen=True, eq=False)
class Configuration:
    """All that decides an optimizer, as a value: called with a seed and a source of noise it makes a fresh one.

    Parameters
    ----------
    domain, privacy, horizon, loss_range, losses, integral, channel
        As for `PrivateBandit`.
    choices
        Single choices of the plan, by name.
    label
        A name for tables; by default exploration and mechanism of the plan.

    Examples
    --------
    >>> import sottovoce as sv
    >>> small = Configuration(sv.domains.Ball(2), sv.PureDP(1.0), horizon=24, choices={"batch_size": 8})
    >>> small(0, sv.SimulatedNoise(0)).remaining
    24
    """

    domain: Domain
    privacy: Guarantee
    horizon: int
    choices: Mapping[str, Any] = field(default_factory=dict)
    losses: str = "convex"
    integral: bool = False
    channel: str = "one-bit"
    loss_range: tuple[float, float] = (0.0, 1.0)
    label: str | None = None

    @cached_property
    def plan(self) -> Plan:
        """The plan of every optimizer made here: public, and slow to make, so it is made once."""
        return self._make(0, SimulatedNoise(0), "auto", dict(self.choices)).plan

    def __call__(self, seed: int, noise: NoiseSource) -> PrivateBandit:
        """Return a fresh optimizer."""
        return self._make(seed, noise, self.plan, {})

    def _make(self, seed: int, noise: NoiseSource, plan: str | Plan, choices: dict[str, Any]) -> PrivateBandit:
        return PrivateBandit(
            self.domain,
            horizon=self.horizon,
            loss_range=self.loss_range,
            privacy=self.privacy,
            plan=plan,
            losses=self.losses,
            integral=self.integral,
            channel=self.channel,
            seed=seed,
            noise=noise,
            **choices,
        )
