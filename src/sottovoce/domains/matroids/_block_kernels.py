"""Blocks (biconnected components) of a graph, compiled by numba at the first call: about 2 seconds, once a machine."""

import numpy as np

from sottovoce._arrays import Mask
from sottovoce._compiled import compiled
from sottovoce.domains._subsets import Order
from sottovoce.domains.matroids._kernels import find_root


@compiled
def blocks(kept: Mask, tails: Order, heads: Order, nodes: int) -> Order:
    """Return a label for every edge, the same for edges of one block; `kept` is a spanning forest.

    A node stands for the forest edge above it. An edge outside the forest closes a cycle with the path between its
    ends: walk up from both, and merge the edges met. Edges that lie above one another and are merged are jumped over
    later; a jump may pass the top of the cycle, but only along edges that are merged already.
    """
    parents, depths = _rooted(kept, tails, heads, nodes)
    classes, jumps = np.arange(nodes), np.arange(nodes)
    for edge in range(tails.size):
        if kept[edge]:
            continue
        here, there = tails[edge], heads[edge]
        below_here, below_there, last = -1, -1, -1
        while here != there:
            if depths[here] < depths[there]:
                here, there, below_here, below_there = there, here, below_there, below_here
            if below_here >= 0:
                jumps[below_here] = here
            if last >= 0:
                classes[find_root(classes, last)] = find_root(classes, here)
            last = here
            below_here = find_root(jumps, here)
            here = parents[below_here]
    labels = np.empty(tails.size, dtype=np.int64)
    for edge in range(tails.size):
        if tails[edge] == heads[edge]:
            labels[edge] = nodes + edge
        else:  # the forest edge above the deeper end is on the path, or is the edge itself
            deeper = tails[edge] if depths[tails[edge]] > depths[heads[edge]] else heads[edge]
            labels[edge] = find_root(classes, deeper)
    return labels


@compiled
def _rooted(kept: Mask, tails: Order, heads: Order, nodes: int) -> tuple[Order, Order]:
    """Return the parent (-1 at a root) and the depth of every node of the forest."""
    starts, neighbours = _adjacency(kept, tails, heads, nodes)
    parents = np.full(nodes, -1, dtype=np.int64)
    depths = np.full(nodes, -1, dtype=np.int64)
    queue = np.empty(nodes, dtype=np.int64)
    for root in range(nodes):
        if depths[root] >= 0:
            continue
        depths[root] = 0
        queue[0], first, last = root, 0, 1
        while first < last:
            node = queue[first]
            first += 1
            for place in range(starts[node], starts[node + 1]):
                child = neighbours[place]
                if depths[child] < 0:
                    parents[child], depths[child] = node, depths[node] + 1
                    queue[last] = child
                    last += 1
    return parents, depths


@compiled
def _adjacency(kept: Mask, tails: Order, heads: Order, nodes: int) -> tuple[Order, Order]:
    """Return the neighbours of each node along kept edges: of node v, from starts[v] to starts[v + 1]."""
    starts = np.zeros(nodes + 2, dtype=np.int64)
    for edge in range(tails.size):
        if kept[edge]:
            starts[tails[edge] + 2] += 1
            starts[heads[edge] + 2] += 1
    starts = np.cumsum(starts)
    neighbours = np.empty(starts[-1], dtype=np.int64)
    for edge in range(tails.size):
        if kept[edge]:
            neighbours[starts[tails[edge] + 1]] = heads[edge]
            starts[tails[edge] + 1] += 1
            neighbours[starts[heads[edge] + 1]] = tails[edge]
            starts[heads[edge] + 1] += 1
    return starts[:-1], neighbours
