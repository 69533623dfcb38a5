"""Any polytope that is given by linear inequalities and equations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse

from sottovoce._arrays import Mask, Vector
from sottovoce._checks import vector
from sottovoce.domains._geometry.hull import CAUTION, SEED, Hull, both_ways
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._geometry.outer_bounds import Frame, frames
from sottovoce.domains._solvers.linear_program import LinearProgram
from sottovoce.domains.base import Domain, Fixed, read_only
from sottovoce.errors import DomainError
from sottovoce.projection import project

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
        self.dimension = _dimension(A_ub, A_eq, bounds)
        sides = _bounds(bounds, self.dimension)
        above, limits = _rows("A_ub", A_ub, "b_ub", b_ub, self.dimension)
        equal, values = _rows("A_eq", A_eq, "b_eq", b_eq, self.dimension)
        self._system = system = System(above, limits, equal, values, *sides)
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

    def _within(self, x: Vector, tolerance: float) -> bool | None:
        """Say no if a violation is worse, for no point is nearer; yes if the way to the centre enters soon enough."""
        system = self._system
        if system.violation(x) > tolerance:
            return False
        nearest = self.center + self.tangent(x - self.center)
        (stacked, limits), inner = system.stacked, ~self._flat
        excess, room = (stacked @ nearest - limits)[inner], (limits - stacked @ self.center)[inner]
        share = float(np.max(np.maximum(excess, 0.0) / np.maximum(excess + room, np.finfo(float).tiny), initial=0.0))
        return True if math.dist(x, nearest) + share * math.dist(nearest, self.center) <= tolerance else None


# ----------------------------------------------------------------------
# Reading the description of a polytope: rows of unit length, so that a violation is a distance.


@dataclass(frozen=True, eq=False)
class System:
    """{matrix x <= limits, equations x = values, low <= x <= high}, with sparse rows of unit length."""

    matrix: Any
    limits: Vector
    equations: Any
    values: Vector
    low: Vector
    high: Vector

    @cached_property
    def stacked(self) -> tuple[Any, Vector]:
        """All inequalities as rows and limits, finite bounds included."""
        axes = sparse.eye_array(self.low.size, format="csr")
        up, down = np.isfinite(self.high), np.isfinite(self.low)
        rows = sparse.vstack((self.matrix, axes[up], -axes[down]), format="csr")
        return rows, np.concatenate((self.limits, self.high[up], -self.low[down]))

    def violation(self, x: Vector) -> float:
        """Return the largest distance of `x` from a half-space or hyperplane of the description."""
        rows, limits = self.stacked
        over = float((rows @ x - limits).max(initial=0.0))
        return max(over, float(np.abs(self.equations @ x - self.values).max(initial=0.0)))

    def refuse_unbounded(self) -> None:
        """Look for a ray: a direction along which no inequality, equation or bound is ever violated.

        If there is any, then one of two opposite random costs falls along some ray, with probability one.
        """
        if np.isfinite(self.low).all() and np.isfinite(self.high).all():
            return
        rows, _ = self.stacked
        sides = sparse.vstack((rows, self.equations), format="csr")
        starts = np.concatenate((np.full(rows.shape[0], -np.inf), np.zeros(self.values.size)))
        cube, cost = np.ones(self.low.size), np.random.default_rng(SEED).standard_normal(self.low.size)
        cone = LinearProgram(sides, starts, np.zeros(sides.shape[0]), -cube, cube)
        for ray in (cone.solve(cost), cone.solve(-cost)):
            if np.abs(ray).max() > 1e-9:
                along = np.array2string(ray, precision=3, threshold=8)
                raise DomainError(f"the polytope is unbounded: it goes on for ever along {along}; give bounds")


def _dimension(A_ub: Any, A_eq: Any, bounds: Any) -> int:  # noqa: N803
    for name, matrix in (("A_ub", A_ub), ("A_eq", A_eq)):
        if matrix is not None:
            shape = tuple(getattr(matrix, "shape", None) or np.shape(matrix))
            if len(shape) != 2 or shape[1] == 0:
                raise ValueError(f"{name} must be a matrix with one column for every variable, got shape {shape}")
            return int(shape[1])
    if bounds is None or np.ndim(bounds) != 2:
        raise ValueError("give A_ub, A_eq, or bounds with one pair for every variable, to say how many there are")
    return len(bounds)


def _rows(name: str, matrix: Any, side: str, values: ArrayLike | None, dimension: int) -> tuple[Any, Vector]:
    """Return sparse rows of unit length and their right-hand sides; empty rows must hold by themselves."""
    if (matrix is None) != (values is None):
        raise ValueError(f"{name} and {side} must be given together")
    if matrix is None:
        return sparse.csr_array((0, dimension)), np.zeros(0)
    rows = sparse.csr_array(matrix, dtype=np.float64)
    if rows.shape[1] != dimension:
        raise ValueError(f"{name} must have {dimension} columns, got {rows.shape[1]}")
    if not np.isfinite(rows.data).all():
        raise ValueError(f"{name} must be finite")
    right = vector(side, values, rows.shape[0])
    lengths = np.asarray(sparse.linalg.norm(rows, axis=1))
    empty = lengths == 0.0
    wrong = empty & ((right != 0.0) if name == "A_eq" else (right < 0.0))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise DomainError(f"the polytope is empty: row {i} of {name} is zero, and {side}[{i}] = {right[i]:g}")
    scaled = sparse.diags_array(1 / lengths[~empty]) @ rows[~empty]
    return sparse.csr_array(scaled), read_only(right[~empty] / lengths[~empty])


def _bounds(bounds: Any, dimension: int) -> tuple[Vector, Vector]:
    pairs = np.array((None, None) if bounds is None else bounds, dtype=object)
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (dimension, 1))
    if pairs.shape != (dimension, 2):
        raise ValueError(f"bounds must be a pair (low, high), or {dimension} of them, got shape {pairs.shape}")
    low = np.array([-np.inf if value is None else value for value in pairs[:, 0]], dtype=np.float64)
    high = np.array([np.inf if value is None else value for value in pairs[:, 1]], dtype=np.float64)
    if np.isnan(low).any() or np.isnan(high).any() or (low == np.inf).any() or (high == -np.inf).any():
        raise ValueError(f"bounds must be numbers, or None for no bound, got {bounds!r}")
    empty = np.flatnonzero(low > high)
    if empty.size:
        i = int(empty[0])
        raise DomainError(f"the polytope is empty: low {low[i]:g} is above high {high[i]:g} at variable {i}")
    return read_only(low), read_only(high)
