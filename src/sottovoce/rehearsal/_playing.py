"""One run of a rehearsal: an optimizer with simulated noise plays in a world, and its regret is kept."""

from typing import Any

import numpy as np

from sottovoce._threads import single_threaded
from sottovoce.domains import Domain
from sottovoce.learning import PrivateBandit
from sottovoce.privacy import Guarantee, LocalDP, SimulatedNoise
from sottovoce.privacy.local import simulate_reports
from sottovoce.rehearsal._worlds import World

__all__ = ["play"]

_BLOCK = 8192  # events at once
_LOTS = 3  # which stream of a seed people's lots are drawn from


def play(
    domain: Domain,
    world: World,
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
    optimizer = PrivateBandit(
        domain,
        horizon=horizon,
        loss_range=loss_range,
        privacy=privacy,
        seed=seed,
        noise=SimulatedNoise(seed),
        **options,
    )
    lots = np.random.default_rng([seed, _LOTS])
    low, width = loss_range[0], loss_range[1] - loss_range[0]
    done, lost = 0, 0.0
    with single_threaded():
        while done < events:
            actions = optimizer.ask_round(most=min(_BLOCK, events - done))
            means = world.mean(actions.x, done / events)
            losses = low + width * world.seen(actions.x, means, lots)
            if isinstance(privacy, LocalDP):
                optimizer.tell(actions.ids, report=simulate_reports(losses, optimizer.channel, lots))
            else:
                optimizer.tell(actions.ids, losses)
            done += len(means)
            lost += float(means.sum())
    return (lost / events - world.best) / world.contrast
