"""What all channels have in common, and how to make, ship and use one."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from sottovoce._checks import choice
from sottovoce._losses import as_float, as_floats
from sottovoce.errors import InvalidLoss
from sottovoce.privacy.guarantees import LocalDP
from sottovoce.privacy.local.laplace import LaplaceChannel
from sottovoce.privacy.local.one_bit import OneBitChannel

CHANNELS: dict[str, type[OneBitChannel] | type[LaplaceChannel]] = {
    kind.kind: kind for kind in (OneBitChannel, LaplaceChannel)
}


class Channel(Protocol):
    """Turns a loss, on its owner's side, into a report: an integer that reveals at most e^epsilon about it.

    To the server reports are integers on a grid, like those of `LossGrid`: worth `low + step * report`, with `middle`
    for one that never comes, and every legal one between `least_report` and `most_report`.
    """

    @property
    def kind(self) -> str:
        """The name of the kind of channel."""

    @property
    def loss_range(self) -> tuple[float, float]:
        """What losses are clipped to."""

    @property
    def epsilon(self) -> float:
        """The budget of one report."""

    @property
    def low(self) -> float:
        """What a report of 0 is worth."""

    @property
    def step(self) -> float:
        """What one unit of a report is worth."""

    @property
    def middle(self) -> int:
        """What a report that never comes counts as."""

    @property
    def least_report(self) -> int:
        """The smallest legal report."""

    @property
    def most_report(self) -> int:
        """The largest legal report."""

    @property
    def second_moment(self) -> float:
        """Largest mean square of a decoded report around the middle of the range."""

    def privatise(self, loss: float) -> int:
        """Return the report of a loss.

        Parameters
        ----------
        loss
            Of the owner who calls it.
        """

    def decode(self, report: Any) -> Any:
        """Return what a report, or each of an array of reports, is worth.

        Parameters
        ----------
        report
            One, or an array of them.
        """

    def valid(self, reports: Any) -> bool:
        """Whether this is a report, or an array of reports, that the channel can send.

        Parameters
        ----------
        reports
            One, or an array of them; anything may be asked about.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return the channel as plain data, to be sent to clients as JSON."""


def channel_for(guarantee: LocalDP, loss_range: tuple[float, float], kind: str = "one-bit") -> Channel:
    """Return the channel that keeps a guarantee; K contributions leave epsilon/K for each report.

    Parameters
    ----------
    guarantee
        What each owner is promised.
    loss_range
        Losses are clipped to it.
    kind
        "one-bit" or "laplace".

    Examples
    --------
    >>> channel_for(LocalDP(epsilon=1.0, contributions=2), (0.0, 1.0))
    OneBitChannel(loss_range=(0.0, 1.0), epsilon=0.5)
    """
    if not isinstance(guarantee, LocalDP):
        raise TypeError(f"guarantee must be LocalDP, got {guarantee!r}")
    return CHANNELS[choice("kind", kind, tuple(CHANNELS))](loss_range, guarantee.per_report)


def channel_from_dict(plain: Mapping[str, Any]) -> Channel:
    """Return the channel that its `to_dict` wrote down.

    Parameters
    ----------
    plain
        Plain data, as for JSON.

    Examples
    --------
    >>> channel_from_dict({"kind": "one-bit", "loss_range": [0.0, 2.0], "epsilon": 1.0}).low
    1.0
    """
    return CHANNELS[choice("kind", plain.get("kind"), tuple(CHANNELS))].from_dict(plain)


def privatise(loss: Any, channel: Channel) -> Any:
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
    if not isinstance(channel, OneBitChannel | LaplaceChannel):
        raise TypeError(f"channel must be that of the optimizer or service, such as optimizer.channel, got {channel!r}")
    if not _are_many(loss):
        value = as_float(loss)
        if not math.isfinite(value):
            raise InvalidLoss("the loss is not a finite number; nothing was reported. Fix it, and privatise again")
        return channel.privatise(value)
    values = as_floats(loss)
    if not np.isfinite(values).all():
        raise InvalidLoss("a loss is not a finite number; nothing was reported. Fix it, and privatise again")
    if isinstance(channel, LaplaceChannel):
        return channel.privatise_block(values)
    reports = [channel.privatise(value) for value in values.ravel().tolist()]
    return np.array(reports, dtype=np.int64).reshape(values.shape)


def _are_many(loss: Any) -> bool:
    """Say whether this is more than one loss; whatever the type of an owner's loss raises is not repeated."""
    with suppress(Exception):
        return isinstance(loss, list | tuple) or bool(getattr(loss, "ndim", 0))
    return False
