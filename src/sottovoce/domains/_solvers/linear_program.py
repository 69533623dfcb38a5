"""One linear program, solved again and again for changing costs by HiGHS, whose model stays warm in between.

HiGHS may stop at any vertex of the cheapest face, and which one depends on where it came from. The answer here is a
function of the cost alone: ties are broken by a fixed second cost, and the vertex is computed afresh from the
constraints that are tight there. Where highspy is not installed, scipy's HiGHS solves each program from scratch.
"""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize, sparse

from sottovoce import _fork
from sottovoce._arrays import Floats, Vector
from sottovoce._extras import faster_with
from sottovoce.errors import DomainError

_TIGHT = 1e-9  # slack below which a constraint counts as tight; costs and bounds are scaled to 1
_NUDGES = (1e-5, 1e-7)  # how much of the second cost breaks a tie
_NEAR = 0.2  # change of the cost, relative to it, up to which the last basis is worth starting from (measured)
_DENSE = 4_000_000  # largest number of matrix entries that are kept densely, to recompute vertices

_FEASIBLE = 1e-10  # tolerances of HiGHS; its smallest
_DUAL_SIMPLEX, _PRIMAL_SIMPLEX = 1, 4
_STRICT = {"primal_feasibility_tolerance": _FEASIBLE, "dual_feasibility_tolerance": _FEASIBLE}
_LENIENT = {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}
_ATTEMPTS: tuple[dict[str, Any], ...] = (  # the later ones are for ill-conditioned programs, and rarely needed
    {"simplex_strategy": _PRIMAL_SIMPLEX, **_STRICT},
    {"simplex_strategy": _DUAL_SIMPLEX, **_STRICT},
    {"simplex_strategy": _PRIMAL_SIMPLEX, **_STRICT},
    {"simplex_strategy": _DUAL_SIMPLEX, **_LENIENT},
)


