"""Reading the description of a polytope: rows of unit length, so that a violation is a distance."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sottovoce._arrays import Vector
from sottovoce._checks import vector
from sottovoce.domains._solvers.linear_program import LinearProgram
from sottovoce.domains.base import read_only
from sottovoce.errors import DomainError

__all__ = ["System", "read_system"]


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

        Of the rays within the unit cube take the one that leaves all inequalities fastest, by one linear program. If
        none leaves any, what remains are lines: directions orthogonal to every row.
        """
        if np.isfinite(self.low).all() and np.isfinite(self.high).all():
            return
        rows, _ = self.stacked
        sides = sparse.vstack((rows, self.equations), format="csr")
        ends = np.zeros(sides.shape[0])
        starts = np.concatenate((np.full(rows.shape[0], -np.inf), np.zeros(self.values.size)))
        cube = np.ones(self.low.size)
        leaving = np.asarray(rows.sum(axis=0), dtype=np.float64)
        ray = LinearProgram(sides, starts, ends, -cube, cube).solve(leaving)
        if leaving @ ray > -1e-9 * max(1.0, np.abs(leaving).max()):
            _, lengths, axes = np.linalg.svd(sides.toarray())
            if np.count_nonzero(lengths > 1e-10) == self.low.size:
                return
            ray = axes[-1]
        raise DomainError(
            f"the polytope is unbounded: it goes on for ever along {np.array2string(ray, precision=3, threshold=8)}; "
            "give bounds"
        )


def read_system(
    A_ub: Any,  # noqa: N803 - scipy's names
    b_ub: ArrayLike | None,
    A_eq: Any,  # noqa: N803
    b_eq: ArrayLike | None,
    bounds: Any,
) -> System:
    """Check the arguments of a polytope, and scale its rows to unit length."""
    dimension = _dimension(A_ub, A_eq, bounds)
    low, high = _bounds(bounds, dimension)
    above, limits = _rows("A_ub", A_ub, "b_ub", b_ub, dimension)
    equal, values = _rows("A_eq", A_eq, "b_eq", b_eq, dimension)
    return System(above, limits, equal, values, low, high)


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
