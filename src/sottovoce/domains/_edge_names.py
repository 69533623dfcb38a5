"""What edges are called: by their ends, or by names of their own; and in which order a path takes them."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from sottovoce._arrays import Integers
from sottovoce.domains._labels import Labels, read_labels
from sottovoce.domains._solvers.graph import Graph, edge_attribute


def edge_labels(labels: Any, graph: Any, read: Graph, *, directed: bool = True) -> Labels | None:
    """Return the names that were given to edges: a list, a mapping, or an attribute of a networkx graph's edges.

    None if none were given; then edges are called by their ends, which `names_of_edges` returns. A mapping may have the
    ends of an edge that is not directed in either order.
    """
    if labels is None:
        return _keys(graph, read)
    if isinstance(labels, str):
        labels = edge_attribute("labels", labels, graph)
    elif isinstance(labels, Mapping):
        labels = _mapped(labels, names_of_edges(read.edges), directed)
    return read_labels("labels", labels, len(read.tails))


def _keys(graph: Any, read: Graph) -> Labels | None:
    """Return the ends and keys of a networkx multigraph's edges, if the keys are names; None if they just count."""
    if not hasattr(graph, "edges") or not hasattr(graph, "is_directed"):
        return None
    edges = [tuple(edge) for edge in graph.edges]
    pairs, counted = Counter(edge[:2] for edge in edges), names_of_edges(read.edges)
    named = tuple(edge if pairs[edge[:2]] > 1 else edge[:2] for edge in edges)
    return None if named == counted else named


def _mapped(labels: Mapping[Any, Any], edges: tuple[Any, ...], directed: bool) -> list[Any]:
    keys = [edge if directed or edge in labels else (edge[1], edge[0], *edge[2:]) for edge in edges]
    for edge, key in zip(edges, keys, strict=True):
        if key not in labels:
            raise ValueError(f"labels must have a name for every edge, and has none for {edge!r}")
    for key in labels.keys() - set(keys):
        raise ValueError(f"labels has a name for {key!r}, which is no edge of the graph")
    return [labels[key] for key in keys]


def names_of_edges(edges: Iterable[tuple[Hashable, Hashable]]) -> Labels:
    """Return the ends of every edge, and beside them, for parallel edges, the number of each.

    Examples
    --------
    >>> names_of_edges([("a", "b"), ("b", "c"), ("a", "b")])
    (('a', 'b', 0), ('b', 'c'), ('a', 'b', 1))
    """
    pairs = tuple(edges)
    counts, seen = Counter(pairs), Counter[Any]()
    names: list[Hashable] = []
    for pair in pairs:
        names.append((*pair, seen[pair]) if counts[pair] > 1 else pair)
        seen[pair] += 1
    return tuple(names)


def in_order_of_travel(graph: Graph, source: Hashable, places: Integers) -> Integers:
    """Return the edges of a path in the order in which it takes them; as they are, if they are no path from there."""
    tails, heads = graph.tails[places].tolist(), graph.heads[places].tolist()
    leaving = {tail: (edge, head) for edge, tail, head in zip(places.tolist(), tails, heads, strict=True)}
    node, order = graph.nodes.index(source), list[int]()
    while node in leaving:
        edge, node = leaving.pop(node)
        order.append(edge)
    return places[places.searchsorted(order)] if len(order) == len(places) else places
