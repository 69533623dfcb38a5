"""The compiled inner loop of the pairwise method: steps between atoms, by inner products alone.

Importing this file compiles nothing. The first call compiles (about two seconds, once a machine: the result is cached
on disk, in `NUMBA_CACHE_DIR` if the package's own folder cannot be written to) or loads it from the cache (tens of
milliseconds, once a process).
"""

import numpy as np

from sottovoce._arrays import Matrix, Vector
from sottovoce._compiled import compiled

__all__ = ["enter", "exchange"]


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
