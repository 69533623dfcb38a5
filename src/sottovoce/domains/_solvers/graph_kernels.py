"""Compiled inner loops on graphs: cheapest path in a DAG, random walks along a flow.

Importing this file compiles nothing. The first call of a kernel compiles it (about half a second each, once a machine:
the result is cached on disk) or loads it from the cache (some 20 ms, once a process).
"""

import numpy as np

from sottovoce._arrays import Floats, Indices, Vector
from sottovoce._compiled import compiled


@compiled
def cheapest_path(cost: Vector, edges: Indices, tails: Indices, heads: Indices, nodes: int) -> Vector:
    """Return the indicator of a cheapest path from node 0 to the last node, in one pass; any signs of costs.

    Nodes are numbered in topological order; position k of `tails` and `heads`, sorted by tail, is the coordinate
    `edges[k]` of the cost.
    """
    distance = np.full(nodes, np.inf)
    arrival = np.full(nodes, -1, np.int32)
    distance[0] = 0.0
    for k in range(len(edges)):
        through = distance[tails[k]] + cost[edges[k]]
        # A node without an arrival takes what it gets: sums that overflow must still end in a path.
        if through < distance[heads[k]] or arrival[heads[k]] < 0:
            distance[heads[k]] = through
            arrival[heads[k]] = k
    vertex = np.zeros(len(cost))
    node = nodes - 1
    while node != 0:
        k = arrival[node]
        vertex[edges[k]] = 1.0
        node = tails[k]
    return vertex


@compiled
def walks(flow: Vector, starts: Indices, edges: Indices, heads: Indices, uniforms: Floats, dimension: int) -> Floats:
    """Walk from node 0 to the last node, once for each row of `uniforms`, leaving nodes in proportion to the flow.

    The edges out of node i have the positions starts[i] to starts[i + 1]; `flow` is by position, and non-negative.
    """
    rows = np.zeros((len(uniforms), dimension))
    last = len(starts) - 2
    for row in range(len(uniforms)):
        node, step = 0, 0
        while node != last:
            leaving = 0.0
            for k in range(starts[node], starts[node + 1]):
                leaving += flow[k]
            mark = uniforms[row, step] * leaving
            # As u < 1, the mark is below the same sum, so an edge without flow is never taken. But rounding can let a
            # walker in where nothing flows out at all: it takes the last edge.
            chosen = starts[node + 1] - 1
            below = 0.0
            for k in range(starts[node], starts[node + 1]):
                below += flow[k]
                if mark < below:
                    chosen = k
                    break
            rows[row, edges[chosen]] = 1.0
            node = heads[chosen]
            step += 1
    return rows


@compiled
def even_flow(edges: Indices, tails: Indices, heads: Indices, starts: Indices, dimension: int) -> Vector:
    """Return the unit flow from node 0 to the last that leaves each node by all of its edges alike, in one pass."""
    nodes = len(starts) - 1
    through = np.zeros(nodes)
    through[0] = 1.0
    flow = np.zeros(dimension)
    for k in range(len(edges)):
        tail = tails[k]
        share = through[tail] / (starts[tail + 1] - starts[tail])
        flow[edges[k]] = share
        through[heads[k]] += share
    return flow
