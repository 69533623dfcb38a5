"""Baselines that are `PrivateBandit` with a plan of their own: the same books, mechanisms and refusals."""

from collections.abc import Sequence
from typing import ClassVar, Self

from sottovoce.domains import Ball, Hypersimplex, Simplex
from sottovoce.errors import StateRefused
from sottovoce.learning.bandit.private_bandit import PrivateBandit
from sottovoce.privacy import ApproxDP, Guarantee, LocalDP, PureDP, SimulatedNoise

__all__ = ["Planned", "PrivatelyPlanned", "central"]


class Planned(PrivateBandit):
    """A baseline that is a plan."""

    name: ClassVar[str]
    private: ClassVar[bool] = False
    linear_only: ClassVar[bool] = False
    full_information: ClassVar[bool] = False

    def state(self) -> bytes:
        """Refuse: baselines are for comparisons, and what some of them swap in would not be restored."""
        raise StateRefused(f"{type(self).__name__} is a baseline, for comparisons: it has no state to save")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, horizon={self.horizon}, closed_rounds={self.round})"


class PrivatelyPlanned(Planned):
    """A private baseline that is a plan."""

    private: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few fresh instances with fixed seeds, on which the shared tests of all baselines run."""
        pairs = ((Ball(3), PureDP(1.0)), (Simplex(4), ApproxDP(1.0, 1e-6)), (Hypersimplex(6, 2), PureDP(0.5)))
        return [
            cls(domain, horizon=60, loss_range=(0.0, 1.0), privacy=privacy, seed=1, noise=SimulatedNoise(1))
            for domain, privacy in pairs
        ]


def central(privacy: Guarantee) -> Guarantee:
    """Return a guarantee that the optimizer itself keeps, or say why this is none."""
    if not isinstance(privacy, Guarantee) or not privacy.private or isinstance(privacy, LocalDP):
        raise TypeError(f"privacy must be PureDP, ApproxDP or ZCDP for a private baseline, got {privacy!r}")
    return privacy
