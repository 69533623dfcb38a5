"""Graphs as they come (networkx, or edges as pairs), read into numbered nodes and edges in the graph's own order.

networkx is never imported: whatever has `nodes`, `edges` and `is_directed` will do.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sottovoce._arrays import Indices, Mask
from sottovoce.errors import DomainError


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

    def edge_names(self) -> tuple[Hashable, ...]:
        """Return the ends of every edge, and beside them, for parallel edges, the number of each.

        Examples
        --------
        >>> read_graph([("a", "b"), ("b", "c"), ("a", "b")], directed=True).edge_names()
        (('a', 'b', 0), ('b', 'c'), ('a', 'b', 1))
        """
        pairs = self.edges
        counts, seen, names = Counter(pairs), Counter[Any](), list[Hashable]()
        for pair in pairs:
            names.append((*pair, seen[pair]) if counts[pair] > 1 else pair)
            seen[pair] += 1
        return tuple(names)

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
        pairs, others = [edge[:2] for edge in graph.edges], graph.nodes
    else:
        pairs, others = graph.tolist() if isinstance(graph, np.ndarray) else graph, ()
    try:
        pairs = [(tail, head) for tail, head in pairs]
        names = dict.fromkeys((*(node for pair in pairs for node in pair), *others))  # those without edges come last
    except (TypeError, ValueError):
        raise TypeError(
            "graph must be a networkx graph, or edges as an (m, 2) array or list of pairs of nodes, got "
            f"{type(graph).__name__}"
        ) from None
    if not pairs:
        raise DomainError("graph must have at least one edge")
    number = {name: i for i, name in enumerate(names)}
    ends = np.array([(number[a], number[b]) for a, b in pairs], dtype=np.int32)
    return Graph(tuple(names), np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]))


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
    rank = topological_ranks(graph, edges)
    edges = edges[np.argsort(rank[graph.tails[edges]], kind="stable")]
    tails, heads = rank[graph.tails[edges]], rank[graph.heads[edges]]
    starts = np.searchsorted(tails, np.arange(int(useful.sum()) + 1)).astype(np.int32)
    return AcyclicPart(edges, tails, heads, starts)


def topological_ranks(graph: Graph, edges: Indices) -> Indices:
    """Number the nodes of the given edges so that every edge goes up (Kahn, 1962); others get -1; cycles raise."""
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
        raise DomainError(_cycle_message(graph, tails, heads, waiting))
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
