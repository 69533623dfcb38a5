"""Sets that look alike from all sides: what a vertex that is cheapest for a random cost is spread by, by formula.

If exchanging coordinates (or their signs) maps a set to itself, then a cost of independent standard normals is as
likely as its images, and so is its cheapest vertex: the covariance of that vertex commutes with all of these maps.
Where none of the set's directions is apart from the others, it is a multiple of the identity on them, and the trace
says which: all vertices are R from the centre, so that it is R^2/d. Then every vertex has the leverage d, and the
distribution is a D-optimal design (Kiefer, Wolfowitz, 1960), without a search. A product of such sets is as good: its
covariance has a block for each.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Matrix, Vector


class Orbit(NamedTuple):
    """How vertices that are cheapest for random costs are spread: orthonormal axes (d, n), and deviations (d,)."""

    axes: Matrix
    deviations: Vector


def even_orbit(axes: Any, outer_radius: float) -> Orbit:
    """Return the orbit whose vertices are all `outer_radius` from the centre, and spread alike along all axes."""
    return Orbit(np.asarray(axes, dtype=np.float64), np.full(len(axes), outer_radius / math.sqrt(len(axes))))


def helmert(n: int) -> Matrix:
    """Return orthonormal rows that span the vectors of n coordinates that add up to 0.

    Examples
    --------
    >>> helmert(3).round(3)
    array([[ 0.707, -0.707,  0.   ],
           [ 0.408,  0.408, -0.816]])
    """
    counts = np.arange(1, n)
    rows: Matrix = np.tril(np.ones((n - 1, n)))
    rows[counts - 1, counts] = -counts
    return np.asarray(rows / np.sqrt(counts * (counts + 1))[:, None], dtype=np.float64)
