"""Graphs as they come (networkx, or edges as pairs), read into numbered nodes and edges in the graph's own order.

networkx is never imported: whatever has `nodes`, `edges` and `is_directed` will do.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sottovoce._arrays import Floats, Indices, Mask
from sottovoce.errors import DomainError


def edge_attribute(argument: str, name: str, graph: Any, default: Any = None) -> list[Any]:
    """Return an attribute of every edge of a networkx graph; without a default, all of them must have it."""
    if not hasattr(graph, "edges") or not hasattr(graph.edges, "data"):
        raise TypeError(
            f"{argument}={name!r} names an attribute of edges, but graph is a plain array of edges: pass a list"
        )
    found = [graph.edges[edge].get(name, default) for edge in graph.edges]
    if None in found:
        edge = list(graph.edges)[found.index(None)]
        raise ValueError(f"{argument}={name!r} must be an attribute of every edge; edge {edge!r} has none")
    return found


def edge_numbers(argument: str, given: Any, graph: Any, count: int, *, default: float, finite: bool) -> Floats:
    """Return a number, at least 0, for every edge: from an array, one for all, or an attribute; or say why not."""
    if isinstance(given, str):
        given = edge_attribute(argument, given, graph, None if finite else default)
    values = np.asarray(default if given is None else given, dtype=np.float64)
    values = np.full(count, values) if values.ndim == 0 else values
    if values.shape != (count,):
        raise ValueError(f"{argument} must be one number for each of the {count} edges, got shape {values.shape}")
    bad = np.flatnonzero(~((values >= 0.0) & (np.isfinite(values) if finite else True)))
    if bad.size:
        raise ValueError(
            f"{argument} must be {'finite and ' if finite else ''}at least 0, got {values[bad[0]]} for edge {bad[0]}"
        )
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes by name, and edges by the numbers of their ends; coordinate i of a point belongs to edge i."""

    nodes: tuple[Hashable, ...]
    tails: Indices
    heads: Indices

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Both ends of every edge, by name."""
        return tuple((self.nodes[a], self.nodes[b]) for a, b in zip(self.tails, self.heads, strict=True))

    def number(self, argument: str, node: Any) -> int:
        """Return the number of a node by its name."""
        try:
            return self.nodes.index(node)
        except ValueError:
            some = ", ".join(map(repr, self.nodes[:5])) + (", ..." if len(self.nodes) > 5 else "")
            raise DomainError(f"{argument} must be a node of the graph ({some}), got {node!r}") from None

    def refuse_loops(self) -> None:
        """Raise if an edge has the same node at both ends."""
        loops = np.flatnonzero(self.tails == self.heads)
        if loops.size:
            node = self.nodes[self.tails[loops[0]]]
            raise DomainError(f"graph has a self-loop at node {node!r} (edge {loops[0]}): remove self-loops first")

    def refuse_parts(self) -> None:
        """Raise if the graph, its edges taken both ways, is not in one piece."""
        count, part = connected_components(self.adjacency(), directed=False)
        if count > 1:
            apart = self.nodes[int(np.flatnonzero(part != part[0])[0])]
            raise DomainError(
                f"graph must be connected, but it has {count} parts: no path joins {self.nodes[0]!r} and {apart!r}"
            )

    def adjacency(self, chosen: NDArray[Any] | slice = slice(None), *, backwards: bool = False) -> Any:
        """Return the sparse matrix of the chosen edges; entries are positive, as csgraph reads 0 as no edge."""
        tails, heads = self.tails[chosen], self.heads[chosen]
        ends = (heads, tails) if backwards else (tails, heads)
        return csr_array((np.ones(len(tails)), ends), shape=(len(self.nodes),) * 2)

    def reachable(self, node: int, *, backwards: bool = False) -> Mask:
        """Mark the nodes that a path leads to from `node` (backwards: from which one leads to it)."""
        marks = np.zeros(len(self.nodes), dtype=bool)
        marks[breadth_first_order(self.adjacency(backwards=backwards), node, return_predecessors=False)] = True
        return marks


def read_graph(graph: Any, *, directed: bool) -> Graph:
    """Read a networkx graph, or edges as an (m, 2) array or list of pairs; say what is wrong with it."""
    if hasattr(graph, "edges") and hasattr(graph, "is_directed"):
        if graph.is_directed() != directed:
            wanted, method = ("directed", "to_directed") if directed else ("undirected", "to_undirected")
            raise DomainError(f"graph must be {wanted}, got {type(graph).__name__}: use graph.{method}()")
        return _numbered((edge[:2] for edge in graph.edges), graph.nodes)
    if isinstance(graph, np.ndarray):
        graph = graph.tolist()
    try:
        pairs = [(tail, head) for tail, head in graph]
        nodes = dict.fromkeys(node for pair in pairs for node in pair)
    except (TypeError, ValueError):
        raise TypeError(
            "graph must be a networkx graph, or edges as an (m, 2) array or list of pairs of nodes, got "
            f"{type(graph).__name__}"
        ) from None
    return _numbered(pairs, nodes)


def _numbered(edges: Iterable[tuple[Hashable, Hashable]], nodes: Iterable[Hashable]) -> Graph:
    names = tuple(dict.fromkeys(nodes))
    number = {name: i for i, name in enumerate(names)}
    ends = np.array([(number[a], number[b]) for a, b in edges], dtype=np.int32).reshape(-1, 2)
    if len(ends) == 0:
        raise DomainError("graph must have at least one edge")
    return Graph(names, np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]))


class AcyclicPart(NamedTuple):
    """The edges on paths from a source to a target, sorted by tail; nodes are renumbered in topological order."""

    edges: Indices
    tails: Indices
    heads: Indices
    starts: Indices


def acyclic_part(graph: Graph, source: int, target: int) -> AcyclicPart:
    """Return the edges that lie on some path from source to target; raise if there is none, or a cycle among them."""
    if source == target:
        raise DomainError(f"source and target must be two nodes, got {graph.nodes[source]!r} for both")
    useful = graph.reachable(source) & graph.reachable(target, backwards=True)
    if not useful[source]:
        raise DomainError(f"graph has no path from {graph.nodes[source]!r} to {graph.nodes[target]!r}")
    edges = np.flatnonzero(useful[graph.tails] & useful[graph.heads]).astype(np.int32)
    rank = topological_ranks(graph, edges, "; Paths.toward leads a network of streets toward its target")
    edges = edges[np.argsort(rank[graph.tails[edges]], kind="stable")]
    tails, heads = rank[graph.tails[edges]], rank[graph.heads[edges]]
    starts = np.searchsorted(tails, np.arange(int(useful.sum()) + 1)).astype(np.int32)
    return AcyclicPart(edges, tails, heads, starts)


def topological_ranks(graph: Graph, edges: Indices, advice: str = "") -> Indices:
    """Number the nodes of the given edges so that every edge goes up (Kahn, 1962); others get -1.

    Cycles raise, with advice.
    """
    tails, heads = graph.tails[edges].tolist(), graph.heads[edges].tolist()
    leaving: dict[int, list[int]] = {node: [] for node in (*tails, *heads)}
    waiting = dict.fromkeys(leaving, 0)
    for tail, head in zip(tails, heads, strict=True):
        leaving[tail].append(head)
        waiting[head] += 1
    ready = [node for node, count in waiting.items() if count == 0]
    for node in ready:  # grows as it is read
        for head in leaving[node]:
            waiting[head] -= 1
            if waiting[head] == 0:
                ready.append(head)
    if len(ready) < len(waiting):
        raise DomainError(_cycle_message(graph, tails, heads, waiting) + advice)
    ranks = np.full(len(graph.nodes), -1, dtype=np.int32)
    ranks[ready] = np.arange(len(ready))
    return ranks


def _cycle_message(graph: Graph, tails: list[int], heads: list[int], waiting: dict[int, int]) -> str:
    """Name a cycle: every node that still waits has an edge from another that does; walk back until one repeats."""
    behind = {head: tail for tail, head in zip(tails, heads, strict=True) if waiting[tail] > 0}
    node = next(node for node, count in waiting.items() if count > 0)
    seen: list[int] = []
    while node not in seen:
        seen.append(node)
        node = behind[node]
    cycle = [node, *reversed(seen[seen.index(node) :])]
    names = " -> ".join(repr(graph.nodes[i]) for i in cycle[:10]) + (" ..." if len(cycle) > 10 else "")
    return f"graph must have no directed cycle here, but has {names}"
