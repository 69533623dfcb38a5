"""From points of the set that is worked on to actions of the set that is played."""

from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.domains import Domain, Rounded


@dataclass(frozen=True)
class Placement:
    """Where the play takes place.

    Parameters
    ----------
    domain
        The set that is played.
    rounded
        Work in the rounded position (an affine image of the set in which it is as round as it gets), for lopsided sets.
        None: work on the set itself.
    integral
        Play vertices with the right mean instead of points: for losses that are linear in the action.
    moved
        How far from the working set's centre the first point lies: a later epoch starts where the last one ended.

    Examples
    --------
    >>> import sottovoce as sv
    >>> placement = Placement(sv.domains.Hypersimplex(4, 2), integral=True)
    >>> coins = np.random.default_rng(0)
    >>> placement.play(np.full((1, 4), 0.5), np.zeros(3, dtype=np.int64), coins).sum(axis=1)
    array([2., 2., 2.])
    """

    domain: Domain
    rounded: Rounded | None = None
    integral: bool = False
    moved: float = 0.0

    @property
    def position(self) -> str:
        """The name of the coordinates that are worked in."""
        return "plain" if self.rounded is None else "rounded"

    @property
    def working(self) -> Domain:
        """The set in whose coordinates points, directions and gradients are."""
        return self.domain if self.rounded is None else self.rounded

    @property
    def reach(self) -> float:
        """How far the working set reaches from its centre; in rounded position likely, not proven: for regret only."""
        return self.domain.outer_radius if self.rounded is None else self.rounded.likely_outer_radius

    @property
    def reach_from_start(self) -> float:
        """How far the working set reaches from the first point, at most (R of a run's bound)."""
        return min(self.working.diameter, self.reach + self.moved) if self.moved else self.reach

    def original(self, points: Floats) -> Floats:
        """Map points of the working set to the set that is played.

        Parameters
        ----------
        points
            One point, or rows of them.
        """
        return points if self.rounded is None else np.asarray(self.rounded.to_original(points))

    def vertex(self, cost: Floats) -> Floats:
        """Return the vertex of the set that is played that is best for a cost in coordinates of the working set.

        Parameters
        ----------
        cost
            For each coordinate of the working set.
        """
        return np.asarray(
            self.domain.extreme_point(cost if self.rounded is None else cost @ self.rounded.design.whitening)
        )

    def play(self, means: Floats, index: Integers, coins: np.random.Generator) -> Floats:
        """Return one action for each entry of `index`: the point means[index], or a random vertex with that mean.

        Parameters
        ----------
        means
            Points of the working set, in rows.
        index
            Which of them each event plays.
        coins
            Public ones.
        """
        points = self.original(means)
        if not self.integral:
            return np.asarray(points[index])
        actions = np.empty((len(index), self.domain.dimension))
        order = np.argsort(index, kind="stable")
        ends = np.cumsum(np.bincount(index, minlength=len(points)))
        for point, slots in zip(points, np.split(order, ends[:-1]), strict=True):
            if len(slots):
                actions[slots] = self.domain.round(point, coins, size=len(slots))
        return actions
