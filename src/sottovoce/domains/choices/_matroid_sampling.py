"""Random independent sets with given chances for the elements, by systematic sampling (Madow, 1949).

Lay the chances end to end and choose what the grid u, u + 1, ... hits, u uniform in [0, 1): any interval of elements
with chances that add up to t is hit floor(t) or ceil(t) times. So quotas of intervals are kept, and those of laminar
sets are quotas of intervals once the elements stand in a suitable line.
"""

import math

import numpy as np

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce.domains.choices.hypersimplex import Hypersimplex
from sottovoce.domains.matroids import Laminar, Partition

__all__ = ["along_a_line", "group_by_group"]

_SURE = 1e-6  # points this near to the set count as in it


def group_by_group(matroid: Partition, x: Vector, rng: np.random.Generator, count: int, *, bases: bool) -> Floats:
    """Draw independent sets with mean x, or bases, each group on its own."""
    drawn = np.zeros((count, matroid.ground_size))
    for group, capacity in zip(matroid.groups(), matroid.capacities.tolist(), strict=True):
        drawn[:, group] = _systematic(x[group], rng, count, capacity, exactly=bases)
    return drawn


def along_a_line(matroid: Laminar, x: Vector, rng: np.random.Generator, count: int, *, bases: bool) -> Floats:
    """Draw independent sets with mean x, or bases; x is in the polytope up to rounding."""
    line, rank = matroid.line(), matroid.rank()
    drawn = np.zeros((count, matroid.ground_size))
    bad: Mask = np.ones(count, dtype=np.bool_)
    while bad.any():  # where a quota is met with equality, rounding lets the grid miss an end, hardly ever
        drawn[np.ix_(bad, line)] = _systematic(x[line], rng, int(bad.sum()), rank, exactly=bases)
        bad = np.any(drawn @ matroid.family.T > matroid.capacities, axis=1)
    return drawn


def _systematic(x: Vector, rng: np.random.Generator, count: int, most: int, *, exactly: bool) -> Floats:
    """Draw 0/1 rows with mean x and at most, or exactly, `most` ones; what is missing goes to one more, silent item."""
    x = np.clip(x, 0.0, 1.0)
    total = most if exactly else min(most, math.ceil(float(x.sum()) - _SURE))
    if total == 0 or (exactly and total == len(x)):
        return np.full((count, len(x)), float(total > 0))
    padded = x if exactly else np.append(x, max(0.0, total - float(x.sum())))
    return Hypersimplex(len(padded), total).round(padded, rng, size=count)[:, : len(x)] + 0.0  # no -0.0