class LinearProgram:
    """The cheapest vertex of {low <= x <= high, row_low <= A x <= row_high}, for any cost.

    Safe to share between threads, to pickle, and to use after a fork: HiGHS models are made where they are used.

    Parameters
    ----------
    matrix : sparse array of shape (m, n)
        The rows A, best of unit length: tolerances are relative to them.
    row_low, row_high : arrays of shape (m,)
        Their bounds; infinite ones are none.
    low, high : arrays of shape (n,)
        Bounds of the variables, likewise.

    Examples
    --------
    >>> program = LinearProgram(sparse.csr_array([[1.0, 1.0]]), [-np.inf], [1.5], [0.0, 0.0], [1.0, 1.0])
    >>> program.solve(np.array([-1.0, -2.0]))
    array([0.5, 1. ])
    """

    def __init__(self, matrix: Any, row_low: Vector, row_high: Vector, low: Vector, high: Vector) -> None:
        self.matrix = sparse.csr_array(matrix)
        bounds = [np.asarray(bound, dtype=np.float64) for bound in (row_low, row_high, low, high)]
        finite = np.concatenate([np.abs(bound[np.isfinite(bound)]) for bound in bounds])
        self.scale = float(finite.max(initial=0.0)) or 1.0
        self.row_low, self.row_high, self.low, self.high = (bound / self.scale for bound in bounds)
        self._second = np.random.default_rng(matrix.shape[1]).uniform(0.5, 1.0, matrix.shape[1])
        self._dense = self.matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= _DENSE else None
        self._fixed = np.concatenate((self.low == self.high, self.row_low == self.row_high))
        self._live: _Live | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_live": None}

    def solve(self, cost: Vector, *, unique: bool = True) -> Vector:
        """Return the vertex where <cost, x> is least; raise DomainError if there is none.

        Where several are, `unique` makes it always the same one; without, it is any of them, and comes faster.
        """
        largest = float(np.abs(cost).max(initial=0.0))
        cost = cost / largest if largest > 0.0 else np.zeros(cost.size)
        live = self._live
        if live is None or live.fork_count != _fork.fork_count():  # a lock that was held at the fork stays locked
            self._live = live = _Live(_fork.fork_count(), threading.Lock(), self._build())
        with live.lock:
            x = self._run(live, cost)
            if unique and (live.model is None or self._tied(live.model)):
                x = self._untie(live, cost, x)
        return self.scale * self._polished(x)

    def _build(self) -> Any:
        """Return a HiGHS model; imported here, since few programs need it. Without highspy there is none."""
        highspy = faster_with("highspy", "linear programs are solved from scratch, slowly,")
        if highspy is None:
            return None
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = self.matrix.shape
        lp.col_cost_ = np.zeros(self.low.size)
        lp.col_lower_, lp.col_upper_ = self.low, self.high
        lp.row_lower_, lp.row_upper_ = self.row_low, self.row_high
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = self.matrix.indptr, self.matrix.indices
        lp.a_matrix_.value_ = self.matrix.data
        model = highspy.Highs()
        model.setOptionValue("output_flag", False)
        model.setOptionValue("presolve", "off")  # it would throw the basis away
        model.passModel(lp)
        return model

    def _run(self, live: "_Live", cost: Vector) -> Vector:
        """Solve: primal simplex from the last basis, which stays feasible; for a very different cost, from scratch."""
        if live.model is None:
            return self._from_scratch(cost)
        live.model.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost)
        # In large programs starting anew takes less than the primal steps from a basis nearby (measured).
        near = False
        if live.last is not None and self._dense is not None:
            near = bool(np.linalg.norm(cost - live.last) <= _NEAR * np.linalg.norm(cost))
        live.last = None
        status = ""
        for attempt in _ATTEMPTS if near else _ATTEMPTS[1:]:
            if attempt is not _ATTEMPTS[0]:
                live.model.clearSolver()
            for option, value in attempt.items():
                live.model.setOptionValue(option, value)
            live.model.run()
            status = live.model.modelStatusToString(live.model.getModelStatus())
            if status == "Optimal":
                live.last = cost
                return np.array(live.model.getSolution().col_value)
            if status == "Infeasible" and attempt is not _ATTEMPTS[0]:
                break
        raise DomainError(f"the linear program has no optimal vertex: HiGHS says {status!r}")

    def _from_scratch(self, cost: Vector) -> Vector:
        rows = optimize.LinearConstraint(self.matrix, self.row_low, self.row_high)
        found = optimize.milp(cost, constraints=rows, bounds=optimize.Bounds(self.low, self.high))
        if found.x is None:
            raise DomainError(f"the linear program has no optimal vertex: HiGHS says {found.message!r}")
        return np.asarray(found.x, dtype=np.float64)

    def _tied(self, model: Any) -> bool:
        """Say whether another vertex may be as cheap: some variable off the basis could move at no cost."""
        solution = model.getSolution()
        prices = np.array(solution.col_dual + solution.row_dual)
        basic = model.getBasicVariables()[1]
        prices[np.where(basic >= 0, basic, self.low.size - 1 - basic)] = 1.0
        prices[self._fixed] = 1.0
        return bool(np.abs(prices).min() <= _TIGHT)

    def _untie(self, live: "_Live", cost: Vector, x: Vector) -> Vector:
        """Add a little of the second cost; whatever is still cheapest by the first is the answer."""
        least = float(cost @ x)
        for nudge in _NUDGES if cost.any() else (1.0,):
            other = self._run(live, cost + nudge * self._second)
            if float(cost @ other) <= least + 1e-12:
                return other
        return x

    def _polished(self, x: Vector) -> Vector:
        """Return the vertex from its tight constraints alone: the same bits, however HiGHS came to it."""
        if self._dense is None:
            return x
        down, up = x <= self.low + _TIGHT, x >= self.high - _TIGHT
        clean = np.where(down, self.low, np.where(up, self.high, 0.0))
        values = self._dense @ x
        below, above = values <= self.row_low + _TIGHT, values >= self.row_high - _TIGHT
        free, tight = np.flatnonzero(~(down | up)), np.flatnonzero(below | above)
        if tight.size < free.size:
            return x  # not a vertex to this accuracy: a very thin set
        if free.size:
            wanted = np.where(below, self.row_low, self.row_high)[tight] - (self._dense @ clean)[tight]
            clean[free] = _least_squares(self._dense[np.ix_(tight, free)], wanted)
        return clean if np.abs(clean - x).max(initial=0.0) <= 1e-7 else x


@dataclass(slots=True)
class _Live:
    """What belongs to one process: the HiGHS model, and the lock around it."""

    fork_count: int
    lock: threading.Lock
    model: Any
    last: Vector | None = None


def _least_squares(rows: Floats, wanted: Vector) -> Vector:
    """Solve; where more constraints are tight than needed, by least squares."""
    if rows.shape[0] == rows.shape[1]:
        try:
            return np.asarray(np.linalg.solve(rows, wanted), dtype=np.float64)
        except np.linalg.LinAlgError:
            pass
    answer: Vector = linalg.lstsq(rows, wanted, lapack_driver="gelsy", check_finite=False)[0]
    return answer
