"""The vertices of a small set, all of them, from its linear oracle."""

from functools import lru_cache

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.domains import ConvexHull, Domain, Hypersimplex, Simplex
from sottovoce.errors import DomainError

MOST_VERTICES = 1_000
LISTED = (Simplex(4), Hypersimplex(5, 2))
"""Sets for examples of what needs such a list."""

_TRIALS = 32  # random costs whose answers must be of zeros and ones


@lru_cache(maxsize=64)
def vertices_of(domain: Domain, most: int = MOST_VERTICES) -> Floats:
    """Return the vertices of a set, one a row, or say why an algorithm that needs a list of them is not for this set.

    A vertex that begins with given bits exists if and only if the oracle, charged 1 for every bit that differs, answers
    at no cost. So every prefix is asked once which has a vertex below it: some n calls for each vertex. That all
    vertices are of zeros and ones is found by trying, on axes and random costs. Of a `ConvexHull` the points are known.

    Examples
    --------
    >>> import sottovoce as sv
    >>> len(vertices_of(sv.domains.Hypersimplex(6, 2))), len(vertices_of(sv.domains.Birkhoff(4)))
    (15, 24)
    """
    if isinstance(domain, ConvexHull):
        found = domain.points if len(domain.points) <= most else None
    else:
        found = _binary_vertices(domain, most) if _is_binary(domain) else None
    if found is None:
        raise DomainError(
            f"it needs a list of at most {most:,} vertices, and {domain!r} has more, or some that are not "
            "of zeros and ones; use an algorithm that needs only the linear oracle, such as thompson-sampling"
        )
    found.setflags(write=False)
    return found


def _is_binary(domain: Domain) -> bool:
    axes = np.eye(domain.dimension)
    costs = np.vstack([axes, -axes, np.random.default_rng(0).standard_normal((_TRIALS, domain.dimension))])
    answers = (domain.extreme_point(cost) for cost in costs)
    return all(bool((np.abs(x - (x > 0.5)) < 1e-9).all()) for x in answers)


def _binary_vertices(domain: Domain, most: int) -> Floats | None:
    found: list[Floats] = []
    open_branches = [(np.rint(domain.extreme_point(np.zeros(domain.dimension))), 0)]
    while open_branches:
        vertex, fixed = open_branches.pop()
        found.append(vertex)
        for place in range(fixed, domain.dimension):
            bits = vertex[: place + 1].copy()
            bits[place] = 1 - bits[place]
            cost = np.zeros(domain.dimension)
            cost[: place + 1] = 1 - 2 * bits
            other = np.rint(domain.extreme_point(cost))
            if (other[: place + 1] == bits).all():
                open_branches.append((other, place + 1))
        if len(found) + len(open_branches) > most:
            return None
    return np.array(found)
