"""Wolfe's minimum-norm-point method: the projection, from a linear oracle, in few calls.

The point is kept as the mean of affinely independent atoms. A major step adds one more atom; minor steps go to the
point of the atoms' affine hull nearest to the target, and drop an atom whenever its weight would turn negative (Wolfe,
1976). On a polytope the method ends after finitely many steps.
"""

import math
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dnrm2

from sottovoce._arrays import Vector
from sottovoce._checks import number, vector, whole
from sottovoce.errors import DomainError
from sottovoce.projection._active_atoms import ActiveAtoms
from sottovoce.projection.result import Oracle, Projection, checked_gap

_NOTHING = np.zeros(1)
_EPSILON = float(np.finfo(np.float64).eps)


class HasExtremePoint(Protocol):
    """Anything with a linear oracle by this name; every domain is one."""

    def extreme_point(self, cost: Vector) -> Vector:
        """Return argmin <cost, x> over the set."""


def project(
    domain: HasExtremePoint | Oracle,
    target: Vector,
    *,
    warm: Projection | None = None,
    gap: float | None = None,
    max_calls: int | None = None,
) -> Projection:
    """Return the point of `domain` nearest to `target`, with a certificate.

    Parameters
    ----------
    domain : Domain or callable
        Anything with a method `extreme_point`, or the bare linear oracle: a function from a cost vector to a point of
        the set where <cost, x> is least.
    target : array of shape (n,)
        The point to be projected.
    warm : Projection, optional
        An earlier result on the same set to start from: its atoms and their factor are taken over. The nearer the
        targets, the fewer the oracle calls.
    gap : float, optional
        Stop once the Frank-Wolfe gap is at most this; the distance to the true projection is then at most its square
        root. Default: 1e-10 times the squared scale of the set (the largest distance between a vertex and a point that
        was met), or 1e-12 times the scale times the distance to the target if that is more, and never within 50 times
        the gap's own rounding error. Whatever was asked for, the search ends where rounding hides the gap; `converged`
        then says whether that was enough.
    max_calls : int, optional
        Stop after this many oracle calls, whatever the gap. Default: 1000 + 20 n. A start from cold takes at least two.

    Returns
    -------
    Projection
        With `point`, `gap` (of that point: the last oracle call is made there), `distance`, `calls`, `converged`,
        `atoms` and `weights`.

    Examples
    --------
    >>> def square(cost):  # [-1, 1]^2
    ...     return np.where(cost > 0, -1.0, 1.0)
    >>> result = project(square, [3.0, 0.5])
    >>> result.point.round(6), result.converged, result.distance < 1e-4
    (array([1. , 0.5]), True, True)
    >>> project(square, [3.0, 0.52], warm=result).calls
    1
    """
    oracle: Any = getattr(domain, "extreme_point", domain)
    if not callable(oracle):
        raise TypeError(f"domain must be a Domain or a linear oracle (a function from cost to vertex), got {domain!r}")
    target = vector("target", target, getattr(domain, "dimension", np.size(target)))
    budget = whole("max_calls", 1000 + 20 * target.size if max_calls is None else max_calls)
    stopping = _Stopping(gap, 0.0 if warm is None else warm.scale)
    walk, calls = _start(oracle, target, warm)
    while True:
        vertex = np.asarray(oracle(walk.away))
        calls += 1
        if stopping.judge(walk.point, walk.away, vertex) or calls >= budget:
            break
        if not walk.add(vertex):  # a gap that rounding made: atoms of one affine hull all have the same <away, atom>
            break
        walk.descend()
    walk.point.setflags(write=False)
    return Projection(walk.point, stopping.certificate(), stopping.tolerance, calls, walk.active, walk.weights)


