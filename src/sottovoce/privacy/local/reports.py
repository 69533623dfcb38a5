"""Reports of losses: one, or several at once, by the channel that the owner's side was given."""

import math
from contextlib import suppress
from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._losses import as_float, as_floats
from sottovoce.errors import InvalidLoss
from sottovoce.privacy.local.one_bit import OneBitChannel


def privatise(loss: Any, channel: OneBitChannel) -> Any:
    """Return the report of a loss, on its owner's side: the raw loss goes no further than this call.

    Parameters
    ----------
    loss
        A number; it is clipped to the channel's range. Of an array of them (a device that sends several) each gets a
        report of its own, with randomness of its own, as if it had been privatised alone: for the privacy of a person
        whose losses are several of them, see `LocalDP(contributions=...)`. One that is not finite stops them all.
    channel
        What the owner's side was given: `optimizer.channel`.

    Examples
    --------
    >>> channel = OneBitChannel((0.0, 1.0), epsilon=1.0)
    >>> privatise(0.7, channel) in (-1, 1)
    True
    >>> privatise([0.7, 0.1], channel).shape
    (2,)
    """
    if not isinstance(channel, OneBitChannel):
        raise TypeError(f"channel must be that of the optimizer or service, such as optimizer.channel, got {channel!r}")
    if not _are_many(loss):
        value = as_float(loss)
        if not math.isfinite(value):
            raise InvalidLoss("the loss is not a finite number; nothing was reported. Fix it, and privatise again")
        return channel.privatise(value)
    values = as_floats(loss)
    if not np.isfinite(values).all():
        raise InvalidLoss("a loss is not a finite number; nothing was reported. Fix it, and privatise again")
    reports = [channel.privatise(value) for value in values.ravel().tolist()]
    return np.array(reports, dtype=np.int64).reshape(values.shape)


def _are_many(loss: Any) -> bool:
    """Say whether this is more than one loss; whatever the type of an owner's loss raises is not repeated."""
    with suppress(Exception):
        return isinstance(loss, list | tuple) or bool(getattr(loss, "ndim", 0))
    return False


def simulate_reports(losses: Any, channel: OneBitChannel, generator: np.random.Generator) -> Integers:
    """Return reports with the channel's distribution, fast and reproducible. NOT PRIVATE: for simulations only.

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
    values = np.clip(as_floats(losses), *channel.loss_range)
    chance = 0.5 + (values - channel.low) / (2 * channel.step)
    return np.where(generator.random(values.shape) < chance, 1, -1).astype(np.int64)
