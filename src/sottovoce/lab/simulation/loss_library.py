"""Finite collections of loss functions, evaluated for many events at once.

Each event of a finite environment picks one member of the collection. That makes a simulation exact and cheap: the sum
of all losses of a run is a weighted sum over the collection, so the best fixed point in hindsight follows from counts,
in memory that does not depend on the horizon.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Vector
from sottovoce.domains import Domain

Kinds = NDArray[np.intp]


class LossLibrary(Protocol):
    """A collection of convex loss functions, numbered from 0."""

    def __len__(self) -> int:
        """Return how many loss functions there are."""

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return loss `kinds[i]` at row i of `actions`, or all at one point.

        Parameters
        ----------
        actions
            Rows, or one point.
        kinds
            The number of each loss in the library.
        """

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return a feasible point where the weighted sum of the losses is (nearly) least.

        Parameters
        ----------
        domain
            The set.
        weights
            Of each loss in the library.
        """

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return a subgradient of the weighted sum, one that is as short as possible.

        Parameters
        ----------
        point
            Where.
        weights
            Of each loss in the library.
        """


class Distances:
    """Distances to targets, f(x) = ||x - target||, for targets in the domain.

    Parameters
    ----------
    targets : array of shape (kinds, n)

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.lab.simulation.loss_library import Distances
    >>> library = Distances(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> library.losses(np.array([0.0, 0.0]), np.array([0, 1, 1]))
    array([0., 1., 1.])
    """

    def __init__(self, targets: Vector) -> None:
        self.targets = targets

    def __len__(self) -> int:
        return len(self.targets)

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return the distances between actions and targets."""
        gaps = self.targets.take(kinds, axis=0)
        np.subtract(actions, gaps, out=gaps)
        return _norms(gaps)

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return the weighted geometric median.

        It lies in the convex hull of the targets, hence in the domain: no projection is needed. Weiszfeld's fixed-point
        iteration stays in that hull too.
        """
        weights = weights / weights.sum()
        point: Vector = weights @ self.targets
        for _ in range(500):
            if np.linalg.norm(self.gradient(point, weights)) < 1e-9:
                break
            pull = weights / np.maximum(self._distances(point), 1e-12)
            point = (pull / pull.sum()) @ self.targets
        # A median may sit on a target, which the iteration only approaches.
        nearest = self.targets[int(np.argmin(np.where(weights > 0, self._distances(point), np.inf)))]
        better: Vector = min(point, nearest, key=lambda x: float(weights @ self._distances(x)))
        return better.copy()

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return the shortest subgradient: targets at the point itself may pull in any direction."""
        distances = self._distances(point)
        here = distances < 1e-12
        pull = np.where(here, 0.0, weights / np.where(here, 1.0, distances))
        rest: Vector = pull.sum() * point - pull @ self.targets
        length, slack = float(np.linalg.norm(rest)), float(weights[here].sum())
        if length <= slack:
            return np.zeros_like(rest)
        return rest * (1.0 - slack / length)

    def _distances(self, point: Vector) -> Vector:
        return _norms(self.targets - point)


def _norms(rows: Vector) -> Vector:
    squares: Vector = np.einsum("ij,ij->i", rows, rows)  # much faster than numpy.linalg.norm on thin arrays
    return np.sqrt(squares)


class LinearLosses:
    """Linear losses f(x) = <cost, x> + offset.

    Parameters
    ----------
    costs : array of shape (kinds, n)
    offset : float
        The same for all kinds.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.lab.simulation.loss_library import LinearLosses
    >>> library = LinearLosses(np.eye(2), 0.5)
    >>> library.losses(np.array([0.25, 1.0]), np.array([0, 1, 1]))
    array([0.75, 1.5 , 1.5 ])
    """

    def __init__(self, costs: Vector, offset: float) -> None:
        self.costs = costs
        self.offset = offset

    def __len__(self) -> int:
        return len(self.costs)

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return the linear losses of the actions."""
        if actions.ndim == 1:
            return (self.costs @ actions + self.offset).take(kinds)
        result: Vector = np.einsum("ij,ij->i", self.costs.take(kinds, axis=0), actions)
        result += self.offset
        return result

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return the extreme point of the total cost: one call of the oracle."""
        return domain.extreme_point(self.gradient(domain.center, weights))

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return the total cost."""
        total: Vector = weights @ self.costs
        return total
