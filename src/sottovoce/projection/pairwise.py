"""Blended pairwise conditional gradient, lazy, for sets of very large dimension (Tsuji, Tanaka, Pokutta, 2022).

The point is kept as a mean of atoms, with the atoms' inner products. Local steps move weight from the dearest atom to
the cheapest one and cost as much as there are atoms, whatever the dimension. Only when the known atoms, those no
longer in use included, offer no more than a fraction of the last gap is the oracle asked for a new one, which enters by
a Frank-Wolfe step. There is no factor to update, and atoms with few nonzero coordinates are kept as such.
"""

from dataclasses import replace

import numpy as np

from sottovoce._arrays import Matrix, Vector
from sottovoce._checks import vector, whole
from sottovoce._compiled import compiled
from sottovoce.projection._atom_pool import AtomPool
from sottovoce.projection._stopping import Stopping
from sottovoce.projection.min_norm_point import minimum_norm_point
from sottovoce.projection.result import Oracle, Projection, first_vertex, same_shape

_LAZY = 0.1  # known atoms are exchanged until they offer less than this fraction of the oracle's last gap
_STEPS = 50  # exchanges in a row for every atom: beyond that a new atom helps more
_UNUSED = 100  # atoms out of use that are remembered
_PATIENCE = 3  # answers in a row without a new atom: exchanges alone do not get any further


def blended_pairwise(
    oracle: Oracle,
    target: Vector,
    *,
    warm: Projection | None = None,
    gap: float | None = None,
    max_calls: int | None = None,
) -> Projection:
    """Project `target` on a convex set that is known by its linear oracle, in a space of very many dimensions.

    Parameters
    ----------
    oracle : callable
        From a cost vector to a point of the set that minimises <cost, x>.
    target : array of shape (n,)
        The point to be projected.
    warm : Projection, optional
        An earlier result on the same set: its atoms are taken over.
    gap : float, optional
        Stop once the Frank-Wolfe gap is at most this; the default is that of `minimum_norm_point`. Whatever was asked
        for, the search ends where rounding hides the gap; `converged` then says whether that was enough.
    max_calls : int, optional
        Stop after this many oracle calls, whatever the gap. Default: 1000 + 20 n.

    Returns
    -------
    Projection
        Its gap belongs to the returned point: the last oracle call is made there.

    Notes
    -----
    The inner loop is compiled on first use (about two seconds, once a machine).

    Examples
    --------
    >>> def oracle(cost):  # the probability simplex
    ...     vertex = np.zeros(cost.size)
    ...     vertex[cost.argmin()] = 1.0
    ...     return vertex
    >>> target = np.zeros(10_000)
    >>> target[:2] = 0.9, 0.5
    >>> result = blended_pairwise(oracle, target)
    >>> result.converged, result.point[:3].round(6), len(result.weights)
    (True, array([0.7, 0.3, 0. ]), 2)
    """
    target = vector("target", target, np.size(target))
    budget = whole("max_calls", 1000 + 20 * target.size if max_calls is None else max_calls)
    stopping = Stopping(gap, 0.0 if warm is None else warm.scale)
    blend, calls = _start(oracle, target, warm)
    if calls == 0:
        blend.settle(stopping, thorough=True)
    idle = 0
    while True:
        vertex = np.asarray(oracle(blend.away))
        calls += 1
        if stopping.judge(blend.point, blend.away, vertex) or calls >= budget:
            break
        if idle == _PATIENCE or len(blend.pool) > 4 * target.size + 50:
            break
        idle = 0 if blend.admit(vertex, stopping) else idle + 1
        blend.settle(stopping, thorough=idle > 0)
    pool, weights = blend.sorted()
    blend.point.setflags(write=False)
    result = Projection(blend.point, stopping.certificate(), stopping.tolerance, calls, pool, weights)
    if result.converged or calls >= budget:
        return result
    # Exchanges crawl, on a thin set or among atoms as close as those of a curved one, or rounding hides the gap: exact
    # solutions on independent atoms get further, or tell.
    exact = minimum_norm_point(oracle, target, warm=result, gap=gap, max_calls=budget - calls)
    return replace(exact if exact.gap < result.gap else result, calls=exact.calls + calls)


def _start(oracle: Oracle, target: Vector, warm: Projection | None) -> tuple["_Blend", int]:
    """Return the first mean of atoms, and the oracle calls spent."""
    if warm is None or warm.active is None or warm.weights is None:
        return _Blend(AtomPool(first_vertex(oracle, target)), np.ones(1), target), 1
    same_shape(warm, target)
    if isinstance(warm.active, AtomPool):
        pool = warm.active.copy()
    else:
        pool = AtomPool(warm.active.atoms[0])
        for atom in warm.active.atoms[1:]:
            pool.add(atom)
    return _Blend(pool, np.append(warm.weights, np.zeros(len(pool) - len(warm.weights))), target), 0


