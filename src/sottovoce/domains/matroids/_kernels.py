"""Greedy scans, compiled by numba.

Importing this file compiles nothing. The first call of a kernel compiles it (0.2 to 0.7 seconds each, once a machine:
the result is cached on disk) or loads it from the cache (about 10 ms, once a process).
"""

import numpy as np

from sottovoce._arrays import Integers, Mask
from sottovoce._compiled import compiled


@compiled
def nested(order: Integers, owners: Integers, parents: Integers, capacities: Integers) -> Mask:
    """Keep elements while every set around them has room; owner -1 is no set."""
    kept = np.zeros(owners.size, dtype=np.bool_)
    room = capacities.copy()
    for element in order:
        around = owners[element]
        while around >= 0 and room[around] > 0:
            around = parents[around]
        if around >= 0 or kept[element]:
            continue
        kept[element] = True
        around = owners[element]
        while around >= 0:
            room[around] -= 1
            around = parents[around]
    return kept


@compiled
def forest(order: Integers, tails: Integers, heads: Integers, nodes: int) -> Mask:
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
