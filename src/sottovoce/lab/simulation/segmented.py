"""Environments with segments: every event is of one, which is public, and each segment has a best decision."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.environment import Comparator
from sottovoce.lab.simulation.finite import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Kinds
from sottovoce.models import Segment, Segments


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


class SegmentedEnvironment(FiniteEnvironment):
    """An environment whose every event is of one segment, by lot.

    The library holds as many losses, `people`, for each segment, one segment after the other. A subclass fills
    `library`, `loss_range` and `lipschitz`.

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

    @abstractmethod
    def __repr__(self) -> str:
        """Return what makes it again."""

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return who comes at each event, by lot: the segment by its share, then a person of it."""
        places = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(size), side="right")
        return places * self.people + rng.integers(0, self.people, size=size)

    def places(self, start: int, size: int) -> Integers:
        """Return which segment each event is of: its place among `segments.names`.

        Parameters
        ----------
        start
            The first event, from 0.
        size
            How many.
        """
        return (self.kinds(start, size) // self.people).astype(np.int64)

    def segments_of(self, start: int, size: int) -> list[Segment]:
        """Return the segment of each event.

        Parameters
        ----------
        start
            The first event, from 0.
        size
            How many.
        """
        names = self.segments.names
        return [names[place] for place in self.places(start, size).tolist()]

    def counts(self, horizon: int) -> Integers:
        """Return how many of the first events each segment has.

        Parameters
        ----------
        horizon
            How many events, from the first.
        """
        counts: Integers = self._counts(whole("horizon", horizon)).reshape(-1, self.people).sum(axis=1)
        return counts

    def comparators(self, horizon: int) -> dict[Segment, Comparator]:
        """Return the decision that is best for each segment over the first events, with its own certificate.

        Parameters
        ----------
        horizon
            How many events, from the first; segments that none of them is of are left out.
        """
        counts = self._counts(whole("horizon", horizon)).reshape(-1, self.people)
        found = {}
        for place, (name, each) in enumerate(zip(self.segments.names, counts, strict=True)):
            if each.sum():
                weights = np.zeros(counts.size)
                weights[place * self.people : (place + 1) * self.people] = each / each.sum()
                found[name] = self._comparator(weights)
        return found

    def best(self, marks: Sequence[int] | Integers) -> Vector:
        """Return what the best decision of each segment has cost after each number of events in `marks`."""
        return self._cumulative(self._table(self.comparators(int(marks[-1]))), marks)

    def certificate(self, horizon: int) -> float:
        """Return how much more per event the best decision of a segment may cost than the best there is, at most."""
        return max(one.certificate for one in self.comparators(horizon).values())

    def losses_by_segment(self, horizon: int) -> tuple[Floats, Floats]:
        """Return what the best decision of each segment costs over the first events; and what the best for all costs.

        Parameters
        ----------
        horizon
            How many events, from the first.
        """
        counts = self._counts(whole("horizon", horizon))
        whole_best = self.library.losses(self.comparator(horizon).point, np.arange(len(self.library)))
        own_best = self._table(self.comparators(horizon))
        own, one = ((counts * table).reshape(-1, self.people).sum(axis=1) for table in (own_best, whole_best))
        return own, one

    def _table(self, best: dict[Segment, Comparator]) -> Vector:
        """Return the loss of everybody at the best decision of their segment."""
        table = np.zeros(len(self.library))
        for place, name in enumerate(self.segments.names):
            if name in best:
                mine = np.arange(place * self.people, (place + 1) * self.people)
                table[mine] = self.library.losses(best[name].point, mine)
        return table
