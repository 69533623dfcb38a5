"""What a simulation lost in each segment, against the best decision of that segment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce.models import Segment, segment_text

_ARRAYS = ("events", "simulation_only_loss", "simulation_only_best_loss", "simulation_only_one_for_all_loss")
_SHOWN = 8  # segments, in print


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SegmentScores:
    """What was lost in each segment, over all finished events: true losses, which only a simulation has.

    Parameters
    ----------
    names : tuple
        The segments.
    events : array of shape (segments,)
        How many events each had.
    simulation_only_loss : array of shape (segments,)
        True loss of the actions played for it.
    simulation_only_best_loss : array of shape (segments,)
        Of the decision that is best for it.
    simulation_only_one_for_all_loss : array of shape (segments,)
        Of the one decision that is best for all segments together.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.lab.problems.Editions(segments=3, items=6, slots=2)
    >>> optimizer = problem.optimizer(horizon=2_000, privacy=sv.NoPrivacy(), seed=1)
    >>> scores = sv.lab.simulate(optimizer, problem.environment).segments
    >>> scores.names, int(scores.events.sum())
    (('it', 'de', 'fr'), 2000)
    """

    names: tuple[Segment, ...]
    events: Integers
    simulation_only_loss: Vector
    simulation_only_best_loss: Vector
    simulation_only_one_for_all_loss: Vector

    @property
    def regret(self) -> Vector:
        """What each segment lost beyond its own best decision."""
        return self.simulation_only_loss - self.simulation_only_best_loss

    @property
    def regret_per_event(self) -> Vector:
        """The same, per event of the segment; 0 for one that had none."""
        return self.regret / np.maximum(1, self.events)

    @property
    def one_for_all(self) -> Vector:
        """What each segment would lose beyond its best by the decision that is best for all: what segments are for."""
        return self.simulation_only_one_for_all_loss - self.simulation_only_best_loss

    def arrays(self) -> dict[str, Floats | Integers]:
        """Return what is stored beside the names."""
        return {f"segments.{name}": getattr(self, name) for name in _ARRAYS}

    @classmethod
    def stored(cls, names: Any, arrays: Mapping[str, Any]) -> Self:
        """Return what `arrays` was made from.

        Parameters
        ----------
        names
            As JSON holds them.
        arrays
            As `arrays` returned them.
        """
        told = tuple(tuple(one) if isinstance(one, list) else one for one in names)
        found = {name: arrays[f"segments.{name}"] for name in _ARRAYS}
        if any(one.shape != (len(told),) for one in found.values()):
            raise ValueError("its segments differ in number")
        return cls(told, **found)

    def lines(self) -> list[str]:
        """Return the largest segments in words, a line each."""
        largest = np.argsort(-self.events, kind="stable").tolist()
        per_event = self.regret_per_event
        lines = [
            f"    {segment_text(self.names[place])}: {self.events[place]:,} events, {per_event[place]:.4f} per event"
            for place in largest[:_SHOWN]
        ]
        rest = largest[_SHOWN:]
        if rest:
            share = self.regret[rest].sum() / max(1, self.events[rest].sum())
            lines.append(f"    {len(rest)} more: {self.events[rest].sum():,} events, {share:.4f} per event")
        return lines

    def __repr__(self) -> str:
        return f"SegmentScores({len(self.names)} segments, {int(self.events.sum())} events)"
