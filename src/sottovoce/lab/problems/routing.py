"""Routing: split traffic over the routes of a network, from end-to-end times alone."""

import math
from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import number, whole
from sottovoce.domains import Domain, Paths
from sottovoce.lab.problems._networks import Directed, Network, load_network
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Kinds

HOURS, ODDS = (0.6, 1.0, 1.4), (0.35, 0.35, 0.3)  # night, day, rush hour: traffic, and how often
BUSIEST = 0.9  # mean load of the busiest link, in units of its capacity
MOST = 1.2  # a link that is offered more background traffic than this turns it away


class Traffic(FiniteEnvironment):
    """One transfer after the other, each in a traffic situation drawn from a list.

    In every situation each place sends to each other one, along a shortest route, an amount that is the product of how
    active the two are. Activity is log-normal (heavy-tailed) around a mean of the place's own, and rises at rush hour.
    """

    name: ClassVar[str] = "traffic"

    def __init__(self, routing: "Routing") -> None:
        network, arcs = routing.network, routing.directed.arcs
        names = [(network.nodes[a], network.nodes[b]) for a, b in arcs]
        super().__init__(Paths(names, source=routing.source, target=routing.target), routing.seed)
        if self.domain.affine_dimension < 1:
            raise ValueError(
                f"source and target must have a choice of routes between them; {routing.source!r} and "
                f"{routing.target!r} have only one on {network.name}"
            )
        self._routing = repr(routing)
        self.library = CongestedFlows(
            self.domain,
            np.array([network.lengths[link] for link in routing.directed.links]),
            self._background(network, arcs, routing.situations),
            demand=routing.demand,
            congestion=routing.congestion,
            steepness=routing.steepness,
        )
        self.loss_range = (0.0, 1.0)
        self.lipschitz = self.library.lipschitz

    def _background(self, network: Network, arcs: tuple[tuple[int, int], ...], situations: int) -> Vector:
        rng = self._design_rng()
        nodes = len(network.nodes)
        size = rng.lognormal(0.0, 0.4, nodes)
        activity = size * rng.lognormal(0.0, 0.3, (situations, nodes))
        hours = rng.choice(HOURS, p=ODDS, size=situations)
        traffic = hours[:, None, None] * activity[:, :, None] * activity[:, None, :]
        loads = network.loads(arcs, traffic)
        loads *= BUSIEST / max(float(loads.mean(axis=0).max()), 1e-9)
        return np.minimum(loads, MOST)

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return the situation of each event, by lot."""
        return rng.integers(0, len(self.library), size=size)

    def __repr__(self) -> str:
        return f"{self._routing}.environment"


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
    congestion, steepness : float, int
        Of the formula: 0.15 and 4 are the values of the Bureau of Public Roads.
    situations : int
        Different traffic situations.
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
        congestion: float = 0.15,
        steepness: int = 4,
        situations: int = 256,
        seed: int = 0,
    ) -> None:
        self.network = load_network(network)
        self.places = dict(zip(self.network.nodes, self.network.positions, strict=True))
        self.source, self.target = self._ends(source, target)
        self.demand = number("demand", demand, above=0.0)
        self.congestion = number("congestion", congestion, above=0.0)
        self.steepness = whole("steepness", steepness, most=10)
        self.situations = whole("situations", situations)
        self.seed = whole("seed", seed, least=0)
        ends = self.network.nodes.index(self.source), self.network.nodes.index(self.target)
        self.directed: Directed = self.network.towards(*ends)
        self.environment: Traffic = Traffic(self)

    def _ends(self, source: str | None, target: str | None) -> tuple[str, str]:
        nodes, apart = self.network.nodes, self.network.distances()
        if source is None and target is None:
            source, target = (nodes[i] for i in np.unravel_index(int(apart.argmax()), apart.shape))
        elif source is None:
            source = nodes[int(apart[self.network.number("target", target)].argmax())]
        elif target is None:
            target = nodes[int(apart[self.network.number("source", source)].argmax())]
        self.network.number("source", source)
        self.network.number("target", target)
        if source == target:
            raise ValueError(f"source and target must be two places, got {source!r} for both")
        return str(source), str(target)

    def __repr__(self) -> str:
        return (
            f"Routing(network={self.network.name!r}, source={self.source!r}, target={self.target!r}, "
            f"demand={self.demand:g}, congestion={self.congestion:g}, steepness={self.steepness}, "
            f"situations={self.situations}, seed={self.seed})"
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Return the default, a short way, and one where congestion is linear and the ends are near."""
        return [
            cls(),
            cls(source="Frankfurt", target="Hamburg", demand=1.0, seed=1),
            cls(source="Hannover", target="Nuernberg", steepness=1, congestion=0.8, situations=20, seed=2),
        ]


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

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> from sottovoce.lab.problems.routing import CongestedFlows
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


# ----------------------------------------------------------------------
# The best point against a smooth convex loss: pairwise Frank-Wolfe, which needs the oracle and a gradient only.


_HALVINGS = 50


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
    >>> from sottovoce.lab.problems.routing import smooth_minimum
    >>> smooth_minimum(sv.domains.Simplex(3), lambda x: x - [0.5, 0.4, -0.3], gap=1e-9).round(6) + 0.0
    array([0.55, 0.45, 0.  ])
    """
    vertices = [domain.extreme_point(gradient(domain.center))]
    weights = [1.0]
    x = vertices[0].copy()
    for _ in range(steps):
        slope = gradient(x)
        best = domain.extreme_point(slope)
        if slope @ (x - best) <= gap:
            break
        worst = int(np.argmax([slope @ vertex for vertex in vertices]))
        way = best - vertices[worst]
        step = _along(gradient, x, way, weights[worst])
        _move(vertices, weights, worst, best, step)
        x = np.asarray(weights) @ np.asarray(vertices)
    return x


def _along(gradient: Callable[[Vector], Vector], x: Vector, way: Vector, most: float) -> float:
    """Return where, between 0 and `most`, the slope along the way turns positive."""
    if gradient(x + most * way) @ way <= 0.0:
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if gradient(x + middle * way) @ way <= 0.0:
            low = middle
        else:
            high = middle
    return low


def _move(vertices: list[Vector], weights: list[float], worst: int, best: Vector, step: float) -> None:
    """Move `step` of weight from one vertex to another, which may be new; drop what has no weight left."""
    for i, vertex in enumerate(vertices):
        if np.array_equal(vertex, best):
            weights[i] += step
            break
    else:
        vertices.append(best)
        weights.append(step)
    weights[worst] -= step
    if weights[worst] <= 0.0:
        del vertices[worst], weights[worst]
