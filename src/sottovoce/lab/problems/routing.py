"""Routing: split traffic over the routes of a network, from end-to-end times alone."""

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import number, vector, whole
from sottovoce.domains import Paths
from sottovoce.lab.problems._networks import Directed, Network, load_network
from sottovoce.lab.problems._people.congestion import CongestedFlows
from sottovoce.lab.problems._pictures.maps import draw_map
from sottovoce.lab.problems._sizes import rectangle
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Kinds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Routing", "Traffic"]

HOURS, ODDS = (0.6, 1.0, 1.4), (0.35, 0.35, 0.3)  # night, day, rush hour: traffic, and how often
BUSIEST = 0.9  # mean load of the busiest link, in units of its capacity
MOST = 1.2  # a link that is offered more background traffic than this turns it away
ROUTES = 5  # that `explain` names


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
        `nobel-germany` (embedded), another network of SNDlib, or `grid-RxC`; see `networks.load_network`.
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
    >>> best = problem.environment.comparator(10_000)
    >>> problem.explain(best.point)[0]
    ('Muenchen - Nuernberg - Frankfurt - Koeln - Dortmund - Norden', '39%')
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

    def draw(self, axes: "Axes", point: Vector) -> None:
        """Draw the flow on the map: the wider a link, the larger the share of the traffic on it."""
        point = vector("point", point, self.domain.dimension)
        shares = np.zeros(len(self.network.links))
        shares[list(self.directed.links)] = np.clip(point, 0.0, 1.0)
        wide = [link for link in np.argsort(-shares, kind="stable").tolist() if shares[link] >= 0.1]
        notes = [(link, f"{shares[link]:.0%}") for link in wide]
        ends = [self.network.nodes.index(self.source), self.network.nodes.index(self.target)]
        draw_map(axes, self.network, shares, notes=notes, ends=ends)

    def explain(self, point: Vector) -> list[tuple[str, str]]:
        """Return the main routes with their shares: take the widest route out of the flow, again and again."""
        flow = np.clip(vector("point", point, self.domain.dimension), 0.0, None)
        said, rest = [], 1.0
        for _ in range(ROUTES):
            route, share = self._widest(flow)
            if share < 0.005:
                break
            flow[route] -= share
            rest -= share
            stops = [self.directed.arcs[route[0]][0], *(self.directed.arcs[arc][1] for arc in route)]
            said.append((" - ".join(self.network.nodes[stop] for stop in stops), f"{share:.0%}"))
        return [*said, ("other routes", f"{rest:.0%}")] if rest >= 0.005 else said

    def _widest(self, flow: Vector) -> tuple[list[int], float]:
        """Return the arcs of the route whose narrowest arc has the most flow, and that flow."""
        source, target = (self.network.nodes.index(end) for end in (self.source, self.target))
        width, last = {source: np.inf}, {}
        for arc, (tail, head) in enumerate(self.directed.arcs):  # in topological order
            through = min(width[tail], float(flow[arc]))
            if through > width.get(head, -1.0):
                width[head], last[head] = through, arc
        route = [last[target]]
        while (tail := self.directed.arcs[route[-1]][0]) != source:
            route.append(last[tail])
        return route[::-1], width[target]

    @classmethod
    def sized(cls, size: int, *, seed: int = 0) -> Self:
        """Return a town of `size` blocks of houses (or the next number that fills a rectangle), corner to corner.

        The affine dimension of its flows is the number of blocks.
        """
        rows, columns = rectangle(size)
        return cls(
            network=f"grid-{rows + 1}x{columns + 1}", source="1/1", target=f"{rows + 1}/{columns + 1}", seed=seed
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Return the default, a town, and one where congestion is linear and the ends are near."""
        return [
            cls(),
            cls.sized(4, seed=1),
            cls(source="Hannover", target="Nuernberg", steepness=1, congestion=0.8, situations=20, seed=2),
        ]
