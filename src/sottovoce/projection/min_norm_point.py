"""Wolfe's minimum-norm-point method: the projection, from a linear oracle, in few calls.

The point is kept as the mean of affinely independent atoms. A major step adds one more atom; minor steps go to the
point of the atoms' affine hull nearest to the target, and drop an atom whenever its weight would turn negative (Wolfe,
1976). On a polytope the method ends after finitely many steps.
"""

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import vector, whole
from sottovoce.projection._active_atoms import ActiveAtoms
from sottovoce.projection._stopping import Stopping
from sottovoce.projection.result import Oracle, Projection, first_vertex, same_shape

_NOTHING = np.zeros(1)


def minimum_norm_point(
    oracle: Oracle,
    target: Vector,
    *,
    warm: Projection | None = None,
    gap: float | None = None,
    max_calls: int | None = None,
) -> Projection:
    """Project `target` on a convex set that is known by its linear oracle.

    Parameters
    ----------
    oracle : callable
        From a cost vector to a point of the set that minimises <cost, x>.
    target : array of shape (n,)
        The point to be projected.
    warm : Projection, optional
        An earlier result on the same set: its atoms and their factor are taken over.
    gap : float, optional
        Stop once the Frank-Wolfe gap is at most this. Default: 1e-10 times the squared scale of the set (the largest
        distance between a vertex and a point that was met), or 1e-12 times the scale times the distance to the target
        if that is more, and never within 50 times the gap's own rounding error. Whatever was asked for, the search
        ends where rounding hides the gap; `converged` then says whether that was enough.
    max_calls : int, optional
        Stop after this many oracle calls, whatever the gap. Default: 1000 + 20 n.

    Returns
    -------
    Projection
        Its gap belongs to the returned point: the last oracle call is made there.

    Examples
    --------
    >>> def oracle(cost):  # the probability simplex
    ...     vertex = np.zeros(cost.size)
    ...     vertex[cost.argmin()] = 1.0
    ...     return vertex
    >>> result = minimum_norm_point(oracle, [0.9, 0.5, -1.0])
    >>> result.converged, result.point.round(6)
    (True, array([0.7, 0.3, 0. ]))
    >>> minimum_norm_point(oracle, [0.9, 0.52, -1.0], warm=result).calls
    1
    """
    target = vector("target", target, np.size(target))
    budget = whole("max_calls", 1000 + 20 * target.size if max_calls is None else max_calls)
    stopping = Stopping(gap, 0.0 if warm is None else warm.scale)
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
        vertex = first_vertex(oracle, target)
        return _Walk(ActiveAtoms(vertex), np.ones(1), vertex, target), 1
    same_shape(warm, target)
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
