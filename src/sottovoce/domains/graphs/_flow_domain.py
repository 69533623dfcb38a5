"""What sets of flows have in common: conservation at the nodes, and bounds on every edge.

The directions of the affine hull are the circulations on the edges that are free to change: {w : what enters a node
leaves it, w = 0 on edges that are not free}. With B the incidence matrix of the free edges, less one node for each
connected part, the projection on them is I - B' (B B')^-1 B. Here B B' is a graph Laplacian without those nodes:
sparse, positive definite, factored once.
"""

from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, csr_array, eye_array, hstack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._kinds import Bracket, Faceted, bracket
from sottovoce.domains._labels import Labels
from sottovoce.domains._solvers.graph import Graph
from sottovoce.domains.base import read_only
from sottovoce.errors import DomainError

_SHARP = 3000  # nodes up to which a dense inverse of the Laplacian is affordable


class FlowDomain(Faceted):
    """Flows with the bounds 0 <= x <= capacity; a subclass brings the oracle, and says which edges are free.

    An edge is free unless its flow is 0, or is its capacity, in every flow of the set.
    """

    _graph: Graph
    _capacity: Vector
    _feasible: Vector
    _free: Integers

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name != "_factor"}  # which cannot be pickled

    @cached_property
    def edges(self) -> tuple[tuple[object, object], ...]:
        """Names of both ends of the edge that each coordinate belongs to, in the graph's own order."""
        return self._graph.edges

    @cached_property
    def _own_labels(self) -> Labels | None:
        return self._graph.edge_names()

    @cached_property
    def _incidence(self) -> Any:
        """Sparse matrix of the free edges: +1 where one leaves a node, -1 where it enters; rows are independent."""
        nodes, count = len(self._graph.nodes), len(self._free)
        ends = np.concatenate((self._graph.tails[self._free], self._graph.heads[self._free]))
        full = csr_array((np.repeat((1.0, -1.0), count), (ends, np.tile(np.arange(count), 2))), shape=(nodes, count))
        _, part = connected_components(self._graph.adjacency(self._free), directed=False)
        first_of_its_part = np.unique(part, return_index=True)[1]
        return full[np.delete(np.arange(nodes), first_of_its_part)].tocsc()

    @cached_property
    def _factor(self) -> Any:
        return splu((self._incidence @ self._incidence.T).tocsc())

    @property
    def affine_dimension(self) -> int:
        """Number of independent cycles of the free edges, their directions forgotten."""
        return int(len(self._free) - self._incidence.shape[0])

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Project vectors, of shape (n,) or (m, n), on the circulations of the free edges."""
        rows = self._vectors(vectors)
        columns = rows[..., self._free].T
        if self._incidence.shape[0]:
            for _ in range(2):  # the second time mends the rounding of the first
                columns = columns - self._incidence.T @ self._factor.solve(self._incidence @ columns)
        result = np.zeros_like(rows)
        result[..., self._free] = columns.T
        return result

    def _lengths(self) -> Vector:
        """Return the norm of the projection of every free edge's axis; on large graphs the upper bound 1."""
        nodes = self._incidence.shape[0]
        if nodes == 0 or nodes > _SHARP:
            return np.ones(len(self._free))
        inverse = self._factor.solve(np.eye(nodes))
        resistance = (self._incidence.multiply(inverse @ self._incidence)).sum(axis=0)
        lengths = np.sqrt(np.maximum(1.0 - np.asarray(resistance).ravel(), 0.0))
        return np.where(lengths < 1e-6, 0.0, lengths)  # a bridge: its flow is settled by the rest

    @cached_property
    def _inner_ball(self) -> InnerBall:
        """A largest ball, within the hull, in {0 <= x <= capacity} around a flow; exact while lengths are.

        The distance from c to the facet x_i = 0 is c_i over the norm of its axis's projection, so the best centre is
        one linear program. It is solved in y = x - r lengths >= 0, which needs rows for finite capacities only.
        """
        if self.affine_dimension == 0:
            return InnerBall(self._feasible, 0.0)
        free, incidence, lengths = self._free, self._incidence, self._lengths()
        capacity, center = self._capacity[free], self._feasible.copy()
        capped = np.flatnonzero(np.isfinite(capacity))
        above: Any = hstack((eye_array(len(free), format="csr")[capped], csc_array(2 * lengths[capped][:, None])))
        equal: Any = hstack((incidence, csc_array((incidence @ lengths)[:, None])))
        found = scipy.optimize.linprog(
            -np.eye(1, len(free) + 1, len(free))[0],
            A_eq=equal,
            b_eq=incidence @ center[free],
            A_ub=above,
            b_ub=capacity[capped],
            method="highs",
        )
        if found.x is None:
            raise DomainError(f"no centre was found for these flows: {found.message}")
        center[free] = found.x[:-1] + found.x[-1] * lengths
        center = self._feasible + self.tangent(center - self._feasible)  # the solver conserves flow to 1e-7 only
        moving = lengths > 0.0
        room = np.minimum(center[free], capacity - center[free])[moving] / lengths[moving]
        return InnerBall(read_only(center), max(float(room.min()), 0.0) * (1 - 1e-9))

    def _bracket(self, x: Vector) -> Bracket:
        flat = self._feasible + self.tangent(x - self._feasible)
        return bracket(x, flat, self._slacks, 1.0, self.center)

    def _slacks(self, x: Vector) -> Vector:
        return np.concatenate((x[self._free], self._capacity[self._free] - x[self._free]))