def _start(oracle: Oracle, target: Vector, warm: Projection | None) -> tuple["_Walk", int]:
    """Return where the walk begins, and the oracle calls spent."""
    if warm is None or warm.active is None or warm.weights is None:
        vertex = np.array(oracle(-target), dtype=np.float64)  # a copy, since an oracle may use its array again
        if vertex.shape != target.shape:
            raise ValueError(f"target must have the shape of the oracle's answers, {vertex.shape}, got {target.shape}")
        if not np.isfinite(vertex).all():
            raise DomainError(f"the oracle must return finite vectors, got {vertex!r}")
        return _Walk(ActiveAtoms(vertex), np.ones(1), vertex, target), 1
    if warm.point.shape != target.shape:
        raise ValueError(
            f"warm must come from the same set: its point has shape {warm.point.shape}, target {target.shape}"
        )
    walk = _Walk(warm.active, warm.weights, warm.point, target, shared=True)
    walk.descend()
    return walk, 0


class _Walk:
    """The point on its way to the target, as a mean of atoms."""

    __slots__ = ("_shared", "active", "away", "point", "target", "weights")

    def __init__(
        self, active: ActiveAtoms, weights: Vector, point: Vector, target: Vector, shared: bool = False
    ) -> None:
        self.active, self.weights, self.point, self.target = active, weights, point, target
        self.away = point - target
        self._shared = shared

    def _go(self, weights: Vector) -> None:
        self.weights = weights / weights.sum()
        self.point = self.active.mean(self.weights)
        self.away = self.point - self.target

    def _own(self) -> None:
        """Leave the result that this walk started from as it was."""
        if self._shared:
            self.active, self._shared = self.active.copy(), False

    def add(self, atom: Vector) -> bool:
        """Take in an atom, with weight 0; return False if it adds nothing to the affine hull."""
        self._own()
        if not self.active.add(atom):
            return False
        self.weights = np.concatenate((self.weights, _NOTHING))
        return True

    def descend(self) -> None:
        """Take minor steps until the point is the nearest to the target in the affine hull of its own atoms."""
        while True:
            change = self.active.toward(-self.away)
            wanted = self.weights + change
            if wanted.min() >= 0.0:
                return self._go(wanted)
            shrinking = np.flatnonzero(wanted < 0.0)
            ratios = self.weights[shrinking] / -change[shrinking]
            first = int(ratios.argmin())
            gone = int(shrinking[first])
            weights = np.maximum(self.weights + ratios[first] * change, 0.0)
            self._own()
            self.active.drop(gone)
            self._go(np.concatenate((weights[:gone], weights[gone + 1 :])))


class _Stopping:
    """The tolerance of a search, which learns the scale of the set from the oracle's answers.

    Parameters
    ----------
    gap : float or None
        The Frank-Wolfe gap that is asked for. None: 1e-10 times the squared scale of the set (the largest distance
        between a vertex and a point that was met), or 1e-12 times the scale times the distance to the target if that
        is more, and never within 50 times the gap's own rounding error.
    scale : float
        A distance between two points of the set, if one is known.
    """

    def __init__(self, gap: float | None, scale: float = 0.0) -> None:
        self._asked = gap if gap is None else number("gap", gap, above=-math.ulp(0.0))
        self.scale = scale
        self.found = math.inf

    def judge(self, point: Vector, away: Vector, vertex: Vector) -> bool:
        """Say whether the point is good enough, given the oracle's answer to `away`; set `found`, its gap."""
        if vertex.shape != point.shape:
            raise DomainError(f"the oracle must return vectors of shape {point.shape}, got {vertex.shape}")
        direction = vertex - point
        self.scale = max(self.scale, dnrm2(direction))
        self.length: float = dnrm2(away)
        self.reach: float = dnrm2(point)
        blur = _EPSILON * self.reach  # neither factor of the gap is known any better
        rounding = blur * (self.scale + self.length + blur)
        least = max(1e-10 * self.scale * self.scale, 1e-12 * self.scale * self.length, 50 * rounding)
        self.tolerance = least if self._asked is None else self._asked
        self.found = -float(away.dot(direction))
        if not math.isfinite(self.found + self.tolerance):
            raise DomainError(
                f"the gap is {self.found}: the oracle returned NaN or infinity, or numbers so large that products "
                f"overflow (the set reaches over {self.scale:.3g}, its cost has length {self.length:.3g})"
            )
        return bool(self.found <= max(self.tolerance, rounding))

    def certificate(self) -> float:
        """Return the last gap found, without its rounding error below zero."""
        return checked_gap(self.found, self.length * (self.scale + self.reach))
