"""Routing: split traffic over the routes of a network, from end-to-end times alone."""

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import choice, number
from sottovoce.domains import Domain, Paths
from sottovoce.lab.problems._networks import load_network
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation.finite import FiniteEnvironment, Kinds

HOURS, ODDS = (0.6, 1.0, 1.4), (0.35, 0.35, 0.3)  # night, day, rush hour: traffic, and how often
SITUATIONS = 256  # of traffic
BUSIEST = 0.9  # mean load of the busiest link, in units of its capacity
MOST = 1.2  # a link that is offered more background traffic than this turns it away


class Traffic(FiniteEnvironment):
    """One transfer after the other, each in a traffic situation drawn from a list.

    In every situation each place sends to each other one, along a shortest route, an amount that is the product of how
    active the two are. Activity is log-normal (heavy-tailed) around a mean of the place's own, and rises at rush hour.
    """

    def __init__(self, paths: Paths, *, network: str, demand: float = 0.6, seed: int = 0) -> None:
        super().__init__(paths, seed)
        self.network, self.demand = network, number("demand", demand, above=0.0)
        known, rng = load_network(network), self._design_rng()
        size = rng.lognormal(0.0, 0.4, len(known.places))
        activity = size * rng.lognormal(0.0, 0.3, (SITUATIONS, len(size)))
        hours = rng.choice(HOURS, p=ODDS, size=SITUATIONS)
        loads = known.loads(hours[:, None, None] * activity[:, :, None] * activity[:, None, :])
        background = np.stack([loads[way] for way in paths.edges], axis=1)
        background *= BUSIEST / max(float(background.mean(axis=0).max()), 1e-9)
        lengths = dict(zip(known.links, known.lengths, strict=True))
        free = np.array([lengths.get(way) or lengths[way[::-1]] for way in paths.edges])
        self.library = CongestedFlows(paths, free, np.minimum(background, MOST), demand=self.demand)
        self.lipschitz = self.library.lipschitz


