"""Privatised reports, treated as integers on a grid of their own: f = low + step * report, on average."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._losses import as_floats
from sottovoce.errors import InvalidLoss


class ReportGrid:
    """The grid of a channel's reports; those of `rewards` are mirrored in its middle, which makes losses of them.

    Examples
    --------
    >>> import sottovoce as sv
    >>> grid = ReportGrid(sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0))
    >>> grid.quantise([1, -1])
    array([ 1, -1])
    """

    leaves_out_missing, per_slot = False, 1

    def __init__(self, channel: Any, rewards: bool = False) -> None:
        self.channel, self.rewards = channel, rewards
        self.step, self.missing = float(channel.step), int(channel.middle)  # of a report: one unit; one that never came
        low = float(channel.low)
        self.low = -(low + 2 * self.missing * self.step) if rewards else low
        self.bounds = int(channel.least_report), int(channel.most_report)

    def coarsened(self, integers: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
        """Return the same integers: reports have one grid."""
        return integers.copy()

    def valid(self, integers: NDArray[np.int64]) -> bool:
        """Whether these can be reports of the channel."""
        return bool(self.channel.valid(integers))

    def quantise(self, losses: Any) -> NDArray[np.int64]:
        """Return reports as integers; refuse what the channel cannot have sent, a raw loss above all."""
        reports = as_floats(losses)
        held = np.isfinite(reports) & (np.abs(reports) < 2.0**62)  # what 64 bits cannot hold is no report
        integers = np.where(held, reports, 0.5).astype(np.int64)
        if not (integers == reports).all() or not self.valid(integers):
            raise InvalidLoss("a report is not one that the channel sends; nothing was recorded. Is it a raw loss?")
        return 2 * self.missing - integers if self.rewards else integers

    def quantiser(self) -> Callable[[float], int]:
        """Return a function of one report."""
        return lambda report: int(self.quantise([report])[0])
