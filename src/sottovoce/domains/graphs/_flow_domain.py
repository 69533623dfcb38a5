"""What sets of flows have in common: conservation at the nodes, and bounds on every edge."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._edge_names import edge_labels, names_of_edges
from sottovoce.domains._geometry.facets import Bracket, Faceted, bracket
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._labels import Labels
from sottovoce.domains.graphs._flow_space import FlowSpace, chebyshev_ball


class FlowDomain(Faceted):
    """Flows with the bounds 0 <= x <= capacity; a subclass brings the oracle, and says which edges are free.

    An edge is free unless its flow is 0, or is its capacity, in every flow of the set.
    """

    _space: FlowSpace
    _capacity: Vector
    _feasible: Vector

    @cached_property
    def edges(self) -> tuple[tuple[object, object], ...]:
        """Names of both ends of the edge that each coordinate belongs to, in the graph's own order."""
        return self._space.graph.edges

    def _own_labels(self) -> Labels:
        return self._names_of_edges

    @cached_property
    def _names_of_edges(self) -> Labels:
        return names_of_edges(self.edges)

    def _name_edges(self, labels: Any, graph: Any) -> None:
        self._take_names(edge_labels(labels, graph, self._space.graph))

    @cached_property
    def _inner_ball(self) -> InnerBall:
        return chebyshev_ball(self._space, self._capacity, self._feasible)

    @property
    def affine_dimension(self) -> int:
        """Number of independent cycles of the free edges, their directions forgotten."""
        return self._space.dimension

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Project vectors, of shape (n,) or (m, n), on the circulations of the free edges."""
        return self._space.project(self._vectors(vectors))

    def _bracket(self, x: Vector) -> Bracket:
        flat = self._feasible + self._space.project(x - self._feasible)
        return bracket(x, flat, self._slacks, 1.0, self.center)

    def _slacks(self, x: Vector) -> Vector:
        free = self._space.free
        return np.concatenate((x[free], self._capacity[free] - x[free]))
