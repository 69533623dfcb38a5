"""Cheapest paths for costs that are not negative, cycles or not (Dijkstra, 1959); of equal costs, the fewest links.

Counting links settles what links of cost 0 leave open, so that no path goes around a cycle, and every part of a path is
again the cheapest with the fewest links. Compiled on first use, and kept on disk.
"""

import heapq
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Indices, Vector
from sottovoce._compiled import compiled

__all__ = ["Links", "cheapest_simple_path", "distances", "links_by_tail"]


class Links(NamedTuple):
    """Links sorted by where they begin: those out of node i have the positions starts[i] to starts[i + 1]."""

    starts: Indices
    heads: Indices
    edges: Indices


def links_by_tail(tails: Indices, heads: Indices, edges: Indices, nodes: int) -> Links:
    """Sort links by their tails; `edges` are the coordinates that their costs have."""
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(nodes + 1)).astype(np.int32)
    return Links(starts, heads[order], edges[order])


@compiled
def distances(
    cost: Vector, starts: Indices, heads: Indices, edges: Indices, origin: int, stop: int
) -> tuple[Vector, Indices, Indices]:
    """Return what it costs to get to each node, with how many links, and the position of the last of them (or -1).

    Nodes that are not known by the time that `stop` is settled keep what is known of them; -1 settles all.
    """
    nodes = len(starts) - 1
    cheapest = np.full(nodes, np.inf)
    fewest = np.full(nodes, nodes, np.int32)
    arrival = np.full(nodes, -1, np.int32)
    settled = np.zeros(nodes, np.bool_)
    cheapest[origin], fewest[origin] = 0.0, 0
    waiting = [(0.0, np.int64(0), np.int64(origin))]
    while len(waiting) > 0:
        _, _, node = heapq.heappop(waiting)
        if settled[node]:
            continue
        settled[node] = True
        if node == stop:
            break
        for k in range(starts[node], starts[node + 1]):
            head = np.int64(heads[k])
            if settled[head]:
                continue
            through, links = cheapest[node] + cost[edges[k]], np.int64(fewest[node]) + 1
            better = through < cheapest[head] or (through == cheapest[head] and links < fewest[head])
            if better or arrival[head] < 0:  # sums that overflow must still end in a path
                cheapest[head], fewest[head], arrival[head] = through, links, k
                heapq.heappush(waiting, (through, links, head))
    return cheapest, fewest, arrival


@compiled
def cheapest_simple_path(
    cost: Vector, starts: Indices, heads: Indices, edges: Indices, tails: Indices, source: int, target: int
) -> Vector:
    """Return the indicator of a cheapest path; there is one. `tails` are where the links begin, by position."""
    _, _, arrival = distances(cost, starts, heads, edges, source, target)
    vertex = np.zeros(len(cost))
    node = target
    while node != source:
        k = arrival[node]
        vertex[edges[k]] = 1.0
        node = tails[k]
    return vertex
