"""Street networks without their cycles: the links that lead nearer to the target (Dial's efficient links, 1971)."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Indices, Integers, Vector
from sottovoce.domains._solvers.graph import Graph, read_graph
from sottovoce.domains._solvers.shortest_paths import distances, links_by_tail
from sottovoce.errors import DomainError

__all__ = ["EfficientLinks", "TwoWays", "efficient_links", "lengths_of", "read_streets"]

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


def lengths_of(lengths: Any, graph: Any, count: int) -> Vector:
    """Return one length for every edge, or say what is wrong."""
    if lengths is None:
        return np.ones(count)
    if isinstance(lengths, str):
        lengths = _attribute(lengths, graph)
    values = np.asarray(lengths, dtype=np.float64)
    if values.shape != (count,):
        raise ValueError(f"lengths must be one number for each of the {count} edges, got shape {values.shape}")
    bad = np.flatnonzero(~((values >= 0.0) & np.isfinite(values)))
    if bad.size:
        raise ValueError(f"lengths must be finite and at least 0, got {values[bad[0]]} for edge {bad[0]}")
    return values


def _attribute(name: str, graph: Any) -> list[Any]:
    if not hasattr(graph, "edges"):
        raise TypeError(f"lengths={name!r} names an attribute of edges, but graph is a plain array of edges")
    found = [graph.edges[edge].get(name) for edge in graph.edges]
    if None in found:
        edge = list(graph.edges)[found.index(None)]
        raise ValueError(f"lengths={name!r} must be an attribute of every edge; edge {edge!r} has none")
    return found


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
    backwards = links_by_tail(heads, tails, edges, len(read.nodes))
    far, links, arrival = distances(lengths_of(lengths, graph, len(read.tails)), *backwards, end, -1)
    if arrival[begin] < 0:
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
