"""Paths through a directed graph without cycles."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Indices, Integers, Vector
from sottovoce._checks import vector
from sottovoce._compiled import compiled
from sottovoce.domains._kinds import Choices
from sottovoce.domains._solvers.graph import acyclic_part, read_graph
from sottovoce.domains.base import read_only
from sottovoce.domains.graphs._flow_domain import FlowDomain

_UNIFORMS = 2_000_000  # random numbers drawn at a time for walks


class Paths(Choices, FlowDomain):
    """Paths from a source to a target in a directed graph without cycles; a mixture of paths is a unit flow.

    Coordinates are the edges in the graph's own order. Costs may be negative. Edges on no path from source to target
    are always 0, and cycles among them do no harm. Of a street network, which has cycles, hand in the links that lead
    nearer to the target.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph, or array of shape (m, 2)
        The edges, as a networkx graph or as pairs (tail, head).
    source, target : node
        Where paths begin and end.
    labels : list of names, optional
        Names of the edges. Default: their ends (u, v), and of parallel edges (u, v, number).

    Examples
    --------
    >>> streets = Paths([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "c")], source="a", target="d")
    >>> streets.extreme_point([1.0, 3.0, 4.0, 1.0, -1.0])  # a, b, c, d
    array([1., 0., 0., 1., 1.])
    >>> streets.affine_dimension, streets.contains([0.5, 0.5, 0.5, 0.5, 0.0])
    (2, True)
    >>> streets.round([0.5, 0.5, 0.5, 0.5, 0.0], np.random.default_rng(0), size=2)
    array([[0., 1., 0., 1., 0.],
           [1., 0., 1., 0., 0.]])
    >>> streets.chosen([1.0, 0.0, 0.0, 1.0, 1.0])
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    """

    def __init__(self, graph: Any, *, source: Any, target: Any, labels: Any = None) -> None:
        self._graph = read = read_graph(graph, directed=True)
        self.source, self.target = source, target
        self._network = acyclic_part(read, read.number("source", source), read.number("target", target))
        self.dimension = len(read.tails)
        self._free = np.sort(self._network.edges).astype(np.int64)
        self._name(labels)
        # With no cycles a unit flow is at most 1 everywhere: that bound need not be imposed.
        self._capacity = read_only(np.full(self.dimension, np.inf))
        self._feasible = read_only(self.extreme_point(np.zeros(self.dimension)))

    def __repr__(self) -> str:
        nodes = len(self._graph.nodes)
        return f"Paths({nodes} nodes, {self.dimension} edges, {self.source!r} to {self.target!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a grid, and a graph with parallel edges, a dead end, a bridge, and a cycle off the way."""
        ladder = [(0, 1), (0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (1, 5), (6, 7), (7, 6), (7, 1), (2, 4)]
        return cls(_grid(3, 3), source=(0, 0), target=(2, 2)), cls(ladder, source=0, target=4)

    def _chosen(self, places: Integers, entries: Vector) -> Any:
        """Return the edges in the order of travel; of a mixture, the share of each."""
        return super()._chosen(self.in_order(places) if (entries == 1.0).all() else places, entries)

    def in_order(self, places: Integers) -> Integers:
        """Return the edges of a path in the order of travel; as they are, if they are no path."""
        tails, heads = self._graph.tails[places].tolist(), self._graph.heads[places].tolist()
        leaving = {tail: (edge, head) for edge, tail, head in zip(range(len(tails)), tails, heads, strict=True)}
        node, order = self._graph.nodes.index(self.source), list[int]()
        while node in leaving:
            edge, node = leaving.pop(node)
            order.append(edge)
        return places[order] if len(order) == len(places) else places

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


def _grid(rows: int, columns: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the edges of a grid of one-way streets, down and to the right."""
    down = [((i, j), (i + 1, j)) for i in range(rows - 1) for j in range(columns)]
    right = [((i, j), (i, j + 1)) for i in range(rows) for j in range(columns - 1)]
    return down + right


# ----------------------------------------------------------------------
# Inner loops, compiled by their first call.


@compiled
def cheapest_path(cost: Vector, edges: Indices, tails: Indices, heads: Indices, nodes: int) -> Vector:
    """Return the indicator of a cheapest path from node 0 to the last node, in one pass; any signs of costs.

    Nodes are numbered in topological order; position k of `tails` and `heads`, sorted by tail, is the coordinate
    `edges[k]` of the cost.
    """
    distance = np.full(nodes, np.inf)
    arrival = np.full(nodes, -1, np.int32)
    distance[0] = 0.0
    for k in range(len(edges)):
        through = distance[tails[k]] + cost[edges[k]]
        # A node without an arrival takes what it gets: sums that overflow must still end in a path.
        if through < distance[heads[k]] or arrival[heads[k]] < 0:
            distance[heads[k]] = through
            arrival[heads[k]] = k
    vertex = np.zeros(len(cost))
    node = nodes - 1
    while node != 0:
        k = arrival[node]
        vertex[edges[k]] = 1.0
        node = tails[k]
    return vertex


@compiled
def walks(flow: Vector, starts: Indices, edges: Indices, heads: Indices, uniforms: Floats, dimension: int) -> Floats:
    """Walk from node 0 to the last node, once for each row of `uniforms`, leaving nodes in proportion to the flow.

    The edges out of node i have the positions starts[i] to starts[i + 1]; `flow` is by position, and non-negative.
    """
    rows = np.zeros((len(uniforms), dimension))
    last = len(starts) - 2
    for row in range(len(uniforms)):
        node, step = 0, 0
        while node != last:
            leaving = 0.0
            for k in range(starts[node], starts[node + 1]):
                leaving += flow[k]
            mark = uniforms[row, step] * leaving
            # As u < 1, the mark is below the same sum, so an edge without flow is never taken. But rounding can let a
            # walker in where nothing flows out at all: it takes the last edge.
            chosen = starts[node + 1] - 1
            below = 0.0
            for k in range(starts[node], starts[node + 1]):
                below += flow[k]
                if mark < below:
                    chosen = k
                    break
            rows[row, edges[chosen]] = 1.0
            node = heads[chosen]
            step += 1
    return rows


@compiled
def even_flow(edges: Indices, tails: Indices, heads: Indices, starts: Indices, dimension: int) -> Vector:
    """Return the unit flow from node 0 to the last that leaves each node by all of its edges alike, in one pass."""
    nodes = len(starts) - 1
    through = np.zeros(nodes)
    through[0] = 1.0
    flow = np.zeros(dimension)
    for k in range(len(edges)):
        tail = tails[k]
        share = through[tail] / (starts[tail + 1] - starts[tail])
        flow[edges[k]] = share
        through[heads[k]] += share
    return flow
