"""Paths through a directed graph without cycles."""

import heapq
import math
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import sparse

from sottovoce._arrays import Floats, Indices, Integers, Vector
from sottovoce._checks import vector
from sottovoce.domains._edge_names import edge_labels, in_order_of_travel
from sottovoce.domains._solvers.graph import Graph, acyclic_part, edge_numbers, read_graph
from sottovoce.domains._solvers.graph_kernels import cheapest_path, even_flow, walks
from sottovoce.domains.base import read_only
from sottovoce.domains.graphs._flow_domain import FlowDomain
from sottovoce.domains.graphs._flow_space import FlowSpace
from sottovoce.errors import DomainError

_UNIFORMS = 2_000_000  # random numbers drawn at a time for walks


class Paths(FlowDomain):
    """Paths from a source to a target in a directed graph without cycles; a mixture of paths is a unit flow.

    Coordinates are the edges in the graph's own order. Costs may be negative. Edges on no path from source to target
    are always 0, and cycles among them do no harm. For street networks, which have cycles, see `toward`.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph, or array of shape (m, 2)
        The edges, as a networkx graph or as pairs (tail, head).
    source, target : node
        Where paths begin and end.
    kept : array of shape (m,), optional
        Of a part of a larger network: which of its edges each one is. `toward` says so.
    labels : list of names, mapping from edges to names, or str, optional
        Names of the edges, or the attribute of the graph's edges that holds them. Default: their ends (u, v), and of
        parallel edges (u, v, key).

    Attributes
    ----------
    kept : array of shape (m,)
        As given; by default 0, 1, ..., m - 1.

    Examples
    --------
    >>> streets = Paths([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "c")], source="a", target="d")
    >>> streets.extreme_point([1.0, 3.0, 4.0, 1.0, -1.0])  # a, b, c, d
    array([1., 0., 0., 1., 1.])
    >>> streets.affine_dimension, streets.diameter
    (2, 2.0)
    >>> streets.round([0.5, 0.5, 0.5, 0.5, 0.0], np.random.default_rng(0), size=2)
    array([[0., 1., 0., 1., 0.],
           [1., 0., 1., 0., 0.]])
    >>> streets.chosen([1.0, 0.0, 0.0, 1.0, 1.0])
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    """

    def __init__(
        self, graph: Any, *, source: Any, target: Any, kept: ArrayLike | None = None, labels: Any = None
    ) -> None:
        read = read_graph(graph, directed=True)
        self.source, self.target = source, target
        self._network = acyclic_part(read, read.number("source", source), read.number("target", target))
        self.dimension = len(read.tails)
        self.kept = _numbers_of_edges(kept, self.dimension)
        useful = np.zeros(self.dimension, dtype=bool)
        useful[self._network.edges] = True
        self._space = FlowSpace(read, useful)
        self._name_edges(labels, graph)
        # With no cycles a unit flow is at most 1 everywhere: that bound need not be imposed.
        self._capacity = read_only(np.full(self.dimension, np.inf))
        self._feasible = read_only(self.extreme_point(np.zeros(self.dimension)))

    def __repr__(self) -> str:
        nodes = len(self._space.graph.nodes)
        return f"Paths({nodes} nodes, {self.dimension} edges, {self.source!r} to {self.target!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a grid, a graph with parallel edges, a dead end, a bridge, and a cycle off the way, and streets."""
        ladder = [(0, 1), (0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (1, 5), (6, 7), (7, 6), (7, 1), (2, 4)]
        streets = [way for pair in _grid(3, 3) for way in (pair, pair[::-1])]
        return (
            cls(_grid(3, 3), source=(0, 0), target=(2, 2)),
            cls(ladder, source=0, target=4),
            cls.toward(streets, source=(0, 1), target=(2, 2), lengths=[1.0, 1.0, 2.5, 0.5, 0.0, 0.0] * 4),
        )

    @classmethod
    def toward(cls, graph: Any, *, source: Any, target: Any, lengths: Any = None, labels: Any = None) -> Self:
        """Return the paths through a street network that come nearer to the target with every link.

        Street networks have cycles, if only because streets go both ways. What is kept here is Dial's efficient links
        (1971): link (u, v) if v is nearer to the target than u, by the shortest way; at equal distance (up to rounding)
        if v needs fewer links to get there, and neither way if that is equal, too. Then there are no cycles. Links that
        are off all such paths from the source are left out, and so are self-loops and what does not lead to the target;
        parallel edges are all kept, or none. A shortest path is always among the paths, also through lengths of 0. What
        is lost are paths that for a while lead away from the target, even if they cost less.

        Coordinates are the links that are kept, in the graph's own order: `edges` has their ends, in the direction of
        travel, and `kept` the numbers of the graph's edges.

        Parameters
        ----------
        graph : networkx graph, or array of shape (m, 2)
            The network: directed, or undirected, whose edges go both ways; with parallel edges or without. Pairs (tail,
            head) go one way each: a street that goes both ways is two of them.
        source, target : node
            Where paths begin and end.
        lengths : array of shape (m,), or str, optional
            Lengths of the edges, in the graph's own order, at least 0; or the name of the attribute of the graph's
            edges that holds them. Default: all are 1. They are public, and settled before the first loss.
        labels : list of names, mapping from edges to names, or str, optional
            Names of the network's edges, as `Paths` takes them.

        Examples
        --------
        >>> town = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c"), ("c", "b"), ("b", "d"), ("c", "d")]
        >>> streets = Paths.toward(town, source="a", target="d", lengths=[1, 1, 3, 3, 1, 1, 3, 1])
        >>> streets.edges
        (('a', 'b'), ('a', 'c'), ('b', 'c'), ('b', 'd'), ('c', 'd'))
        >>> streets.kept
        array([0, 2, 4, 6, 7])
        """
        graph = list(graph) if isinstance(graph, Iterator) else graph
        found = efficient_links(graph, source, target, lengths)
        one_way = not hasattr(graph, "is_directed") or graph.is_directed()
        names = edge_labels(labels, graph, read_streets(graph).graph, directed=one_way)
        kept = None if names is None else [names[edge] for edge in found.kept.tolist()]
        return cls(found.pairs, source=source, target=target, kept=found.kept, labels=kept)

    def _chosen(self, places: Integers, entries: Vector) -> Any:
        """Return the edges in the order of travel; of a mixture, the share of each."""
        return super()._chosen(self.in_order(places) if (entries == 1.0).all() else places, entries)

    def in_order(self, places: Integers) -> Integers:
        """Return the edges of a path in the order of travel."""
        return in_order_of_travel(self._space.graph, self.source, places)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest path: one pass over the edges in topological order."""
        cost = vector("cost", cost, self.dimension)
        edges, tails, heads, starts = self._network
        return cheapest_path(cost, edges, tails, heads, len(starts) - 1)

    @cached_property
    def _quick_middle(self) -> Vector:
        """The flow that leaves every node by all of its edges alike."""
        edges, tails, heads, starts = self._network
        return read_only(even_flow(edges, tails, heads, starts, self.dimension))

    @property
    def outer_radius(self) -> float:
        """Distance from the centre to the farthest path: on 0/1 points, a linear function of the path."""
        farthest = self.extreme_point(2 * self.center - 1)
        return math.dist(farthest, self.center)

    @cached_property
    def diameter(self) -> float:
        """Find the two paths with the most edges in one of them only.

        Both together are a flow of 2: its first unit on an edge counts 1, its second takes that back. The cheapest
        flow on edges that are there twice, at costs -1 and 1, is integral and takes the first copy first.
        """
        incidence, count = self._space.incidence, len(self._space.free)
        copies = np.repeat((-1.0, 1.0), count)
        found = scipy.optimize.linprog(
            copies,
            A_eq=sparse.hstack((incidence, incidence)),
            b_eq=2.0 * (incidence @ self._feasible[self._space.free]),
            bounds=(0, 1),
            method="highs",
        )
        assert found.x is not None
        return math.sqrt(round(-float(copies @ found.x)))

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw paths with mean `x`: walk the flow, leaving each node by an edge in proportion to its flow."""
        edges, _, heads, starts = self._network
        flow = np.maximum(self._settled(x)[edges], 0.0)
        block = max(1, _UNIFORMS // self.most_chosen)
        rows = [
            walks(flow, starts, edges, heads, rng.random((min(block, count - done), self.most_chosen)), self.dimension)
            for done in range(0, max(count, 1), block)
        ]
        return np.vstack(rows)


def _numbers_of_edges(kept: ArrayLike | None, count: int) -> Integers:
    numbers = np.arange(count) if kept is None else np.array(kept)
    whole_numbers = numbers.shape == (count,) and np.issubdtype(numbers.dtype, np.integer)
    if not whole_numbers or numbers.min() < 0 or len(np.unique(numbers)) < count:
        raise ValueError(f"kept must be {count} different whole numbers, one for each edge, at least 0")
    numbers = numbers.astype(np.int64)
    numbers.setflags(write=False)
    return numbers


def _grid(rows: int, columns: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the edges of a grid of one-way streets, down and to the right."""
    down = [((i, j), (i + 1, j)) for i in range(rows - 1) for j in range(columns)]
    right = [((i, j), (i, j + 1)) for i in range(rows) for j in range(columns - 1)]
    return down + right


# ----------------------------------------------------------------------
# Street networks without their cycles: the links that lead nearer to the target (Dial's efficient links, 1971).


_GRAIN = 2.0**-40  # of the way from source to target: distances that differ by less are equal, and differ by rounding


class TwoWays(NamedTuple):
    """A network as links that go one way each; an undirected edge is two of them. `edges` are whose ways they are."""

    graph: Graph
    tails: Indices
    heads: Indices
    edges: Indices


class EfficientLinks(NamedTuple):
    """The links that are left, by the names of their ends, and which edge of the network each is."""

    pairs: list[tuple[Hashable, Hashable]]
    kept: Integers


def read_streets(graph: Any) -> TwoWays:
    """Read a network: directed, or undirected, whose edges go both ways; pairs are directed."""
    undirected = hasattr(graph, "edges") and hasattr(graph, "is_directed") and not graph.is_directed()
    read = read_graph(graph, directed=not undirected)
    numbers = np.arange(len(read.tails), dtype=np.int32)
    if not undirected:
        return TwoWays(read, read.tails, read.heads, numbers)
    both = np.concatenate((read.tails, read.heads)), np.concatenate((read.heads, read.tails))
    return TwoWays(read, *both, np.tile(numbers, 2))


def _ways_to(end: int, tails: Indices, heads: Indices, along: Vector, nodes: int) -> tuple[Vector, Integers]:
    """Return how far every node is from the end, and by how few links of the shortest way; `nodes` where there is none.

    Dijkstra's algorithm (1959), which settles nodes at equal distance by their links.
    """
    arriving: list[list[tuple[int, float]]] = [[] for _ in range(nodes)]
    for tail, head, length in zip(tails.tolist(), heads.tolist(), along.tolist(), strict=True):
        arriving[head].append((tail, length))
    far, links = np.full(nodes, np.inf), np.full(nodes, nodes, dtype=np.int64)
    waiting = [(0.0, 0, end)]
    while waiting:
        distance, count, node = heapq.heappop(waiting)
        if links[node] < nodes:
            continue
        far[node], links[node] = distance, count
        for tail, length in arriving[node]:
            if links[tail] == nodes:
                heapq.heappush(waiting, (distance + length, count + 1, tail))
    return far, links


def efficient_links(graph: Any, source: Any, target: Any, lengths: Any) -> EfficientLinks:
    """Return the links that lead nearer to the target and can be come by from the source.

    Nodes are compared by their distance from the target, and if that is equal by how few links it takes. Both fall
    along a shortest path with the fewest links, so that one is always left, also through links of length 0; and since
    no link that is left goes up, there is no cycle.
    """
    read, tails, heads, edges = read_streets(graph)
    begin, end = read.number("source", source), read.number("target", target)
    if begin == end:
        raise DomainError(f"source and target must be two nodes, got {source!r} for both")
    along = edge_numbers("lengths", lengths, graph, len(read.tails), default=1.0, finite=True)[edges]
    far, links = _ways_to(end, tails, heads, along, len(read.nodes))
    if links[begin] == len(read.nodes):
        raise DomainError(f"graph has no path from {source!r} to {target!r}")
    if not np.isfinite(far[begin]):
        raise ValueError(f"lengths must add up to a finite number on the way from {source!r} to {target!r}")
    with np.errstate(over="ignore"):  # nodes that are farther from the target than the source, by any amount
        steps = np.rint(far / far[begin] / _GRAIN) if far[begin] > 0.0 else far
    nearer = (steps[heads] < steps[tails]) | ((steps[heads] == steps[tails]) & (links[heads] < links[tails]))
    picked = np.flatnonzero(nearer)
    one_way = Graph(read.nodes, tails[picked], heads[picked])
    picked = picked[one_way.reachable(begin)[one_way.tails]]
    picked = picked[np.argsort(edges[picked], kind="stable")]
    names = read.nodes
    pairs = [(names[a], names[b]) for a, b in zip(tails[picked].tolist(), heads[picked].tolist(), strict=True)]
    return EfficientLinks(pairs, edges[picked].astype(np.int64))
