"""One run of a rehearsal: an optimizer with simulated noise plays in a world, and its regret is kept."""

from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._threads import single_threaded
from sottovoce.domains import Domain
from sottovoce.learning import PrivateBandit
from sottovoce.playing import LocalReports, play
from sottovoce.privacy import Guarantee, LocalDP, SimulatedNoise
from sottovoce.rehearsal._worlds import ItemWorld, World

_LOTS = 3  # which stream of a seed people's lots are drawn from


def share_of(
    domain: Domain,
    world: World | ItemWorld,
    events: int,
    *,
    horizon: int | None,
    loss_range: tuple[float, float],
    privacy: Guarantee,
    seed: int,
    **options: Any,
) -> float:
    """Play so many events of an optimizer, and return its regret over that of never learning.

    It is counted in means, not in what happened to be seen.
    """
    noise, lots = SimulatedNoise(seed), np.random.default_rng([seed, _LOTS])
    optimizer: Any = PrivateBandit(
        domain, horizon=horizon, loss_range=loss_range, privacy=privacy, seed=seed, noise=noise, **options
    )
    if isinstance(privacy, LocalDP):
        optimizer = LocalReports(optimizer, lots)
    seen = _Seen(world, events, loss_range, lots)
    with single_threaded():
        for _ in play(optimizer, seen, events):
            pass
    return (seen.lost / events - world.best) / world.contrast


class _Seen:
    """What is seen of a world in a run, and what is lost on average."""

    def __init__(
        self, world: World | ItemWorld, events: int, loss_range: tuple[float, float], lots: np.random.Generator
    ) -> None:
        self._world, self._events, self._lots = world, events, lots
        self._low, self._width = loss_range[0], loss_range[1] - loss_range[0]
        self.lost = 0.0

    def losses(self, start: int, actions: Floats) -> Floats:
        means = self._world.mean(actions, start / self._events)
        self.lost += float(means.sum())
        if isinstance(self._world, ItemWorld):
            zero = self._low if self._world.sign > 0 else self._low + self._width
            return zero + self._width * self._world.told(actions, start / self._events, self._lots)
        return np.asarray(self._low + self._width * self._world.seen(actions, means, self._lots))