class _Blend:
    """The point as a mean of a pool's atoms; weights may be zero."""

    __slots__ = ("away", "point", "pool", "slopes", "target", "weights")

    def __init__(self, pool: AtomPool, weights: Vector, target: Vector) -> None:
        self.pool, self.weights, self.target = pool, weights, target
        self._go()

    def _go(self) -> None:
        """Leave the inner products, and what rounding did to them, for the vectors themselves."""
        self.weights /= self.weights.sum()
        self.point = self.pool.mean(self.weights)
        self.away = self.point - self.target
        self.slopes = self.pool.slopes(self.away)

    def admit(self, vertex: Vector, stopping: Stopping) -> bool:
        """Step toward the oracle's answer; return False if the pool holds one as good already."""
        slope = float(self.away.dot(vertex - self.pool.origin))
        noise = stopping.rounding + 1e-15 * stopping.length * stopping.scale
        if slope >= self.slopes.min() - noise:
            return False
        self.pool.add(vertex)
        self.weights, self.slopes = np.append(self.weights, 0.0), np.append(self.slopes, slope)
        enter(self.pool.gram, self.weights, self.slopes)
        return True

    def sorted(self) -> tuple[AtomPool, Vector]:
        """Return a pool with the atoms in use at the front, and their weights."""
        used, unused = np.flatnonzero(self.weights > 0.0), np.flatnonzero(self.weights == 0.0)
        return self.pool.pick(np.concatenate((used, unused))) if len(unused) else self.pool, self.weights[used]

    def settle(self, stopping: Stopping, thorough: bool) -> None:
        """Exchange weight among known atoms until they offer little; or next to nothing, if they are all there is."""
        stopping.look(self.point, self.away)
        wanted = 0.0 if thorough else _LAZY * stopping.found
        enough = max(wanted, stopping.tolerance / 4, stopping.rounding / 4)
        exchange(self.pool.gram, self.weights, self.slopes, enough, _STEPS * len(self.pool))
        used, unused = np.flatnonzero(self.weights > 0.0), np.flatnonzero(self.weights == 0.0)
        if len(unused) > len(used) + _UNUSED:  # seldom, so that copying does not count
            kept = np.concatenate((used, unused[-_UNUSED:]))
            self.pool, self.weights = self.pool.pick(kept), self.weights[kept]
        self._go()


# ----------------------------------------------------------------------
# The compiled inner loop of the pairwise method: steps between atoms, by inner products alone.
#
# Importing this file compiles nothing. The first call compiles (about two seconds, once a machine: the result is
# cached on disk, in `NUMBA_CACHE_DIR` if the package's own folder cannot be written to) or loads it from the cache
# (tens of milliseconds, once a process).


@compiled
def exchange(gram: Matrix, weights: Vector, slopes: Vector, enough: float, limit: int) -> int:
    """Move weight from the dearest atom in use to the cheapest atom, until no exchange gains more than `enough`.

    Each move is the best along its direction. `weights` and `slopes` (the gradient's inner products with the atoms) are
    updated in place: a step costs as much as there are atoms. Returns the number of steps.
    """
    k = len(weights)
    for step in range(limit):
        cheapest = dearest = -1
        for i in range(k):
            if cheapest < 0 or slopes[i] < slopes[cheapest]:
                cheapest = i
            if weights[i] > 0.0 and (dearest < 0 or slopes[i] > slopes[dearest]):
                dearest = i
        gain = slopes[dearest] - slopes[cheapest]
        if not gain > enough:
            return step
        length = gram[cheapest, cheapest] - 2.0 * gram[cheapest, dearest] + gram[dearest, dearest]
        if gain < weights[dearest] * length:
            moved = gain / length
            weights[dearest] -= moved
        else:
            moved = weights[dearest]
            weights[dearest] = 0.0
        weights[cheapest] += moved
        for i in range(k):
            slopes[i] += moved * (gram[cheapest, i] - gram[dearest, i])
    return limit


@compiled
def enter(gram: Matrix, weights: Vector, slopes: Vector) -> None:
    """Take the best step from the mean toward the last atom: a Frank-Wolfe step, in place."""
    k = len(weights)
    products = np.zeros(k)
    for j in range(k):
        if weights[j] > 0.0:
            for i in range(k):
                products[i] += weights[j] * gram[j, i]
    last = k - 1
    gain, length = -slopes[last], gram[last, last]
    for j in range(k):
        gain += weights[j] * slopes[j]
        length += weights[j] * (products[j] - 2.0 * gram[last, j])
    if not gain > 0.0:
        return
    step = min(1.0, gain / length) if length > 0.0 else 1.0
    for i in range(k):
        weights[i] *= 1.0 - step
        slopes[i] += step * (gram[last, i] - products[i])
    weights[last] += step
