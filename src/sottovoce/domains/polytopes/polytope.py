"""Any polytope that is given by linear inequalities and equations."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse

from sottovoce._arrays import Mask, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._geometry.hull import CAUTION, SEED, Hull, both_ways
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._geometry.outer_bounds import Frame, frames
from sottovoce.domains._solvers.linear_program import LinearProgram
from sottovoce.domains.base import Domain, Fixed, read_only
from sottovoce.domains.polytopes._linear_system import read_system
from sottovoce.errors import DomainError
from sottovoce.projection import project

__all__ = ["Polytope"]

_SLACK = 1e-8  # relative to the size of the data: an inequality with less room everywhere is an equation
_LOOKS = 16


class Polytope(Fixed, Domain):
    """The solutions of linear inequalities and equations: {A_ub x <= b_ub, A_eq x = b_eq, bounds}.

    Arguments are those of `scipy.optimize.linprog`, except that variables are free unless `bounds` says otherwise.

    Parameters
    ----------
    A_ub, b_ub : array or sparse array of shape (m, n), and array of shape (m,), optional
        Inequalities.
    A_eq, b_eq : array or sparse array of shape (p, n), and array of shape (p,), optional
        Equations.
    bounds : sequence of n pairs (low, high), or one pair for all, optional
        None, or an infinite number, stands for no bound.
    labels : list of names, optional
        Names of the variables.

    Raises
    ------
    DomainError
        If the set is empty or unbounded.

    Notes
    -----
    The oracle is the simplex method of HiGHS, which goes on from the last basis when the cost has changed little. Its
    answers do not depend on the calls before: among vertices that are equally cheap, a fixed second cost decides.
    `center` is a Chebyshev centre, and `inner_radius` the exact radius of the largest ball.

    Examples
    --------
    >>> budget = Polytope(A_ub=[[1.0, 2.0, 3.0]], b_ub=[4.0], bounds=(0, 2))
    >>> budget.extreme_point([-2.0, -3.0, -1.0])
    array([2., 1., 0.])
    >>> budget.contains([1.0, 1.0, 0.3]), budget.contains([1.0, 1.0, 0.4])
    (True, False)
    >>> Polytope(A_ub=[[1.0, 1.0]], b_ub=[1.0])
    Traceback (most recent call last):
    ...
    sottovoce.errors.DomainError: the polytope is unbounded: ...
    """

    def __init__(
        self,
        A_ub: Any = None,  # noqa: N803 - scipy's names
        b_ub: ArrayLike | None = None,
        A_eq: Any = None,  # noqa: N803
        b_eq: ArrayLike | None = None,
        bounds: Any = None,
        *,
        labels: Any = None,
    ) -> None:
        self._system = system = read_system(A_ub, b_ub, A_eq, b_eq, bounds)
        self.dimension = system.low.size
        self._name(labels)
        system.refuse_unbounded()
        rows = sparse.vstack((system.matrix, system.equations), format="csr")
        self._program = LinearProgram(
            rows,
            np.concatenate((np.full(system.limits.size, -np.inf), system.values)),
            np.concatenate((system.limits, system.values)),
            system.low,
            system.high,
        )
        try:
            self._program.solve(np.zeros(self.dimension))
        except DomainError as error:
            raise DomainError(f"the polytope is empty: {error}; relax an inequality, an equation or a bound") from None

    def __repr__(self) -> str:
        system = self._system
        return (
            f"Polytope({self.dimension} variables, {system.limits.size} inequalities, {system.values.size} equations)"
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a random polytope, a transport polytope, one with a hidden equation, and one far from the origin."""
        rng = np.random.default_rng(5)
        random = cls(rng.standard_normal((8, 4)), np.ones(8), bounds=(-2, 2))
        supply, demand = np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))
        transport = cls(A_eq=np.vstack((supply, demand)), b_eq=[0.5, 0.5, 0.2, 0.3, 0.5], bounds=(0, None))
        hidden = cls([[1, 1, 1], [-1, -1, -1]], [1, -1], bounds=[(0, None), (0, None), (0, 0.7)])
        far = cls(sparse.csr_array([[1.0, 1.0], [-1.0, 2.0]]), [2003.0, 1003.0], bounds=[(1000, None), (1000, 1002)])
        return random, transport, hidden, far

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return the cheapest vertex, by linear programming."""
        return self._program.solve(vector("cost", cost, self.dimension))

    @cached_property
    def _flat(self) -> Mask:
        """Which inequalities hold with equality everywhere.

        Ask for the vertex with most room in all of those in doubt together. Each answer clears some of them, until one
        shows that there is no room left.
        """
        stacked, limits = self._system.stacked
        doubtful = np.ones(limits.size, dtype=bool)
        while doubtful.any():
            vertex = self._program.solve(stacked[doubtful].sum(axis=0), unique=False)
            roomy = doubtful & (limits - stacked @ vertex > _SLACK * self._program.scale)
            if not roomy.any():
                break
            doubtful &= ~roomy
        return doubtful

    @cached_property
    def _hull(self) -> Hull:
        stacked, _ = self._system.stacked
        normals = sparse.vstack((self._system.equations, stacked[self._flat])).toarray()
        basis = linalg.null_space(normals, rcond=1e-10).T if len(normals) else np.eye(self.dimension)
        directions = np.random.default_rng(SEED).standard_normal((_LOOKS, len(basis))) @ basis
        return Hull(basis, np.unique(both_ways(self.extreme_point, directions), axis=0))

    @cached_property
    def _frames(self) -> tuple[Frame, ...]:
        """Bounds along axes, for which any cheapest vertex will do."""
        return frames(lambda cost: self._program.solve(cost, unique=False), self._hull)

    @cached_property
    def _inner_ball(self) -> InnerBall:
        """The largest ball, by one linear program (Boyd, Vandenberghe, 2004, 8.5.1), within the affine hull."""
        hull, system = self._hull, self._system
        if len(hull.basis) == 0:
            return InnerBall(read_only(hull.vertices[0]), 0.0)
        stacked, limits = (part[~self._flat] for part in system.stacked)
        lengths = np.linalg.norm(stacked @ hull.basis.T, axis=1)
        anchor = hull.vertices.mean(axis=0)
        room = (limits - stacked @ anchor) / self._program.scale
        # In coordinates of the hull around the anchor there is nothing left but inequalities. The radius is a variable.
        local = sparse.csr_array(np.column_stack((stacked @ hull.basis.T, lengths)))
        wide = np.full(len(hull.basis) + 1, np.inf)
        best = LinearProgram(local, np.full(room.size, -np.inf), room, -wide, wide).solve(-np.eye(wide.size)[-1])
        inner = best[-1] * (1 - 1e-6)
        # Many points may be as good as the best; the one nearest to the middle has the smaller outer radius.
        ample = LinearProgram(local[:, :-1], np.full(room.size, -np.inf), room - inner * lengths, -wide[1:], wide[1:])
        central = project(ample.solve, np.zeros(wide.size - 1)).point
        choices = [anchor + self._program.scale * (place @ hull.basis) for place in (best[:-1], central)]
        radii = [float(((limits - stacked @ point) / lengths).min()) for point in choices]
        chosen = 1 if radii[1] >= radii[0] * (1 - 2e-6) else 0
        return InnerBall(read_only(choices[chosen]), radii[chosen] * (1 - CAUTION))

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the set.

        No point is nearer than its worst violation. If the segment from x to the centre enters the set soon enough, it
        is near; only in between is a projection needed.
        """
        x = vector("x", x, self.dimension)
        tolerance = number("tolerance", tolerance, above=0.0)
        system = self._system
        if system.violation(x) > tolerance:
            return False
        nearest = self.center + self.tangent(x - self.center)
        (stacked, limits), inner = system.stacked, ~self._flat
        excess, room = (stacked @ nearest - limits)[inner], (limits - stacked @ self.center)[inner]
        share = float(np.max(np.maximum(excess, 0.0) / np.maximum(excess + room, np.finfo(float).tiny), initial=0.0))
        if math.dist(x, nearest) + share * math.dist(nearest, self.center) <= tolerance:
            return True
        return super().contains(x, tolerance)
