"""Cheapest flows of a given value: a feasible one is found once, and every cost starts from there."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Indices, Vector
from sottovoce._compiled import compiled
from sottovoce.domains._solvers.graph import Graph
from sottovoce.errors import DomainError

# ----------------------------------------------------------------------
# Compiled network simplex: cheapest flows with capacities, costs of any sign, and real data.
#
# A basis is a spanning tree. The tree stays *strongly feasible* (from every node some flow can still be sent to the
# root along the tree), which rules out cycling (Cunningham, 1976), and every answer is a vertex. Importing this file
# compiles nothing; the first call compiles (a few seconds, once a machine: cached on disk) or loads it (some 50 ms).


_ROUNDING = 32 * 2.0**-52  # reduced costs below this fraction of their terms count as 0


class Arcs(NamedTuple):
    """Ends and capacity of every arc; those from number `real` on are artificial, and never enter the tree."""

    tails: Indices
    heads: Indices
    capacity: Vector
    real: int


class Tree(NamedTuple):
    """A spanning tree, with children in linked lists, and the flow that goes with it.

    `state` is +1 for an arc at 0, -1 for one at its capacity, and 0 for one in the tree or barred from it.
    """

    parent: Indices
    arc: Indices
    depth: Indices
    child: Indices
    after: Indices
    before: Indices
    flow: Vector
    state: NDArray[np.int8]


@compiled
def _next_in_preorder(tree: Tree, node: int, top: int) -> int:
    """Return the node after `node` in a walk over the subtree of `top`, or -1 at its end."""
    if tree.child[node] >= 0:
        return int(tree.child[node])
    while node != top:
        if tree.after[node] >= 0:
            return int(tree.after[node])
        node = tree.parent[node]
    return -1


@compiled
def _settle(arcs: Arcs, cost: Vector, tree: Tree, potential: Vector, top: int) -> None:
    """Set depth and potential in the subtree of `top` from those of its parent: tree arcs have reduced cost 0."""
    node = top
    while node >= 0:
        parent, arc = tree.parent[node], tree.arc[node]
        tree.depth[node] = tree.depth[parent] + 1
        sign = 1.0 if arcs.tails[arc] == node else -1.0
        potential[node] = potential[parent] + sign * cost[arc]
        node = _next_in_preorder(tree, node, top)


@compiled
def potentials(arcs: Arcs, cost: Vector, tree: Tree) -> Vector:
    """Return potentials in which every tree arc has the reduced cost 0; the root, the last node, has 0."""
    root = len(tree.parent) - 1
    potential = np.zeros(root + 1)
    top = tree.child[root]
    while top >= 0:
        _settle(arcs, cost, tree, potential, top)
        top = tree.after[top]
    return potential


@compiled
def _entering(arcs: Arcs, cost: Vector, tree: Tree, potential: Vector, start: int) -> int:
    """Return the best arc of the first block, from `start` on, that has one worth entering; -1 if none has."""
    block = max(16, int(np.sqrt(arcs.real)))
    best, found = 0.0, -1
    for count in range(arcs.real):
        arc = start + count
        if arc >= arcs.real:
            arc -= arcs.real
        if tree.state[arc] != 0:
            tail, head = potential[arcs.tails[arc]], potential[arcs.heads[arc]]
            gain = -tree.state[arc] * (cost[arc] - tail + head)
            if gain > best and gain > _ROUNDING * (abs(cost[arc]) + abs(tail) + abs(head)):
                best, found = gain, arc
        if found >= 0 and (count + 1) % block == 0:
            break
    return found


@compiled
def _residual(arcs: Arcs, tree: Tree, node: int, upward: bool) -> float:
    """Return how much more can go along the arc from `node` to its parent (upward), or the other way."""
    arc = tree.arc[node]
    if (arcs.tails[arc] == node) == upward:
        return float(arcs.capacity[arc] - tree.flow[arc])
    return float(tree.flow[arc])


@compiled
def _apex(tree: Tree, first: int, second: int) -> int:
    """Return the node where the ways up from both nodes meet."""
    while first != second:
        if tree.depth[first] >= tree.depth[second]:
            first = tree.parent[first]
        else:
            second = tree.parent[second]
    return first


@compiled
def _push(arcs: Arcs, tree: Tree, node: int, apex: int, upward: bool, amount: float) -> None:
    """Send flow between a node and the apex, along the tree."""
    while node != apex:
        arc = tree.arc[node]
        tree.flow[arc] += amount if (arcs.tails[arc] == node) == upward else -amount
        node = tree.parent[node]


@compiled
def _detach(tree: Tree, node: int) -> None:
    """Take a node out of its parent's list of children."""
    if tree.before[node] >= 0:
        tree.after[tree.before[node]] = tree.after[node]
    else:
        tree.child[tree.parent[node]] = tree.after[node]
    if tree.after[node] >= 0:
        tree.before[tree.after[node]] = tree.before[node]


