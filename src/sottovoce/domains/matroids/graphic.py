"""Edges that close no cycle."""

from typing import Any

import numpy as np

from sottovoce._arrays import Mask
from sottovoce.domains._edge_names import edge_labels, names_of_edges
from sottovoce.domains._solvers.graph import read_graph
from sottovoce.domains._subsets import Order
from sottovoce.domains.matroids import _block_kernels, _kernels
from sottovoce.domains.matroids.base import AbstractMatroid


class Graphic(AbstractMatroid):
    """The forests of a graph: a set of edges is independent if it closes no cycle.

    Parameters
    ----------
    graph : graph, or edges
        An undirected networkx graph, or its edges as an array of shape (m, 2) or a list of pairs of nodes. Elements are
        the edges in this order, called by their ends; parallel edges and loops are fine.

    Examples
    --------
    >>> square = Graphic([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    >>> square.rank(), square.independent([0, 1, 4])
    (3, False)
    """

    def __init__(self, graph: Any) -> None:
        read = read_graph(graph, directed=False)
        self.nodes, self.ground_size = len(read.nodes), len(read.tails)
        self.tails, self.heads = read.tails.astype(np.int64), read.heads.astype(np.int64)
        self.ground = edge_labels(None, graph, read) or names_of_edges(read.edges)
        for array in (self.tails, self.heads):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Graphic({self.ground_size} edges, {self.nodes} nodes)"

    def _scan(self, order: Order) -> Mask:
        return _kernels.forest(order, self.tails, self.heads, self.nodes)

    def components(self) -> Order:
        """Return the block (biconnected component) of each edge."""
        forest = self._scan(np.arange(self.ground_size))
        labels = _block_kernels.blocks(forest, self.tails, self.heads, self.nodes)
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)
