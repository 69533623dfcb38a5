"""Spanning trees of a graph."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

from sottovoce.domains._solvers.graph import read_graph
from sottovoce.domains.choices.matroid_bases import MatroidBases
from sottovoce.domains.matroids import Graphic


class SpanningTrees(MatroidBases):
    """Spanning trees of a connected graph: the bases of its graphic matroid, and their mixtures.

    Coordinates are the edges in the graph's own order; parallel edges are welcome. A tree meets every two-connected
    block of the graph in a spanning tree of that block, and that is all there is to the affine hull: the coordinates
    of a block add up to the number of its nodes less 1.

    Parameters
    ----------
    graph : networkx.Graph, networkx.MultiGraph, or array of shape (m, 2)
        The edges, as a networkx graph or as pairs of nodes.
    labels : list of names, optional
        Names of the edges. Default: their ends (u, v), and of parallel edges (u, v, number).

    Examples
    --------
    >>> cables = SpanningTrees([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    >>> cables.extreme_point([1.0, 2.0, 3.0, 4.0])
    array([1., 1., 0., 1.])
    >>> cables.affine_dimension, cables.contains([2 / 3, 2 / 3, 2 / 3, 1.0]), cables.contains([1.0, 1.0, 1.0, 0.0])
    (2, True, False)
    >>> cables.chosen([1.0, 1.0, 0.0, 1.0])
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    """

    _sorting = "quicksort"  # which is not stable: edges that cost the same may come in any order (Kruskal's rule)

    def __init__(self, graph: Any, *, labels: Any = None) -> None:
        self._graph = read_graph(graph, directed=False)
        self._graph.refuse_loops()
        self._graph.refuse_parts()
        super().__init__(Graphic(graph), labels=labels)

    def __repr__(self) -> str:
        return f"SpanningTrees({len(self._graph.nodes)} nodes, {self.dimension} edges)"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a complete graph, and one with a bridge, two blocks and parallel edges."""
        complete = [(i, j) for i in range(4) for j in range(i)]
        two_blocks = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (4, 5), (3, 6), (6, 4)]
        return cls(complete), cls(two_blocks)

    @cached_property
    def edges(self) -> tuple[tuple[object, object], ...]:
        """Names of both ends of the edge that each coordinate belongs to, in the graph's own order."""
        return self._graph.edges
