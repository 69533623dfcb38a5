"""Paths through a directed graph without cycles."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce._checks import vector
from sottovoce.domains._solvers.graph import Graph, acyclic_part, read_graph
from sottovoce.domains._solvers.graph_kernels import cheapest_path, walks
from sottovoce.domains._solvers.min_cost_flow import MinCostFlow
from sottovoce.domains.base import how_many, read_only
from sottovoce.domains.graphs._flow_domain import FlowDomain
from sottovoce.domains.graphs._flow_space import FlowSpace

__all__ = ["Paths"]

_UNIFORMS = 2_000_000  # random numbers drawn at a time for walks


class Paths(FlowDomain):
    """Paths from a source to a target in a directed graph without cycles; a mixture of paths is a unit flow.

    Coordinates are the edges in the graph's own order. Costs may be negative. Edges on no path from source to target
    are always 0, and cycles among them do no harm.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph, or array of shape (m, 2)
        The edges, as a networkx graph or as pairs (tail, head).
    source, target : node
        Where paths begin and end.

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
    """

    def __init__(self, graph: Any, *, source: Any, target: Any) -> None:
        read = read_graph(graph, directed=True)
        self.source, self.target = source, target
        self._network = acyclic_part(read, read.number("source", source), read.number("target", target))
        self.dimension = len(read.tails)
        useful = np.zeros(self.dimension, dtype=bool)
        useful[self._network.edges] = True
        self._space = FlowSpace(read, useful)
        # With no cycles a unit flow is at most 1 everywhere: that bound need not be imposed.
        self._capacity = read_only(np.full(self.dimension, np.inf))
        self._feasible = read_only(self.extreme_point(np.zeros(self.dimension)))

    def __repr__(self) -> str:
        nodes = len(self._space.graph.nodes)
        return f"Paths({nodes} nodes, {self.dimension} edges, {self.source!r} to {self.target!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a grid, and a graph with parallel edges, a dead end, a bridge, and a cycle off the way."""
        ladder = [(0, 1), (0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (1, 5), (6, 7), (7, 6), (7, 1), (2, 4)]
        return cls(_grid(3, 3), source=(0, 0), target=(2, 2)), cls(ladder, source=0, target=4)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest path: one pass over the edges in topological order."""
        cost = vector("cost", cost, self.dimension)
        edges, tails, heads, starts = self._network
        return cheapest_path(cost, edges, tails, heads, len(starts) - 1)

    @property
    def outer_radius(self) -> float:
        """Distance from the centre to the farthest path: on 0/1 points, a linear function of the path."""
        farthest = self.extreme_point(2 * self.center - 1)
        return math.dist(farthest, self.center)

    @cached_property
    def _diameter(self) -> float:
        """Find the two paths with the most edges in one of them only.

        Both together are a flow of 2: its first unit on an edge counts 1, its second takes that back. The cheapest
        flow on edges that are there twice, at costs -1 and 1, is integral and takes the first copy first.
        """
        graph, m = self._space.graph, self.dimension
        double = Graph(graph.nodes, np.tile(graph.tails, 2), np.tile(graph.heads, 2))
        capacity = np.zeros(2 * m)
        capacity[self._space.free] = capacity[self._space.free + m] = 1.0
        ends = graph.nodes.index(self.source), graph.nodes.index(self.target)
        copies = np.repeat((-1.0, 1.0), m)
        return math.sqrt(max(-float(copies @ MinCostFlow(double, *ends, 2.0, capacity).cheapest(copies)), 0.0))

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw paths with mean `x`: walk the flow, leaving each node by an edge in proportion to its flow."""
        x = vector("x", x, self.dimension)
        count = how_many(size)
        edges, _, heads, starts = self._network
        flow = np.maximum(self._settled(x)[edges], 0.0)
        block = max(1, _UNIFORMS // self._longest)
        rows = [
            walks(flow, starts, edges, heads, rng.random((min(block, count - done), self._longest)), self.dimension)
            for done in range(0, max(count, 1), block)
        ]
        return self._drawn(np.vstack(rows), size)

    @cached_property
    def _longest(self) -> int:
        """Most edges that a path can have."""
        return int(self.extreme_point(np.full(self.dimension, -1.0)).sum())


def _grid(rows: int, columns: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the edges of a grid of one-way streets, down and to the right."""
    down = [((i, j), (i + 1, j)) for i in range(rows - 1) for j in range(columns)]
    right = [((i, j), (i, j + 1)) for i in range(rows) for j in range(columns - 1)]
    return down + right
