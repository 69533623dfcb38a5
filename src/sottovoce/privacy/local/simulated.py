"""Reports of many simulated losses at once, from a seeded generator. NOT PRIVATE: for simulations only."""

from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._losses import as_floats
from sottovoce.privacy.local.channels import Channel
from sottovoce.privacy.local.laplace import LaplaceChannel
from sottovoce.privacy.local.one_bit import OneBitChannel


def simulate_reports(losses: Any, channel: Channel, generator: np.random.Generator) -> Integers:
    """Return reports with the channel's distribution, fast and reproducible. NOT PRIVATE.

    Parameters
    ----------
    losses
        An array of them.
    channel
        What would privatise them.
    generator
        Where the randomness comes from; it can be repeated, so nothing is private.

    Examples
    --------
    >>> channel = OneBitChannel((0.0, 1.0), epsilon=1.0)
    >>> reports = simulate_reports(np.full(10_000, 0.25), channel, np.random.default_rng(0))
    >>> round(float(channel.decode(reports).mean()), 1)
    0.2
    """
    low, high = channel.loss_range
    values = np.clip(as_floats(losses), low, high)
    if isinstance(channel, OneBitChannel):
        chance = 0.5 + (values - channel.low) / (2 * channel.step)
        return np.where(generator.random(values.shape) < chance, 1, -1).astype(np.int64)
    if isinstance(channel, LaplaceChannel):
        noise = np.rint(generator.laplace(scale=channel.noise.scale, size=values.shape)).astype(np.int64)
        reports: Integers = np.clip(channel.grid.quantise(values) + noise, channel.least_report, channel.most_report)
        return reports
    raise TypeError(f"channel must be a OneBitChannel or a LaplaceChannel, got {channel!r}")
