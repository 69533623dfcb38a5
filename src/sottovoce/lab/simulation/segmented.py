"""Environments with segments: every event is of one, which is public, and each segment has a best decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.environment import Comparator
from sottovoce.lab.simulation.finite import FiniteEnvironment, Kinds
from sottovoce.models import Segment, Segments, segment_text

_SHOWN = 8  # segments, in print


def power_law(count: int, power: float = 1.0) -> Floats:
    """Return shares of `count` segments that fall with rank, 1 / rank^power, and add up to one.

    Parameters
    ----------
    count
        How many.
    power
        0 for equal shares.

    Examples
    --------
    >>> power_law(3).round(3)
    array([0.545, 0.273, 0.182])
    """
    shares: Floats = np.arange(1.0, count + 1) ** -power
    shares /= shares.sum()
    return shares


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SegmentScores:
    """What was lost in each segment, over all finished events: true losses, which only a simulation has.

    Those of its values that are `arrays` are so in files.

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
    arrays : tuple of str
        Which of these are arrays.

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
    arrays: ClassVar = (
        "events",
        "simulation_only_loss",
        "simulation_only_best_loss",
        "simulation_only_one_for_all_loss",
    )

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

    def lines(self) -> list[str]:
        """Return the largest segments in words, a line each."""
        largest = np.argsort(-self.events, kind="stable")
        lines = [
            f"    {segment_text(self.names[place])}: {self.events[place]:,} events, "
            f"{self.regret_per_event[place]:.4f} per event"
            for place in largest[:_SHOWN].tolist()
        ]
        rest = largest[_SHOWN:]
        if len(rest):
            share = self.regret[rest].sum() / max(1, self.events[rest].sum())
            lines.append(f"    {len(rest)} more: {self.events[rest].sum():,} events, {share:.4f} per event")
        return lines


class SegmentedEnvironment(FiniteEnvironment):
    """An environment whose every event is of one segment, by lot.

    The library holds as many losses, `people`, for each segment, one segment after the other. A subclass fills
    `library` and `lipschitz`, and `loss_range` if that is another.

    Parameters
    ----------
    domain : Domain
    segments : Segments
        With names, all of them.
    shares : array
        What share of all events each segment has.
    people : int
        Different losses in each segment.
    seed : int
        Fixes the losses and their order.

    Examples
    --------
    >>> import sottovoce as sv
    >>> world = sv.lab.problems.Editions(segments=3).environment
    >>> world.segments_of(0, 4)
    ['fr', 'de', 'de', 'fr']
    >>> best = world.comparators(10_000)
    >>> list(best), max(one.certificate for one in best.values()) < 1e-12
    (['it', 'de', 'fr'], True)
    """

    segments: Segments

    def __init__(self, domain: Domain, segments: Segments, shares: Sequence[float] | Floats, people: int, seed: int):
        super().__init__(domain, seed)
        if not segments.names:
            raise ValueError("segments must be named, so that events can be drawn for them")
        self.segments, self.people = segments, whole("people", people)
        self.shares: Floats = np.array(shares, dtype=np.float64)
        if self.shares.shape != (len(segments.names),) or not ((self.shares >= 0).all() and self.shares.sum() > 0):
            raise ValueError(f"shares must be {len(segments.names)} numbers of at least 0, one for each segment")
        self.shares /= self.shares.sum()

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return who comes at each event, by lot: the segment by its share, then a person of it."""
        places = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(size), side="right")
        return places * self.people + rng.integers(0, self.people, size=size)

    def places(self, start: int, size: int) -> Integers:
        """Return which segment each of `size` events from number `start` is of: its place among `segments.names`."""
        return (self.kinds(start, size) // self.people).astype(np.int64)

    def segments_of(self, start: int, size: int) -> list[Segment]:
        """Return the segment of each of `size` events, from number `start`."""
        names = self.segments.names
        return [names[place] for place in self.places(start, size).tolist()]

    def comparators(self, horizon: int) -> dict[Segment, Comparator]:
        """Return the decision that is best for each segment over the first events, with its own certificate.

        Parameters
        ----------
        horizon
            How many events, from the first; segments that none of them is of are left out.
        """
        counts = self._counts(whole("horizon", horizon))
        found = {}
        for place, name in enumerate(self.segments.names):
            mine = np.where(np.arange(len(counts)) // self.people == place, counts, 0)
            if mine.any():
                found[name] = self._comparator(mine / mine.sum())
        return found

    def best(self, marks: Sequence[int] | Integers) -> Vector:
        """Return what the best decision of each segment has cost after each number of events in `marks`."""
        return self._cumulative(self._at_best(int(marks[-1])), marks)

    def certificate(self, horizon: int) -> float:
        """Return how much more per event the best decision of a segment may cost than the best there is, at most."""
        return max(one.certificate for one in self.comparators(horizon).values())

    def scores(self, horizon: int, lost: Vector) -> SegmentScores:
        """Return the score of each segment over the first events.

        Parameters
        ----------
        horizon
            How many events, from the first.
        lost
            In each segment.
        """
        counts = self._counts(whole("horizon", horizon))
        one_for_all = self.library.losses(self.comparator(horizon).point, np.arange(len(self.library)))
        each = np.stack([counts, counts * self._at_best(horizon), counts * one_for_all])
        events, own, one = each.reshape(3, -1, self.people).sum(axis=2)
        return SegmentScores(self.segments.names, events.astype(np.int64), lost, own, one)

    def _at_best(self, horizon: int) -> Vector:
        """Return the loss of everybody at the decision that is best for their segment."""
        best, table = self.comparators(horizon), np.zeros(len(self.library))
        for place, name in enumerate(self.segments.names):
            if name in best:
                mine = np.arange(place * self.people, (place + 1) * self.people)
                table[mine] = self.library.losses(best[name].point, mine)
        return table
