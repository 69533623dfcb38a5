"""Edges that close no cycle."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from sottovoce._arrays import Integers, Mask
from sottovoce.domains._edge_names import edge_labels, names_of_edges
from sottovoce.domains._solvers.graph import read_graph
from sottovoce.domains.matroids import _kernels
from sottovoce.domains.matroids.base import AbstractMatroid, components_of


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

    def _scan(self, order: Integers) -> Mask:
        return _kernels.forest(order, self.tails, self.heads, self.nodes)

    def components(self) -> Integers:
        """Return the block (biconnected component) of each edge."""
        forest = self._scan(np.arange(self.ground_size))
        labels = _blocks(forest, self.tails, self.heads, self.nodes)
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def _blocks(forest: Mask, tails: Integers, heads: Integers, nodes: int) -> list[int]:
    """Return a label for every edge, the same for edges of one block.

    A node stands for the forest edge above it. An edge outside the forest closes a cycle with the path between its
    ends: walk up from both, and merge the edges met. Edges that lie above one another and are merged are jumped over
    later; a jump may pass the top of the cycle, but only along edges that are merged already.
    """
    parents, depths = _rooted(forest, tails, heads, nodes)
    classes, jumps = list(range(nodes)), list(range(nodes))
    for here, there in zip(tails[~forest].tolist(), heads[~forest].tolist(), strict=True):
        below_here, below_there, last = -1, -1, -1
        while here != there:
            if depths[here] < depths[there]:
                here, there, below_here, below_there = there, here, below_there, below_here
            if below_here >= 0:
                jumps[below_here] = here
            if last >= 0:
                classes[_leader(classes, last)] = _leader(classes, here)
            last = here
            below_here = _leader(jumps, here)
            here = parents[below_here]
    # The forest edge above the deeper end is on the path, or is the edge itself; a loop is alone.
    ends = enumerate(zip(tails.tolist(), heads.tolist(), strict=True))
    return [nodes + edge if a == b else _leader(classes, a if depths[a] > depths[b] else b) for edge, (a, b) in ends]


def _rooted(forest: Mask, tails: Integers, heads: Integers, nodes: int) -> tuple[list[int], list[int]]:
    """Return the parent and the depth of every node of a forest, its trees hung on one more node."""
    tops = np.unique(components_of(tails[forest], heads[forest], nodes), return_index=True)[1]
    ends = np.append(tails[forest], np.full(len(tops), nodes)), np.append(heads[forest], tops)
    tree = csr_array((np.ones(len(ends[0])), ends), shape=(nodes + 1, nodes + 1))
    order, parents = breadth_first_order(tree, nodes, directed=False)
    depths = [0] * (nodes + 1)
    for node in order[1:].tolist():
        depths[node] = depths[parents[node]] + 1
    return parents.tolist(), depths


def _leader(leaders: list[int], node: int) -> int:
    """Return the leader of a node, and shorten the way to it."""
    while leaders[node] != node:
        leaders[node] = leaders[leaders[node]]
        node = leaders[node]
    return node
