"""Mirror maps: what "close to where we started" means.

A mirror map gives the divergence from a centre c; the point map of NoisyOCO is the gradient of its conjugate,
argmin over the set of divergence(x, c) - <dual, x>. At dual = 0 that is c.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce.domains import Domain
from sottovoce.projection import Entropy, Objective, Quadratic

Vector = NDArray[np.float64]


class MirrorMap(Protocol):
    """A strongly convex function, seen through its divergence from a centre."""

    def objective(self, center: Vector, dual: Vector) -> Objective:
        """Return x -> divergence(x, center) - <dual, x>, to be minimised over the set."""

    def gap_to_distance(self, gap: float, domain: Domain) -> float:
        """Return how far (in the map's own norm) a point of a set with this Frank-Wolfe gap can be from the best."""


@dataclass(frozen=True)
class Euclidean:
    """1/2 ||x - c||^2: the paper's choice. Its point map is the projection of c + dual.

    Examples
    --------
    >>> Euclidean().objective(np.zeros(2), np.array([1.0, 0.0])).value(np.zeros(2))
    0.5
    """

    def objective(self, center: Vector, dual: Vector) -> Quadratic:
        """Return 1/2 ||x - (center + dual)||^2, which differs from the definition by a constant.

        Parameters
        ----------
        center
            c, where the run starts.
        dual
            The step times the sum of gradients, negated.
        """
        return Quadratic(center + dual)

    def gap_to_distance(self, gap: float, domain: Domain) -> float:
        """1/2||x - x*||^2 is at most the primal gap, and the quadratic growth doubles it: ||x - x*||^2 <= gap.

        Parameters
        ----------
        gap
            A Frank-Wolfe gap, at most.
        domain
            The set.
        """
        return float(np.sqrt(max(gap, 0.0)))


@dataclass(frozen=True)
class NegativeEntropy:
    """Sum of x log x, for sets of non-negative vectors such as simplices: a strong choice in l1.

    Examples
    --------
    >>> center = np.full(2, 0.5)
    >>> NegativeEntropy().objective(center, np.zeros(2)).gradient(center)  # least where dual = 0 should lead
    array([0., 0.])
    """

    def objective(self, center: Vector, dual: Vector) -> Entropy:
        """Return sum of x log(x/c) - x - dual*x: the Kullback-Leibler divergence from c (`center`) less <`dual`, x>."""
        if not (center > 0).all():
            raise ValueError(
                "negative entropy needs a centre with positive coordinates only; "
                "use the Euclidean mirror map on this domain, or pass another center"
            )
        return Entropy(-np.log(center) - 1.0 - dual)

    def gap_to_distance(self, gap: float, domain: Domain) -> float:
        """||x - x*||_1^2 <= M gap, with M the largest sum of coordinates in the set: 1 on the simplex (Pinsker).

        By Cauchy and Schwarz (sum of |h|)^2 <= (sum of h^2/x)(sum of x), so the map is 1/M-strongly convex in l1.

        Parameters
        ----------
        gap
            A Frank-Wolfe gap, at most.
        domain
            The set.
        """
        largest = float(domain.extreme_point(-np.ones(domain.dimension)).sum())
        return float(np.sqrt(largest * max(gap, 0.0)))
