"""Flows of a given value through a network with capacities."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sottovoce._arrays import Mask, Vector
from sottovoce._checks import number, numbers, vector
from sottovoce.domains._solvers.graph import Graph, read_graph, topological_ranks
from sottovoce.domains._solvers.linear_program import LinearProgram
from sottovoce.domains.base import read_only
from sottovoce.domains.graphs._flow_domain import FlowDomain
from sottovoce.errors import DomainError


class Flows(FlowDomain):
    """Flows of a given value from a source to a target, within the capacities of the edges.

    Coordinates are the edges in the graph's own order. The graph may have cycles, and costs may be negative. Flow
    around a cycle belongs to the set (without it the set would not be convex), so where the costs around a cycle add
    up to less than 0, a cheapest flow goes around it as often as the capacities allow. Vertices are integral if the
    value and the capacities are.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph, or array of shape (m, 2)
        The edges, as a networkx graph or as pairs (tail, head).
    source, target : node
        Where the flow begins and ends.
    value : float
        How much flows, above 0.
    capacities : array of shape (m,), float, or None
        Most that an edge carries, in the graph's own order, or one number for all. None, and infinity in an array, mean
        no limit: then no directed cycle may consist of such edges.
    labels : list of names, optional
        Names of the edges. Default: their ends (u, v), and of parallel edges (u, v, number).

    Examples
    --------
    >>> pipes = Flows([("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t")],
    ...               source="s", target="t", value=3, capacities=[2, 2, 1, 2, 2])
    >>> pipes.extreme_point([1.0, 2.0, 0.0, 3.0, 1.0])
    array([2., 1., 1., 1., 2.])
    >>> pipes.affine_dimension
    2
    >>> Flows([("s", "a"), ("a", "t")], source="s", target="t", value=3, capacities=[2, 5])
    Traceback (most recent call last):
    sottovoce.errors.DomainError: value must be at most what the capacities allow from 's' to 't', got 3
    """

    chosen_as = "amounts that are not 0"

    def __init__(
        self,
        graph: Any,
        *,
        source: Any,
        target: Any,
        value: float = 1.0,
        capacities: Any = None,
        labels: Any = None,
    ) -> None:
        self._graph = read = read_graph(graph, directed=True)
        read.refuse_loops()
        ends = read.number("source", source), read.number("target", target)
        if ends[0] == ends[1]:
            raise DomainError(f"source and target must be two nodes, got {source!r} for both")
        self.source, self.target = source, target
        self.value = number("value", value, above=0.0)
        self.dimension = len(read.tails)
        self._capacity = _limits(capacities, self.dimension)
        try:  # flow must not go around a cycle of edges without a limit for ever
            topological_ranks(read, np.flatnonzero(np.isinf(self._capacity)).astype(np.int32))
        except DomainError as error:
            raise DomainError(f"capacities must be finite somewhere on every directed cycle: {error}") from None
        self._program = _program(read, *ends, self.value, self._capacity)
        limits = np.append(self._capacity, self.value)
        self._whole = bool((limits[np.isfinite(limits)] % 1.0 == 0.0).all())
        try:
            self._feasible = read_only(self.extreme_point(np.zeros(self.dimension)))
        except DomainError:
            raise DomainError(
                f"value must be at most what the capacities allow from {source!r} to {target!r}, got {self.value:g}"
            ) from None
        self._free = np.flatnonzero(_free(read, self._feasible, self._capacity))
        self._name(labels)

    def __repr__(self) -> str:
        nodes = len(self._graph.nodes)
        return f"Flows({nodes} nodes, {self.dimension} edges, {self.value:g} from {self.source!r} to {self.target!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return unit capacities, a graph with cycles and real capacities, and one with edges that are always full."""
        three = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (1, 2), (2, 3)]
        wheel = [("s", "a"), ("s", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("a", "t"), ("c", "t"), ("b", "s")]
        full = [(0, 1), (1, 2), (1, 2), (1, 3), (3, 2), (2, 4), (4, 1)]
        return (
            cls(three, source=0, target=4, value=2, capacities=1.0),
            cls(wheel, source="s", target="t", value=1.5, capacities=[1.2, np.inf, 0.7, 1.0, 0.9, 0.8, np.inf, 0.5]),
            cls(full, source=0, target=4, value=2, capacities=[2, 1, 1, 1, np.inf, 3, 1]),
        )

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return a cheapest flow, by linear programming; a whole one, if value and capacities are whole numbers."""
        flow = np.clip(self._program.solve(vector("cost", cost, self.dimension)), 0.0, self._capacity)
        return np.rint(flow) if self._whole else flow


def _limits(capacities: Any, count: int) -> Vector:
    limits = numbers("capacities", np.inf if capacities is None else capacities)
    limits = np.full(count, limits) if limits.ndim == 0 else limits
    if limits.shape != (count,) or not (limits >= 0.0).all():
        raise ValueError(f"capacities must be one number for each of the {count} edges, at least 0, got {capacities!r}")
    return read_only(limits)


def _program(graph: Graph, source: int, target: int, value: float, capacity: Vector) -> LinearProgram:
    """Return the program of flows of a value: what leaves a node less what enters it, for all nodes but the target."""
    edges, supply = np.arange(len(graph.tails)), np.zeros(len(graph.nodes))
    signs = np.repeat((1.0, -1.0), len(edges))
    ends = np.concatenate((graph.tails, graph.heads)), np.tile(edges, 2)
    balance = coo_array((signs, ends), shape=(len(supply), len(edges))).tocsr()
    supply[source] = value
    others = np.arange(len(supply)) != target
    return LinearProgram(balance[others], supply[others], supply[others], np.zeros(len(edges)), capacity)


def _free(graph: Graph, flow: Vector, capacity: Vector) -> Mask:
    """Mark the edges that are not at the same bound in every flow.

    An edge at a bound can leave it exactly if a cycle of the residual graph goes through it: if both of its ends are in
    one strong component.
    """
    tiny = 1e-12 * max(1.0, float(flow.max()))
    can_rise, can_fall = flow < capacity - tiny, flow > tiny
    tails = np.concatenate((graph.tails[can_rise], graph.heads[can_fall]))
    heads = np.concatenate((graph.heads[can_rise], graph.tails[can_fall]))
    residual = Graph(graph.nodes, tails, heads).adjacency()
    _, component = connected_components(residual, directed=True, connection="strong")
    together = component[graph.tails] == component[graph.heads]
    free: Mask = (can_rise & can_fall) | (together & (capacity > tiny))
    return free
