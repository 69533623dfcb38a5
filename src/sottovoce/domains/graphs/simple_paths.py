"""Paths through any directed graph, cycles or not, for costs that are not negative."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Indices, Integers, Mask, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._edge_names import edge_labels, in_order_of_travel, names_of_edges
from sottovoce.domains._labels import Labels
from sottovoce.domains._solvers.graph import Graph, read_graph
from sottovoce.domains._solvers.reduced_costs import without_negative_cycles
from sottovoce.domains._solvers.shortest_paths import cheapest_simple_path, links_by_tail
from sottovoce.domains.base import Domain, Fixed, how_many, read_only
from sottovoce.domains.graphs._flow_space import FlowSpace
from sottovoce.domains.graphs.paths import Paths
from sottovoce.domains.matroids import Graphic
from sottovoce.errors import DomainError

_ROUNDING = 1e-12  # share of the largest cost by which others may be below 0
_ADVICE = (
    "Plans with losses='linear' need neither (plan='auto'); for others, Paths.toward makes a set from a street network "
    "that has both"
)


class SimplePaths(Fixed, Domain):
    """Paths from a source to a target in any directed graph; they come to no node twice. Costs must not be negative.

    Coordinates are the edges in the graph's own order. A cheapest path is found by Dijkstra's algorithm (1959), which
    needs costs of at least 0. With negative ones the question is that for a longest path, which is NP-hard where there
    are cycles; the oracle refuses them. So this set is for losses that are, on average, a constant and a cost for each
    edge of the path, none of them below 0: times, tolls, failures. That is a public fact, and `believable` holds
    estimates to it. It is for plans that ask for no other costs: `plan="auto"` with `losses="linear"`, or with
    `integral=True`. Others need `Paths`; `Paths.toward` makes one from a street network.

    Where Dijkstra's algorithm does not lead, geometry is a bound: `affine_dimension` is at most that of flows on the
    edges that may be on a path, `tangent` projects on their directions, `center` is a path, `outer_radius` and
    `diameter` follow from the number of nodes; no ball inside is known, and `inner_radius` says so.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph, or array of shape (m, 2)
        The edges, as a networkx graph or as pairs (tail, head); a street that goes both ways is two of them.
    source, target : node
        Where paths begin and end.
    labels : list of names, mapping from edges to names, or str, optional
        Names of the edges, or the attribute of the graph's edges that holds them. Default: their ends (u, v), and of
        parallel edges (u, v, key).

    Examples
    --------
    >>> ring = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("a", "c"), ("c", "a"), ("b", "d"), ("c", "d")]
    >>> streets = SimplePaths(ring, source="a", target="d")
    >>> streets.extreme_point([1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 9.0, 2.0])  # a, b, c, d
    array([1., 0., 1., 0., 0., 0., 0., 1.])
    >>> streets.extreme_point(np.full(8, -1.0))
    Traceback (most recent call last):
    sottovoce.errors.DomainError: cost must be at least 0 for SimplePaths, and is not on edge 0, ('a', 'b'); ...
    """

    def __init__(self, graph: Any, *, source: Any, target: Any, labels: Any = None) -> None:
        read = read_graph(graph, directed=True)
        self.source, self.target = source, target
        self._ends = read.number("source", source), read.number("target", target)
        if self._ends[0] == self._ends[1]:
            raise DomainError(f"source and target must be two nodes, got {source!r} for both")
        self.dimension = len(read.tails)
        useful = _may_be_on_a_path(read, *self._ends)
        self._space = FlowSpace(read, useful)
        self._take_names(edge_labels(labels, graph, read))
        free = self._space.free.astype(np.int32)
        self._links = links_by_tail(read.tails[free], read.heads[free], free, len(read.nodes))
        self._tails = read.tails[self._links.edges]
        self._center = read_only(self.extreme_point(np.ones(self.dimension)))

    def __repr__(self) -> str:
        nodes = len(self._space.graph.nodes)
        return f"SimplePaths({nodes} nodes, {self.dimension} edges, {self.source!r} to {self.target!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a town of two-way streets, and a graph with one-way and parallel edges, dead ends and a loop."""
        streets = [((i, j), (i + 1, j)) for i in range(2) for j in range(3)]
        streets += [((i, j), (i, j + 1)) for i in range(3) for j in range(2)]
        both = [way for street in streets for way in (street, street[::-1])]
        mixed = [(0, 1), (1, 2), (2, 1), (2, 3), (2, 3), (3, 0), (1, 4), (4, 1), (0, 2), (2, 2), (3, 1)]
        return cls(both, source=(0, 0), target=(2, 2)), cls(mixed, source=0, target=3)

    @cached_property
    def _names_of_edges(self) -> Labels:
        return names_of_edges(self.edges)

    def _own_labels(self) -> Labels:
        return self._names_of_edges

    def _chosen(self, places: Integers, entries: Vector) -> Any:
        """Return the edges in the order of travel; of a mixture, the share of each."""
        return super()._chosen(self.in_order(places) if (entries == 1.0).all() else places, entries)

    def in_order(self, places: Integers) -> Integers:
        """Return the edges of a path in the order of travel."""
        return in_order_of_travel(self._space.graph, self.source, places)

    @property
    def edges(self) -> tuple[tuple[object, object], ...]:
        """Names of both ends of the edge that each coordinate belongs to, in the graph's own order."""
        return self._space.graph.edges

    @property
    def oracle_costs(self) -> str:
        """Those that are not negative."""
        return "non-negative"

    @property
    def most_chosen(self) -> int:
        """Edges of a path that visits every node: the longest path itself is too hard to find."""
        return min(self.dimension, len(self._space.graph.nodes) - 1)

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the indicator of a cheapest path; of equals, one with the fewest edges."""
        cost = vector("cost", cost, self.dimension)
        negative = np.flatnonzero(cost < -_ROUNDING * float(np.abs(cost).max()))
        if negative.size:
            edge = int(negative[0])
            raise DomainError(
                f"cost must be at least 0 for SimplePaths, and is not on edge {edge}, {self.edges[edge]}; where graphs "
                "have cycles, negative costs ask for a longest path, which is NP-hard, and no ball inside the set is "
                f"known. {_ADVICE}"
            )
        return cheapest_simple_path(np.maximum(cost, 0.0), *self._links, self._tails, *self._ends)

    def believable(self, cost: ArrayLike) -> Vector:
        """Return the nearest cost without negative cycles, written so that no entry is negative.

        What paths cost differs from that by one number for all of them: a cost that has no negative cycle chooses the
        same path in either form.
        """
        cost = vector("cost", cost, self.dimension)
        free = self._links.edges
        result = np.zeros(self.dimension)
        nodes = len(self._space.graph.nodes)
        result[free] = without_negative_cycles(cost[free], self._tails, self._links.heads, nodes)
        return result

    @cached_property
    def _single(self) -> bool:
        """Whether there is one path only: then none avoids any of its edges."""
        return bool(self.extreme_point(self._center) @ self._center == self._center.sum())

    @property
    def affine_dimension(self) -> int:
        """At most this: independent cycles of the edges that may be on a path; 0 if there is one path only."""
        return 0 if self._single else max(1, self._space.dimension)

    @property
    def center(self) -> Vector:
        """A path with the fewest edges; read-only."""
        return self._center

    @property
    def inner_radius(self) -> float:
        """Refused, unless the set is a point: a ball inside is found by costs of any sign."""
        if self._single:
            return 0.0
        raise DomainError(
            f"no inner radius is known of {self!r}: that takes cheapest paths for costs of any sign, which is NP-hard "
            f"where graphs have cycles. {_ADVICE}"
        )

    @cached_property
    def _most(self) -> int:
        """Edges that a path has at most: it leaves a node once."""
        return int(np.count_nonzero(np.diff(self._links.starts)))

    @property
    def outer_radius(self) -> float:
        """At most this: the centre and the longest path have no edge in common."""
        return 0.0 if self._single else math.sqrt(float(self._center.sum()) + self._most)

    @property
    def diameter(self) -> float:
        """At most this: two longest paths have no edge in common."""
        return 0.0 if self._single else math.sqrt(2.0 * self._most)

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Project vectors, of shape (n,) or (m, n), on the circulations of edges that may be on a path."""
        return self._space.project(self._vectors(vectors))

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the set.

        Decided for what is no flow from source to target, and for flows that go around no cycle, whose parts are paths.
        Of other flows it is NP-hard to say whether they are mixtures of paths without a cycle, and they are refused.
        """
        x = vector("x", x, self.dimension)
        tolerance = number("tolerance", tolerance, above=0.0)
        if self._is_path(x):
            return True
        off = x - self._center
        if np.linalg.norm(off - self._space.project(off)) > tolerance or x.min() < -tolerance:
            return False
        part, chosen = self._part(x, tolerance / (2 * math.sqrt(self.dimension)))
        return part.contains(x[chosen], tolerance / 2)

    def _is_path(self, x: Vector) -> bool:
        chosen = np.flatnonzero(x)
        if not (x[chosen] == 1.0).all() or not np.isin(chosen, self._space.free).all():
            return False
        graph, node = self._space.graph, self._ends[0]
        onward = dict(zip(graph.tails[chosen].tolist(), graph.heads[chosen].tolist(), strict=True))
        steps = 0
        while node in onward:
            node = onward.pop(node)
            steps += 1
        return steps == len(chosen) and node == self._ends[1]

    def _part(self, x: Vector, least: float) -> tuple[Paths, Indices]:
        """Return the paths along the edges that a flow uses, if these go around no cycle, and which edges they are."""
        chosen = np.flatnonzero(x > least).astype(np.int32)
        names = self.edges
        try:
            return Paths([names[i] for i in chosen], source=self.source, target=self.target), chosen
        except DomainError:
            raise DomainError(
                "x must be a path, or a flow that goes around no cycle: of others it is NP-hard to say whether they "
                f"are mixtures of the paths of {self!r}"
            ) from None

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw paths with mean `x`, a flow that goes around no cycle."""
        x, count = vector("x", x, self.dimension), how_many(size)
        rows = np.zeros((count, self.dimension))
        if self._is_path(x):
            rows[:] = x
        else:
            part, chosen = self._part(x, 1e-9)
            rows[:, chosen] = part.round(x[chosen], rng, count)
        return self._drawn(rows, size)

    def decompose(self, x: ArrayLike) -> tuple[Floats, Vector]:
        """Return paths and their weights, with mean `x`, a flow that goes around no cycle."""
        x = vector("x", x, self.dimension)
        if self._is_path(x):
            return x[None, :].copy(), np.ones(1)
        part, chosen = self._part(x, 1e-9)
        paths, weights = part.decompose(x[chosen])
        rows = np.zeros((len(paths), self.dimension))
        rows[:, chosen] = paths
        return rows, weights


def _may_be_on_a_path(graph: Graph, source: int, target: int) -> Mask:
    """Mark the edges that may be on a path from source to target that comes to no node twice; refuse if there is none.

    Such edges can be come by, lead on to the target, and are, their directions forgotten, in one block (biconnected
    component) with an edge that joined source and target: what hangs on a single node is a dead end. Other edges that
    are on no path may be left; to find them all is NP-hard.
    """
    kept = (graph.tails != graph.heads) & (graph.heads != source) & (graph.tails != target)
    part = Graph(graph.nodes, graph.tails[kept], graph.heads[kept])
    on_the_way = part.reachable(source) & part.reachable(target, backwards=True)
    if not on_the_way[source]:
        raise DomainError(f"graph has no path from {graph.nodes[source]!r} to {graph.nodes[target]!r}")
    kept &= on_the_way[graph.tails] & on_the_way[graph.heads]
    chosen = np.flatnonzero(kept)
    pairs = np.column_stack((graph.tails[chosen], graph.heads[chosen]))
    blocks = Graphic(np.vstack((pairs, [[source, target]]))).components()
    kept[chosen] = blocks[:-1] == blocks[-1]
    return np.asarray(kept)