@compiled
def _attach(tree: Tree, node: int, parent: int, arc: int) -> None:
    """Make a node the first child of its new parent."""
    tree.parent[node], tree.arc[node] = parent, arc
    tree.before[node], tree.after[node] = -1, tree.child[parent]
    if tree.child[parent] >= 0:
        tree.before[tree.child[parent]] = node
    tree.child[parent] = node


@compiled
def _hang(tree: Tree, top: int, node: int, parent: int, arc: int) -> None:
    """Cut off the subtree of `top` and hang it by its `node` on `parent`, turning the way between them around."""
    while True:
        above, old = tree.parent[node], tree.arc[node]
        _detach(tree, node)
        _attach(tree, node, parent, arc)
        if node == top:
            return
        parent, arc, node = node, old, above


@compiled
def _pivot(arcs: Arcs, cost: Vector, tree: Tree, potential: Vector, entering: int) -> bool:
    """Send flow around the cycle of the entering arc until an arc blocks; False if none does."""
    first, second = arcs.tails[entering], arcs.heads[entering]
    if tree.state[entering] < 0:
        first, second = second, first
    apex = _apex(tree, first, second)
    amount, leaving, side = arcs.capacity[entering], -1, 0
    # Of all arcs that block, the last on the way around from the apex leaves: so the tree stays strongly feasible.
    node = first
    while node != apex:
        if _residual(arcs, tree, node, False) < amount:
            amount, leaving, side = _residual(arcs, tree, node, False), node, 1
        node = tree.parent[node]
    node = second
    while node != apex:
        if _residual(arcs, tree, node, True) <= amount:
            amount, leaving, side = _residual(arcs, tree, node, True), node, 2
        node = tree.parent[node]
    if amount == np.inf:
        return False
    _push(arcs, tree, first, apex, False, amount)
    _push(arcs, tree, second, apex, True, amount)
    if leaving < 0:
        tree.state[entering] = -tree.state[entering]
        tree.flow[entering] = arcs.capacity[entering] if tree.state[entering] < 0 else 0.0
        return True
    tree.flow[entering] += tree.state[entering] * amount
    tree.state[entering] = 0
    out = tree.arc[leaving]
    emptied = (arcs.tails[out] == leaving) == (side == 1)
    tree.flow[out] = 0.0 if emptied else arcs.capacity[out]
    if out < arcs.real:
        tree.state[out] = 1 if emptied else -1
    inner, outer = (first, second) if side == 1 else (second, first)
    _hang(tree, leaving, inner, outer, entering)
    _settle(arcs, cost, tree, potential, inner)
    return True


@compiled
def optimize(arcs: Arcs, cost: Vector, tree: Tree, limit: int) -> int:
    """Pivot until no arc is worth entering, changing the tree; return 0, or 1 if unbounded, or 2 past the limit."""
    potential = potentials(arcs, cost, tree)
    start = 0
    for _ in range(limit):
        entering = _entering(arcs, cost, tree, potential, start)
        if entering < 0:
            return 0
        if not _pivot(arcs, cost, tree, potential, entering):
            return 1
        start = entering + 1 if entering + 1 < arcs.real else 0
    return 2


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
