"""The affine hull of a set of flows: its directions are the circulations on the edges that are free to change."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.sparse import csc_array, hstack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._solvers.graph import Graph
from sottovoce.errors import DomainError

_SHARP = 3000  # nodes up to which a dense inverse of the Laplacian is affordable


class FlowSpace:
    """Circulations on the free edges of a graph: {w : what enters a node leaves it, w = 0 on edges that are not free}.

    With B the incidence matrix, less one node for each connected part, the projection on this space is
    I - B' (B B')^-1 B. Here B B' is a graph Laplacian without those nodes: sparse, positive definite, factored once.
    """

    def __init__(self, graph: Graph, free: Mask) -> None:
        self.graph = graph
        self.free = np.flatnonzero(free)

    def __getstate__(self) -> dict[str, Any]:
        return {"graph": self.graph, "free": self.free}  # the factor cannot be pickled; it is quickly made again

    @cached_property
    def incidence(self) -> Any:
        """Sparse matrix of the free edges: +1 where one leaves a node, -1 where it enters; rows are independent."""
        nodes, count = len(self.graph.nodes), len(self.free)
        ends = np.concatenate((self.graph.tails[self.free], self.graph.heads[self.free]))
        signs = np.repeat((1.0, -1.0), count)
        full = csc_array((signs, (ends, np.tile(np.arange(count), 2))), shape=(nodes, count)).tocsr()
        _, part = connected_components(self.graph.adjacency(self.free), directed=False)
        first_of_its_part = np.zeros(nodes, dtype=bool)
        first_of_its_part[np.unique(part, return_index=True)[1]] = True
        return full[np.flatnonzero(~first_of_its_part)].tocsc()

    @cached_property
    def _factor(self) -> Any:
        return splu((self.incidence @ self.incidence.T).tocsc())

    @property
    def dimension(self) -> int:
        """Number of independent cycles."""
        return int(len(self.free) - self.incidence.shape[0])

    def project(self, rows: Floats) -> Floats:
        """Project vectors, (n,) or (m, n), on the space."""
        result = np.zeros_like(rows)
        columns = rows[..., self.free].T
        if self.incidence.shape[0]:
            for _ in range(2):  # the second time mends the rounding of the first
                columns = columns - self.incidence.T @ self._factor.solve(self.incidence @ columns)
        result[..., self.free] = columns.T
        return result

    @cached_property
    def lengths(self) -> Vector:
        """Norm of the projection of every free edge's axis; on large graphs the upper bound 1."""
        nodes = self.incidence.shape[0]
        if nodes == 0 or nodes > _SHARP:
            return np.ones(len(self.free))
        inverse = self._factor.solve(np.eye(nodes))
        resistance = (self.incidence.multiply(inverse @ self.incidence)).sum(axis=0)
        lengths = np.sqrt(np.maximum(1.0 - np.asarray(resistance).ravel(), 0.0))
        return np.where(lengths < 1e-6, 0.0, lengths)  # a bridge: its flow is settled by the rest


class _Program(NamedTuple):
    """Maximise r subject to `equal` (y, r) = right, `above` (y, r) <= room, y >= 0, r >= 0."""

    equal: Any
    right: Vector
    above: Any
    room: Vector


def chebyshev_ball(space: FlowSpace, capacity: Vector, feasible: Vector) -> InnerBall:
    """Return a largest ball, within the hull, in {0 <= x <= capacity} around a flow; exact while lengths are.

    The distance from c to the facet x_i = 0 is c_i over the norm of its axis's projection, so the best centre is one
    linear program. It is solved in y = x - r lengths >= 0, which needs rows for finite capacities only.
    """
    free, lengths = space.free, space.lengths
    center = feasible.copy()
    if space.dimension > 0:
        program = _program(space, lengths, capacity[free], feasible[free])
        found = scipy.optimize.linprog(
            -np.eye(1, len(free) + 1, len(free))[0],
            A_eq=program.equal,
            b_eq=program.right,
            A_ub=program.above,
            b_ub=program.room,
            method="highs",
        )
        if found.x is None:
            raise DomainError(f"no centre was found for these flows: {found.message}")
        center[free] = found.x[:-1] + found.x[-1] * lengths
        center = feasible + space.project(center - feasible)  # the solver conserves flow to 1e-7 only
    center.setflags(write=False)
    return InnerBall(center, _room(center[free], capacity[free], lengths) if space.dimension > 0 else 0.0)


def _program(space: FlowSpace, lengths: Vector, capacity: Vector, feasible: Vector) -> _Program:
    incidence, count = space.incidence, len(lengths)
    equal = hstack((incidence, csc_array((incidence @ lengths)[:, None])))
    capped = np.flatnonzero(np.isfinite(capacity))
    if len(capped) == 0:
        return _Program(equal, incidence @ feasible, None, np.empty(0))
    ones = csc_array((np.ones(len(capped)), (np.arange(len(capped)), capped)), shape=(len(capped), count))
    above = hstack((ones, csc_array(2 * lengths[capped][:, None])))
    return _Program(equal, incidence @ feasible, above, capacity[capped])


def _room(center: Vector, capacity: Vector, lengths: Vector) -> float:
    """Return the distance from the centre to the nearest bound, less what rounding may have added."""
    moving = lengths > 0.0
    nearest = np.minimum(center, capacity - center)[moving] / lengths[moving]
    return max(float(nearest.min()), 0.0) * (1 - 1e-9)
