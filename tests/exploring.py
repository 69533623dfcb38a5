"""Rounds of frames, designs and spheres, played by hand."""

import math

import numpy as np

import sottovoce as sv
from sottovoce.plans.placement import Placement

GRID = 2.0**-30  # losses are summed as integers


def rounded(domain, integral=False):
    return Placement(domain, sv.domains.Rounded(domain), integral)


def half_way(placement):
    """A point between the centre and a vertex of the working set."""
    working = placement.working
    return 0.5 * working.center + 0.5 * working.extreme_point(np.arange(1.0, working.dimension + 1))


def in_working(placement, gradient):
    """The gradient along the set, in working coordinates, of a function with this gradient in the set's own."""
    if placement.rounded is None:
        return placement.domain.tangent(gradient)
    return placement.rounded.design.factor.T @ gradient


def drawn(explorer, point, coins, blocks):
    """One round's exploration, and its events, drawn block by block."""
    exploration = explorer.begin(point, 0, sum(blocks), coins)
    return exploration, [exploration.draw(coins, sum(blocks[:place]), size) for place, size in enumerate(blocks)]


def estimated(exploration, draws, losses):
    """What a round's exploration makes of the exact sums of its losses."""
    parts = np.split(np.rint(losses / GRID).astype(np.int64), np.cumsum([len(draw.actions) for draw in draws])[:-1])
    sums = GRID * sum(draw.weights.sum(part) for draw, part in zip(draws, parts, strict=True))
    return exploration.estimate(sums, sum(draw.weights.total() for draw in draws).astype(float))


def agree(rows, expected, spare=1e-12):
    """Whether the mean of rows is what it should be, within 6 standard errors, which are returned: 1e-8 for each."""
    rows = np.asarray(rows, dtype=float)
    error = rows.std(axis=0) / math.sqrt(len(rows)) + spare
    assert (np.abs(rows.mean(axis=0) - expected) <= 6 * error).all()
    return error
