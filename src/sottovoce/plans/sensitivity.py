"""How far one loss moves what a round is summed into: the formulas behind the least noise that hides it.

Numbers: one loss is in one number, and moves it by at most the steps of its grid. Items: one person's losses of all
items move one round's numbers as `ItemGrid` says, times what all items are multiplied by. Vectors: one loss moves the
round's vector by at most that times the norm of a rounded direction; the sum after the last round is never released.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sottovoce.plans.problem import Problem
from sottovoce.privacy import (
    RESOLUTION,
    DirectionGrid,
    Guarantee,
    Mechanism,
    Noise,
    ScaleRefused,
    Sensitivity,
    Takes,
    bits_for,
)

LARGEST_SCALE = 2.0**55
"""Of noise, in steps of the grid."""


def sensitivity_of(problem: Problem, gives: Takes, *, bits: int, rounds: int, dimension: int) -> Sensitivity:
    """Return how far one loss moves what its round hands to a mechanism; `dimension` is that of the directions."""
    steps, length = problem.loss_grid(bits).steps, max(1, rounds - 1)
    if gives == "numbers":
        return Sensitivity(steps, float(steps), length, dimension)
    if gives == "items":
        grid = problem.item_grid(bits)
        return Sensitivity(RESOLUTION * grid.l1, RESOLUTION * grid.l2, length, grid.width)
    directions = DirectionGrid(bits=bits)
    return Sensitivity(
        steps * directions.largest_l1(dimension), steps * directions.largest_l2(dimension), length, dimension
    )


def needed_noise(problem: Problem, mechanism: Mechanism, *, bits: int, rounds: int, dimension: int) -> Noise | None:
    """Return the least noise of one released number; None if none is needed here."""
    if not mechanism.noised:
        return None
    (gives,) = mechanism.takes
    sensitivity = sensitivity_of(problem, gives, bits=bits, rounds=rounds, dimension=dimension)
    return _noise(mechanism, problem.privacy, sensitivity)


@lru_cache(1024)
def _noise(mechanism: Mechanism, guarantee: Guarantee, sensitivity: Sensitivity) -> Noise | None:
    return mechanism.noise(guarantee, sensitivity)


def sum_noise(mechanism: Mechanism, noise: Noise, *, rounds: int, **options: Any) -> float:
    """Root mean square of a running sum's noise in one coordinate, in steps of the grid, for noise of this scale.

    `options` are the mechanism's own: padding adds to the noise. The sum after the last round is never released.
    """
    assert mechanism.mean_variance is not None
    return noise.standard_deviation * math.sqrt(mechanism.mean_variance(max(1, rounds - 1), **options))


def finest(
    problem: Problem, mechanism: Mechanism, *, rounds: int, dimension: int, least: Callable[[int], float] | None = None
) -> tuple[int, Noise | None]:
    """Return the bits of the finest grids on which sums cannot overflow and the noise fits, and that noise.

    `least` is from bits to the least scale that is wanted: a coarser grid loses nothing under larger noise.
    """
    for bits in range(most_bits(problem, mechanism), 1, -1):
        try:
            noise = needed_noise(problem, mechanism, bits=bits, rounds=rounds, dimension=dimension)
        except ScaleRefused:
            continue
        if noise is not None and least is not None and noise.scale < least(bits):
            noise = replace(noise, scale=least(bits))
        if noise is None or noise.scale <= LARGEST_SCALE:
            return bits, noise
    raise ValueError(f"{problem.privacy} needs noise that 64-bit integers cannot hold; raise epsilon")


def most_bits(problem: Problem, mechanism: Mechanism) -> int:
    """Return the bits of the finest grids on which sums cannot overflow."""
    return bits_for(mechanism.headroom * problem.horizon)
