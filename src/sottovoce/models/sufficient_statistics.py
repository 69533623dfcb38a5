"""What segments say of themselves and of each other: values that pass between beliefs."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce.models.scatter import NO_SCATTER
from sottovoce.models.variance_shares import VarianceShares

__all__ = ["Prior", "SegmentStatistics", "SufficientStatistics"]


@dataclass(frozen=True, eq=False)
class SufficientStatistics:
    """What was released of one segment: measurements of its coefficients, as a precision and a pull; and of variances.

    Attributes
    ----------
    precision, pull
        Sum of w x x^T, and of w y x, over measurements y of <x, coefficients> with precisions w.
    scatter
        What was released of the variance of a loss: `models/scatter.py`.
    numbers
        Released numbers behind it.
    resets
        How often all was forgotten. Segments that forgot more or less often are of another world.
    scores
        How well choices of a belief have predicted, if they are the same for all segments.
    """

    precision: Floats
    pull: Floats
    scatter: Floats = field(default_factory=lambda: NO_SCATTER)
    numbers: int = 0
    resets: int = 0
    scores: tuple[Floats, ...] = ()


class Prior(SufficientStatistics):
    """What others say of a segment's coefficients, and of the variance of its losses.

    `precision` and `pull` are of a Gaussian, in place of what is believed of one segment alone; `scatter` and `scores`
    are summed over the others. `resets` is that of most events of all segments: who has
    fewer has not noticed that the world has changed.
    """


@dataclass(eq=False)
class SegmentStatistics:
    """What was released of all segments, in units of the prior; and, residuals integrated out, what it says."""

    known: list[object]  # that it follows from
    precisions: Floats  # (S, p, p)
    pulls: Floats  # (S, p)
    scatter: Floats  # (S, 4)
    numbers: Integers
    reset_counts: Integers
    stale: NDArray[np.bool_]  # where the following are out of date
    informs: Floats  # (S, p, p)
    says: Floats  # (S, p)
    scores: list[tuple[Floats, ...]]
    variance_shares: VarianceShares | None = None  # of the last two

    def summed_scores(self, others: Floats) -> tuple[Floats, ...]:
        """What has predicted best in some segments, all of them together; nothing, if they choose nothing so."""
        if not any(self.scores):
            return ()
        mine = [one for one, other in zip(self.scores, others, strict=True) if other and one]
        return tuple(np.sum(choice, axis=0) for choice in zip(*mine, strict=True))

    @classmethod
    def of(cls, count: int, size: int) -> "SegmentStatistics":
        """Return the statistics of segments of which nothing was released.

        Parameters
        ----------
        count, size
            Of the segments, and of the coefficients of one.
        """
        square, row, none = (count, size, size), (count, size), np.zeros(count, dtype=np.int64)
        return cls(
            [None] * count,
            np.zeros(square),
            np.zeros(row),
            np.zeros((count, len(NO_SCATTER))),
            none,
            none.copy(),
            np.ones(count, dtype=bool),
            np.zeros(square),
            np.zeros(row),
            [()] * count,
        )

    def of_length(self, count: int) -> "SegmentStatistics":
        """Return the same for more segments, or for fewer; segments that come one by one find room that is there."""
        rooms, kept = {one: getattr(self, one).base for one in _ARRAYS}, min(count, len(self.known))
        if kept == count or not all(isinstance(one, np.ndarray) and len(one) >= count for one in rooms.values()):
            fresh = SegmentStatistics.of(2 * count, self.pulls.shape[1])
            rooms = {one: getattr(fresh, one) for one in _ARRAYS}
            for one, room in rooms.items():
                room[:kept] = getattr(self, one)[:kept]
        known, scores = [None] * (count - kept), [()] * (count - kept)
        return SegmentStatistics(
            **{one: room[:count] for one, room in rooms.items()},
            known=[*self.known[:kept], *known],
            scores=[*self.scores[:kept], *scores],
            variance_shares=self.variance_shares,
        )


_ARRAYS = ("precisions", "pulls", "scatter", "numbers", "reset_counts", "stale", "informs", "says")
