"""Cheapest flows of a given value: a feasible one is found once, and every cost starts from there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Vector
from sottovoce.domains._solvers.graph import Graph
from sottovoce.domains._solvers.network_simplex import Arcs, Tree, optimize, potentials
from sottovoce.errors import DomainError

__all__ = ["MinCostFlow"]


class MinCostFlow:
    """Minimises a cost over {0 <= x <= capacity, `value` more leaves the source than enters it, and so on}.

    Circulations belong to this set: at negative costs a cheapest flow sends as much as it can around cycles whose cost
    is negative. Answers are vertices, and integral if value and capacities are.
    """

    def __init__(self, graph: Graph, source: int, target: int, value: float, capacity: Vector) -> None:
        nodes, m = len(graph.nodes), len(graph.tails)
        others = np.arange(nodes, dtype=np.int32)
        root = np.full(nodes, nodes, dtype=np.int32)
        # An artificial arc joins every node with a root: out of it to the target, into it from all others.
        inward = others != target
        self._arcs = Arcs(
            np.concatenate((graph.tails, np.where(inward, others, root))),
            np.concatenate((graph.heads, np.where(inward, root, others))),
            np.concatenate((capacity, np.full(nodes, np.inf))),
            m,
        )
        self._limit = 1000 * (nodes + m) + 10_000
        self._tree = _star(nodes, m)
        self._tree.state[:m][capacity == 0.0] = 0  # empty and full at once: in a tree they would be in the way
        self._tree.flow[m + source] = self._tree.flow[m + target] = value
        missing = self._find_a_feasible_one(nodes, m)
        if missing > 1e-9 * value:
            raise DomainError(
                f"value must be at most the maximum flow from {graph.nodes[source]!r} to {graph.nodes[target]!r}, "
                f"which is {value - missing:.12g}, got {value:g}"
            )

    def _find_a_feasible_one(self, nodes: int, m: int) -> float:
        """Send as little as possible over artificial arcs; return what could not be sent otherwise.

        Every unit that is missing passes two artificial arcs, in and out of the root. If none is, a strongly feasible
        tree has no arc left that leads out of the root, and no real arc a reduced cost. If as little is as rounding
        makes, arcs with a reduced cost are at the same bound in all feasible flows: they are barred from later trees.
        """
        cost = np.repeat((0.0, 1.0), (m, nodes))
        self._solve(cost, self._tree)
        potential = potentials(self._arcs, cost, self._tree)
        reduced = cost - potential[self._arcs.tails] + potential[self._arcs.heads]
        self._tree.state[np.abs(reduced) > 0.5] = 0
        missing = float(self._tree.flow[m:].sum()) / 2
        self._tree.flow[m:] = 0.0
        return missing

    def _solve(self, cost: Vector, tree: Tree) -> None:
        status = optimize(self._arcs, cost, tree, self._limit)
        if status == 1:
            raise DomainError("capacities must be finite somewhere on every directed cycle: the set is unbounded")
        if status == 2:
            raise DomainError(f"no cheapest flow was found in {self._limit} pivots: rescale costs and capacities")

    @property
    def feasible(self) -> Vector:
        """A vertex of the set."""
        return self._tree.flow[: self._arcs.real].copy()

    def cheapest(self, cost: Vector) -> Vector:
        """Return a vertex at which the cost is least."""
        tree = Tree._make(part.copy() for part in self._tree)
        self._solve(np.concatenate((cost, np.zeros(len(self._arcs.tails) - self._arcs.real))), tree)
        return np.clip(tree.flow[: self._arcs.real], 0.0, self._arcs.capacity[: self._arcs.real])


def _star(nodes: int, m: int) -> Tree:
    """Return the tree in which every node hangs on the root by its artificial arc; no flow yet."""
    everyone: NDArray[Any] = np.arange(nodes, dtype=np.int32)
    none = np.full(nodes + 1, -1, dtype=np.int32)
    parent, arc, child, after, before = (none.copy() for _ in range(5))
    parent[:-1], arc[:-1] = nodes, m + everyone
    child[-1] = 0
    after[: nodes - 1], before[1:-1] = everyone[1:], everyone[:-1]
    state = np.repeat(np.array((1, 0), dtype=np.int8), (m, nodes))
    return Tree(parent, arc, np.zeros(nodes + 1, dtype=np.int32), child, after, before, np.zeros(m + nodes), state)
