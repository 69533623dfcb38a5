"""Costs of links without negative cycles, as near as possible to given ones; and written so that none is negative.

Prices at the nodes, added where a link leaves and taken back where it arrives, change the cost of all paths from source
to target by one number. Costs have no cycle of negative total if and only if some prices make all of them at least 0
(Gallai, 1958). So the nearest costs without one are cost + (what is lacking to 0 at the best prices), where the best
prices p minimise

    f(p) = 1/2 sum over links of min(0, cost - p[tail] + p[head])^2,

which is convex, and quadratic where no link changes sign. It is minimised by Newton's steps, each by conjugate
gradients on the links that are below 0, with a line search. Projections on convex sets bring no point farther from one
in the set: if the true costs have no negative cycle, what is found is never farther from them than what was given.

Compiled on first use, and kept on disk.
"""

import numpy as np

from sottovoce._arrays import Indices, Vector
from sottovoce._compiled import compiled

_STEPS = 60  # of Newton at most; 5 to 15 are usual
_ENOUGH = 1e-9  # root mean square of the gradient, relative to the largest cost
_HARDLY, _HARDLY_IF_LARGE = 1e-6, 1e-3  # relative fall of f that is not worth a step; on its way to 0, f falls by more
_LARGE = 1000  # nodes from which a step takes long
_RIDGE = 1e-7  # that keeps parts apart which no negative link joins


@compiled
def without_negative_cycles(cost: Vector, tails: Indices, heads: Indices, nodes: int) -> Vector:
    """Return the nearest costs without a negative cycle, less prices at the nodes that leave none below 0."""
    scale = np.abs(cost).max()
    if scale == 0.0:
        return cost.copy()
    reduced, before = cost / scale, np.inf  # squares of costs of any size
    hardly = _HARDLY if nodes < _LARGE else _HARDLY_IF_LARGE
    for _ in range(_STEPS):
        slope, weight, value = np.zeros(nodes), np.full(nodes, _RIDGE), 0.0
        for link in range(len(cost)):
            below = min(0.0, reduced[link])
            if below < 0.0:
                value += 0.5 * below * below
                slope[tails[link]] -= below
                slope[heads[link]] += below
                weight[tails[link]] += 1.0
                weight[heads[link]] += 1.0
        size = np.sqrt((slope * slope).sum())
        if size <= _ENOUGH * np.sqrt(nodes) or value >= (1.0 - hardly) * before:
            break
        before = value
        step = _newton_step(slope, weight, reduced, tails, heads, min(0.1, np.sqrt(size)) * size)
        length, falls = 1.0, (slope * step).sum()
        while length > 1e-9:
            reached = 0.0
            for link in range(len(cost)):
                below = min(0.0, reduced[link] + length * (step[heads[link]] - step[tails[link]]))
                reached += 0.5 * below * below
            if reached <= value + 1e-4 * length * falls:
                break
            length /= 2
        if length <= 1e-9:  # rounding is all that is left
            break
        for link in range(len(cost)):
            reduced[link] += length * (step[heads[link]] - step[tails[link]])
    return np.asarray(np.maximum(reduced, 0.0) * scale)


@compiled
def _newton_step(
    slope: Vector, weight: Vector, reduced: Vector, tails: Indices, heads: Indices, enough: float
) -> Vector:
    """Solve H step = -slope to `enough`, by conjugate gradients: H is the Laplacian of links below 0, and a ridge."""
    step, rest = np.zeros(len(slope)), -slope
    towards = rest / weight
    product = (rest * towards).sum()
    for _ in range(2 * len(slope) + 10):
        image = _RIDGE * towards
        for link in range(len(reduced)):
            if reduced[link] < 0.0:
                along = towards[heads[link]] - towards[tails[link]]
                image[tails[link]] -= along
                image[heads[link]] += along
        share = product / (towards * image).sum()
        step += share * towards
        rest -= share * image
        if np.sqrt((rest * rest).sum()) <= enough:
            break
        scaled = rest / weight
        renewed = (rest * scaled).sum()
        towards = scaled + (renewed / product) * towards
        product = renewed
    return step
