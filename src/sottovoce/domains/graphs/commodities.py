"""Several flows through one network."""

from collections.abc import Iterable
from typing import Any

from sottovoce.domains.combinators.product import Product
from sottovoce.domains.graphs.paths import Paths


def multicommodity(graph: Any, pairs: Iterable[tuple[Any, Any]]) -> Product:
    """Return one path for each pair of source and target, chosen together: a product of path polytopes.

    The paths share no capacity: their costs add up, whatever edges they have in common. Coordinates are the edges in
    the graph's own order, for the first pair, then for the second, and so on.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph, or array of shape (m, 2)
        The edges, as a networkx graph or as pairs (tail, head); for each pair, those on its paths form no cycle.
    pairs : iterable of (source, target)
        Where each commodity begins and ends.

    Examples
    --------
    >>> both = multicommodity([("a", "b"), ("b", "c"), ("a", "c")], [("a", "c"), ("b", "c")])
    >>> [part.tolist() for part in both.split(both.extreme_point([1.0, 1.0, 3.0, 1.0, 1.0, 1.0]))]
    [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    return Product(Paths(graph, source=source, target=target) for source, target in pairs)
