"""Travel times that grow with the load, by the formula of the Bureau of Public Roads (1964)."""

import math

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.domains import Domain
from sottovoce.lab.problems._people._convex import smooth_minimum
from sottovoce.lab.simulation.loss_library import Kinds

__all__ = ["CongestedFlows"]

GAP = 1e-7  # certificate that the comparator is solved to, of a loss range of 1


class CongestedFlows:
    r"""Mean travel times of a unit flow, one function for each situation of background traffic.

    A link e with background load l takes the time t_e(x) = free_e (1 + congestion (l + demand x)^steepness) when the
    share x of our demand is on it; loads are in units of the capacity. The mean time of the flow is
    f(x) = sum of x_e t_e(x_e), shifted and scaled to lie in [0, 1] over all situations and all flows.

    *Convex.* h(x) = x t(x) is a polynomial with coefficients >= 0, convex for x >= 0. Below 0 and above 1 it goes on
    along its tangents, so it is convex everywhere, and so is the sum.

    *In range.* A convex function is largest at a vertex: the slowest path when each of its links has all of the demand.
    Since t(x) >= t(0), no flow is faster than the fastest path at the background load alone.

    *Lipschitz.* Derivatives h' lie between l = t(0) and u = t(1) + t'(1). With P the projection on the directions of
    the affine hull, ||P grad f|| <= ||P (l + u)/2|| + ||(u - l)/2||, over the links that are on some route.

    Parameters
    ----------
    domain : Domain
        Unit flows.
    free : array of shape (n,)
        Times of the empty links.
    background : array of shape (situations, n)
    demand, congestion : float
    steepness : int

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> from sottovoce.lab.problems._people.congestion import CongestedFlows
    >>> two = sv.domains.Paths([("a", "b"), ("a", "b")], source="a", target="b")
    >>> library = CongestedFlows(two, np.array([1.0, 2.0]), np.zeros((1, 2)), demand=1.0, congestion=1.0, steepness=1)
    >>> library.fastest, library.slowest  # 1 x (1 + 0) and 2 x (1 + 1)
    (1.0, 4.0)
    >>> library.times(np.array([0.5, 0.5]), np.array([0]))  # 0.5 x 1.5 + 0.5 x 3
    array([2.25])
    >>> library.best(two, np.ones(1)).round(6)  # 1 + 2x = 2 + 4(1 - x)
    array([0.833333, 0.166667])
    """

    def __init__(
        self, domain: Domain, free: Vector, background: Vector, *, demand: float, congestion: float, steepness: int
    ) -> None:
        self.free, self.background = free, background
        self.demand, self.congestion, self.steepness = demand, congestion, steepness
        empty = free * (1 + congestion * _power(background, steepness))
        full = free * (1 + congestion * _power(background + demand, steepness))
        growth = free * congestion * steepness * demand * _power(background + demand, steepness - 1)
        self.fastest = min(float(cost @ domain.extreme_point(cost)) for cost in empty)
        self.slowest = max(float(cost @ domain.extreme_point(-cost)) for cost in full)
        self.scale = self.slowest - self.fastest
        self._growth = growth / self.scale  # how much steeper than t(1) the function goes on beyond 1
        self._free = free / self.scale
        self.lipschitz = self._steepest(domain, empty / self.scale, (full + growth) / self.scale)

    @staticmethod
    def _steepest(domain: Domain, lowest: Vector, highest: Vector) -> float:
        moving = np.linalg.norm(domain.tangent(np.eye(domain.dimension)), axis=1) > 1e-9
        half = np.where(moving, highest - lowest, 0.0) / 2
        middles = np.linalg.norm(domain.tangent((lowest + highest) / 2), axis=1)
        return float((middles + np.linalg.norm(half, axis=1)).max())

    def __len__(self) -> int:
        return len(self.background)

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return the scaled mean times of the flows."""
        if actions.ndim == 1:
            return self._scaled(actions, self.background, self._growth).take(kinds)
        growth = self._growth.take(kinds, axis=0) if (actions > 1.0).any() else None
        return self._scaled(actions, self.background.take(kinds, axis=0), growth)

    def times(self, point: Vector, kinds: Kinds) -> Vector:
        """Return mean times in the unit of `free`."""
        return self.losses(point, kinds) * self.scale + self.fastest

    def _scaled(self, actions: Vector, background: Vector, growth: Vector | None) -> Vector:
        load = np.clip(actions, 0.0, 1.0) * self.demand
        times = _power(np.add(background, load, out=load if load.ndim == 2 else None), self.steepness)
        times *= self.congestion
        times += 1.0
        times *= self._free
        rows = np.broadcast_to(actions, times.shape)
        total: Vector = np.einsum("ij,ij->i", rows, times)
        if growth is not None:
            total += np.einsum("ij,ij->i", np.maximum(rows - 1.0, 0.0), growth)
        total -= self.fastest / self.scale
        return total

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return a flow whose weighted mean time is least, to a Frank-Wolfe gap of 1e-7 of the range."""
        slopes = self._polynomials(weights)
        return smooth_minimum(domain, lambda x: _horner(slopes, x), gap=GAP)

    def _polynomials(self, weights: Vector) -> Vector:
        """Return the derivative of every link's weighted function on [0, 1]: row j holds the coefficients of x^j."""
        b = self.steepness
        moments = np.stack([weights @ _power(self.background, b - j) for j in range(b + 1)])
        chosen = np.array([math.comb(b, j) * self.demand**j for j in range(b + 1)])
        inner = self.congestion * chosen[:, None] * moments
        inner[0] += weights.sum()
        return np.arange(1, b + 2)[:, None] * inner * self._free

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return the gradient of the weighted sum."""
        return _horner(self._polynomials(weights), np.clip(point, 0.0, 1.0))


def _power(values: Vector, exponent: int) -> Vector:
    """Return a new array of powers by repeated squaring: many times faster than numpy's power."""
    result = None
    base = values
    while exponent:
        if exponent & 1:
            result = base.copy() if result is None else result * base
        exponent >>= 1
        base = base * base if exponent else base
    return np.ones_like(values) if result is None else result


def _horner(coefficients: Vector, x: Vector) -> Vector:
    result: Vector = coefficients[-1].copy()
    for row in coefficients[-2::-1]:
        result *= x
        result += row
    return result
