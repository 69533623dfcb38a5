"""Cheapest paths for costs that are not negative, cycles or not (Dijkstra, 1959); of equal costs, the fewest links.

Counting links settles what links of cost 0 leave open, so that no path goes around a cycle, and every part of a path is
again the cheapest with the fewest links. Compiled on first use, and kept on disk.
"""

from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Indices, Vector
from sottovoce._compiled import compiled


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
    nodes, along = len(starts) - 1, cost[edges]
    cheapest, fewest = np.full(nodes, np.inf), np.full(nodes, nodes, np.int32)
    arrival = np.full(nodes, -1, np.int32)
    heap, keys, place = np.empty(nodes, np.int32), np.empty(nodes), np.full(nodes, -1, np.int32)  # -1: not seen yet
    cheapest[origin], fewest[origin], heap[0], keys[0], place[origin] = 0.0, 0, origin, 0.0, 0
    waiting = 1
    while waiting > 0:
        node = heap[0]
        place[node] = nodes  # settled
        waiting -= 1
        if node == stop:
            break
        if waiting > 0:
            _sink(heap, keys, place, waiting, fewest)
        for k in range(starts[node], starts[node + 1]):
            head = heads[k]
            slot = place[head]
            if slot == nodes:
                continue
            through, links = cheapest[node] + along[k], fewest[node] + 1
            # Whatever leads to a node first is taken: sums that overflow must still end in a path.
            if slot >= 0 and (through > cheapest[head] or (through == cheapest[head] and links >= fewest[head])):
                continue
            cheapest[head], fewest[head], arrival[head] = through, links, k
            if slot < 0:
                slot = waiting
                waiting += 1
            _rise(heap, keys, place, slot, head, through, fewest)
    return cheapest, fewest, arrival


@compiled
def _rise(heap: Indices, keys: Vector, place: Indices, slot: int, node: int, key: float, fewest: Indices) -> None:
    """Move a node up a binary heap, from a slot, to where it belongs."""
    while slot > 0:
        above = (slot - 1) >> 1
        other = heap[above]
        if keys[above] < key or (keys[above] == key and fewest[other] <= fewest[node]):
            break
        heap[slot], keys[slot], place[other] = other, keys[above], slot
        slot = above
    heap[slot], keys[slot], place[node] = node, key, slot


@compiled
def _sink(heap: Indices, keys: Vector, place: Indices, size: int, fewest: Indices) -> None:
    """Move the node behind the last one of a binary heap to the top, which is free, and down to where it belongs."""
    node, key, slot = heap[size], keys[size], 0
    while 2 * slot + 1 < size:
        below = 2 * slot + 1
        if below + 1 < size and (
            keys[below + 1] < keys[below]
            or (keys[below + 1] == keys[below] and fewest[heap[below + 1]] < fewest[heap[below]])
        ):
            below += 1
        other = heap[below]
        if key < keys[below] or (key == keys[below] and fewest[node] <= fewest[other]):
            break
        heap[slot], keys[slot], place[other] = other, keys[below], slot
        slot = below
    heap[slot], keys[slot], place[node] = node, key, slot


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
