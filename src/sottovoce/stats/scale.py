"""What released integers are worth, and how noisy they are: known before there is one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.plans.problem import loss_grid_of
from sottovoce.privacy import (
    PROBE_SUMS,
    Guarantee,
    LocalDP,
    LossGrid,
    Mechanism,
    Noise,
    Sensitivity,
    local,
    mechanism_for,
)

MORE_EVENTS = 4.0
"""Events that are taken to have told besides, one half at each end of the range: Agresti and Coull's."""


@dataclass(frozen=True)
class Scale:
    """What the integers of one place are worth, and how much is known of their distribution beforehand.

    Attributes
    ----------
    loss_range
        (low, high) of a loss.
    low, step
        An integer is worth low + step * integer.
    ends
        The least and the largest value that a place can be worth.
    noise
        Of the released sum, in steps; None if it has none.
    """

    loss_range: tuple[float, float]
    low: float
    step: float
    ends: tuple[float, float]
    noise: Noise | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        plain = {"loss_range": list(self.loss_range), "low": self.low, "step": self.step, "ends": list(self.ends)}
        noise = None if self.noise is None else {"family": self.noise.family, "scale": self.noise.scale}
        return {**plain, "noise": noise}

    def spread(self, means: Floats) -> Floats:
        """Return the largest variance that one place can have, for each mean that there may be.

        Parameters
        ----------
        means
            Of losses.
        """
        low, high = self.ends
        return np.asarray(np.maximum((high - means) * (means - low), 0.0))

    def pulled(self, mean: float, events: float, noise_error: float) -> float:
        """Return a mean pulled towards the middle, as if a few more events had told: where to take the variance.

        Parameters
        ----------
        mean
            That was released.
        events
            How many it is over.
        noise_error
            Standard deviation of what privacy adds to it.
        """
        middle, (low, high) = sum(self.ends) / 2, self.loss_range
        largest = float(self.spread(np.array(middle)))
        worth = largest / (largest / events + noise_error**2)  # events that are as accurate without noise
        within = min(max(mean, low), high)
        return (worth * within + MORE_EVENTS * middle) / (worth + MORE_EVENTS)


def scale_for(loss_range: tuple[float, float], privacy: Guarantee, *, variance: bool = False) -> Scale:
    """Return what the numbers of evaluations would be worth, and their noise.

    Parameters
    ----------
    loss_range, privacy, variance
        As for `PrivateEvaluations`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> scale = scale_for((0.0, 1.0), sv.PureDP(epsilon=0.5))
    >>> scale.noise.scale * scale.step
    2.0
    """
    mechanism, losses = mechanism_of(privacy), loss_grid_of(loss_range)
    ends = (losses.low, losses.high)
    if isinstance(privacy, LocalDP):
        owners = local.OneBitChannel(ends, privacy.per_report)
        return Scale(ends, owners.low, owners.step, (owners.low - owners.step, owners.low + owners.step), None)
    drawn = mechanism.noise(privacy, sensitivity_of(losses, variance))
    return Scale(ends, losses.low, losses.step, ends, drawn)


def sensitivity_of(losses: LossGrid, variance: bool) -> Sensitivity:
    """Return how far one event moves what is released of its evaluation.

    Parameters
    ----------
    losses
        The grid of losses.
    variance
        Whether squares are released, too.
    """
    return Sensitivity(losses.steps, float(losses.steps), 1, 1 + variance)


def mechanism_of(privacy: Any) -> Mechanism:
    """Return what keeps a guarantee: probe sums, unless no noise is added here.

    Parameters
    ----------
    privacy
        The guarantee.
    """
    if isinstance(privacy, Guarantee):
        found = mechanism_for(privacy, PROBE_SUMS)
        if found.serves(privacy):
            return found
    raise TypeError(
        "privacy must be a guarantee that probe sums keep, such as sv.PureDP(epsilon=1.0), sv.ApproxDP, sv.ZCDP, "
        f"sv.LocalDP or sv.NoPrivacy, got {privacy!r}"
    )