class Routing(DecisionProblem):
    """Split the traffic between two places over the routes of a real network; only end-to-end times are seen.

    The losses are mean travel times in [0, 1]; `CongestedFlows` states the formula, the range and the Lipschitz
    constant, and proves them.

    Parameters
    ----------
    network : str
        `nobel-germany` (embedded), or another network of SNDlib; see `networks.load_network`.
    source, target : str, optional
        By default the two places that are farthest apart by road.
    demand : float
        Our traffic, in units of a link's capacity.
    seed : int
        Fixes the situations and their order.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.lab.problems.Routing()
    >>> problem.source, problem.target, problem.domain.affine_dimension
    ('Muenchen', 'Norden', 8)
    >>> best = problem.environment.comparator(20_000)
    >>> round(problem.domain.chosen(best.point)["Muenchen", "Nuernberg"], 2)
    0.82
    """

    name: ClassVar[str] = "routing"
    title: ClassVar[str] = "Split traffic over the routes of a network"
    story: ClassVar[str] = (
        "An operator splits the traffic between two cities over the routes of a network. Links slow down as they fill, "
        "and how full they are changes from hour to hour. Of every customer's transfer only the end-to-end time is "
        "seen, and that time tells when and where the customer was online."
    )

    def __init__(
        self,
        *,
        network: str = "nobel-germany",
        source: str | None = None,
        target: str | None = None,
        demand: float = 0.6,
        seed: int = 0,
    ) -> None:
        known = load_network(network)
        self.places, nodes, far = known.places, list(known.places), known.shortest()[0]
        for name, end in (("source", source), ("target", target)):
            if end is not None:
                choice(name, end, tuple(nodes))
        if source is None:
            source = nodes[int((far.max(axis=1) if target is None else far[nodes.index(target)]).argmax())]
        self.source, self.target = source, target or nodes[int(far[nodes.index(source)].argmax())]
        if self.source == self.target:
            raise ValueError(f"source and target must be two places, got {self.source!r} for both")
        paths = Paths(known.towards(self.source, self.target), source=self.source, target=self.target)
        if paths.affine_dimension < 1:
            raise ValueError(
                f"source and target must have a choice of routes between them; {self.source!r} and "
                f"{self.target!r} have only one on {network}"
            )
        self.environment = Traffic(paths, network=network, demand=demand, seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return the default, and a short way."""
        return [cls(), cls(source="Frankfurt", target="Hamburg", demand=1.0, seed=1)]


# ----------------------------------------------------------------------
# Travel times that grow with the load, by the formula of the Bureau of Public Roads (1964).


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
        0.15 and 4 are the values of the Bureau of Public Roads.

    Examples
    --------
    >>> import sottovoce as sv
    >>> two = sv.domains.Paths([("a", "b"), ("a", "b")], source="a", target="b")
    >>> library = CongestedFlows(two, np.array([1.0, 2.0]), np.zeros((1, 2)), demand=1.0, congestion=1.0, steepness=1)
    >>> library.fastest, library.slowest  # 1 x (1 + 0) and 2 x (1 + 1)
    (1.0, 4.0)
    >>> library.losses(np.array([0.5, 0.5]), np.array([0])) * 3 + 1  # 0.5 x 1.5 + 0.5 x 3
    array([2.25])
    >>> library.best(two, np.ones(1)).round(6)  # 1 + 2x = 2 + 4(1 - x)
    array([0.833333, 0.166667])
    """

    def __init__(
        self,
        domain: Domain,
        free: Vector,
        background: Vector,
        *,
        demand: float,
        congestion: float = 0.15,
        steepness: int = 4,
    ) -> None:
        self.background, self.demand, self.congestion, self.steepness = background, demand, congestion, steepness
        self.free = free
        self.fastest = min(float(cost @ domain.extreme_point(cost)) for cost in self._times(background))
        self.slowest = max(float(cost @ domain.extreme_point(-cost)) for cost in self._times(background + demand))
        self.scale = self.slowest - self.fastest
        self.free = free / self.scale
        full = background + demand
        self.lipschitz = self._steepest(domain, self._times(background), self._times(full) + self._growth(full))

    def _times(self, loads: Vector) -> Vector:
        """Return how long the links take under these loads."""
        return np.asarray(self.free * (1 + self.congestion * loads**self.steepness))

    def _growth(self, loads: Vector) -> Vector:
        """Return how fast that grows with our share."""
        return np.asarray(self.free * self.congestion * self.steepness * self.demand * loads ** (self.steepness - 1))

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
        background = self.background.take(kinds, axis=0)
        total = (actions * self._times(background + self.demand * np.clip(actions, 0.0, 1.0))).sum(axis=1)
        if (actions > 1.0).any():
            total += (np.maximum(actions - 1.0, 0.0) * self._growth(background + self.demand)).sum(axis=1)
        return np.asarray(total - self.fastest / self.scale)

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return the gradient of the weighted sum, for flows."""
        loads = self.background + self.demand * point
        return np.asarray(weights @ (self._times(loads) + point * self._growth(loads)))

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return a flow whose weighted mean time is least, to a Frank-Wolfe gap of 1e-7 of the range."""
        return smooth_minimum(domain, lambda x: self.gradient(x, weights), gap=GAP)


# ----------------------------------------------------------------------
# The best point against a smooth convex loss: pairwise Frank-Wolfe, which needs the oracle and a gradient only.


def smooth_minimum(domain: Domain, gradient: Callable[[Vector], Vector], *, gap: float, steps: int = 2000) -> Vector:
    """Return a feasible point whose Frank-Wolfe gap is at most `gap`, or the best found within `steps`.

    Each step moves weight from the worst vertex in use to the best vertex there is (Lacoste-Julien and Jaggi, 2015), as
    far as the slope along the way is negative. On polytopes the gap shrinks by a constant factor with every good step.

    Parameters
    ----------
    domain : Domain
    gradient : callable
        Of a smooth convex function.
    gap : float
        <gradient(x), x - v> for the best vertex v: no feasible point is better than x by more.
    steps : int
        Oracle calls, at most.

    Examples
    --------
    >>> import sottovoce as sv
    >>> smooth_minimum(sv.domains.Simplex(3), lambda x: x - [0.5, 0.4, -0.3], gap=1e-9).round(6) + 0.0
    array([0.55, 0.45, 0.  ])
    """
    x = domain.extreme_point(gradient(domain.center))
    weights = {x.tobytes(): 1.0}  # of the vertices in use
    for _ in range(steps):
        slope = gradient(x)
        best = domain.extreme_point(slope)
        if slope @ (x - best) <= gap:
            break
        worst = max(weights, key=lambda vertex: float(slope @ np.frombuffer(vertex)))
        step = _step(gradient, x, best - np.frombuffer(worst), weights[worst])
        weights[best.tobytes()] = weights.get(best.tobytes(), 0.0) + step
        weights[worst] -= step
        if weights[worst] <= 0.0:
            del weights[worst]
        x = np.array(list(weights.values())) @ np.array([np.frombuffer(vertex) for vertex in weights])
    return x


def _step(gradient: Callable[[Vector], Vector], x: Vector, way: Floats, most: float) -> float:
    """Return where, between 0 and `most`, the slope along the way turns positive."""

    def slope(step: float) -> float:
        return float(gradient(x + step * way) @ way)

    return most if slope(most) <= 0.0 else float(brentq(slope, 0.0, most))
