"""Edges that close no cycle."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from sottovoce._arrays import Integers, Mask
from sottovoce._compiled import compiled
from sottovoce.domains._solvers.graph import read_graph
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
        self.ground = read.edge_names()
        for array in (self.tails, self.heads):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Graphic({self.ground_size} edges, {self.nodes} nodes)"

    def _scan(self, order: Integers) -> Mask:
        return _forest(order, self.tails, self.heads, self.nodes)

    def components(self) -> Integers:
        """Return the block (biconnected component) of each edge.

        An edge outside a spanning forest closes a circuit with the path between its ends: walk up from both.
        """
        forest = self._scan(np.arange(self.ground_size))
        parents, depths, above = _rooted(np.flatnonzero(forest), self.tails, self.heads, self.nodes)
        first, second = list[int](), list[int]()
        for edge in np.flatnonzero(~forest).tolist():
            here, there = int(self.tails[edge]), int(self.heads[edge])
            while here != there:
                if depths[here] < depths[there]:
                    here, there = there, here
                first.append(edge)
                second.append(above[here])
                here = parents[here]
        return components_of(first, second, self.ground_size)


def _rooted(
    forest: Integers, tails: Integers, heads: Integers, nodes: int
) -> tuple[list[int], list[int], dict[int, int]]:
    """Return the parent, the depth and the edge above every node of a forest, its trees hung on one more node."""
    tops = np.unique(components_of(tails[forest], heads[forest], nodes), return_index=True)[1]
    ends = np.append(tails[forest], np.full(len(tops), nodes)), np.append(heads[forest], tops)
    tree = csr_array((np.ones(len(ends[0])), ends), shape=(nodes + 1, nodes + 1))
    order, parents = breadth_first_order(tree, nodes, directed=False)
    depths = [0] * (nodes + 1)
    for node in order[1:].tolist():
        depths[node] = depths[parents[node]] + 1
    both = zip(forest.tolist(), tails[forest].tolist(), heads[forest].tolist(), strict=True)
    return parents.tolist(), depths, {(a if depths[a] > depths[b] else b): edge for edge, a, b in both}


@compiled
def _forest(order: Integers, tails: Integers, heads: Integers, nodes: int) -> Mask:
    """Keep edges that close no cycle (Kruskal)."""
    kept = np.zeros(tails.size, dtype=np.bool_)
    leaders = np.arange(nodes)
    missing = nodes - 1
    for edge in order:
        if missing == 0:
            break
        tail, head = tails[edge], heads[edge]
        while leaders[tail] != tail:  # shorten the way to the leader, too
            leaders[tail] = leaders[leaders[tail]]
            tail = leaders[tail]
        while leaders[head] != head:
            leaders[head] = leaders[leaders[head]]
            head = leaders[head]
        if tail != head:
            leaders[tail] = head
            kept[edge] = True
            missing -= 1
    return kept
