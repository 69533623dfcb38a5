"""The grid of runs that the paper's claims are judged by."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.sweeps.cell import Cell, grid

PAPER = ("paper-laplace", "paper-gaussian")
"""Algorithm 1 with the noise of the paper's lemmas."""

NEEDED = ("paper-needed-laplace", "paper-needed-gaussian")
"""The same with the least noise that privacy needs."""

THEIRS = ("smith-thakurta", f"smith-thakurta:delta={DELTA:g}")
"""What the paper matches under pure and under approximate privacy; each has a round per event, and is slow."""

OPEN_LOOP = "paper-no-noise:method=open-loop"
"""Conditional gradient with the steps 2/(k + 2) of its textbook proof, which the paper cites."""

POLYTOPE = "slate:items=20,slots=5"
"""A set of vertices, as the paper has in mind: oracle calls on a ball are few."""

_MANY = ("default", *PAPER, *NEEDED, "no-privacy", "paper-no-noise", "garber-kretzu")


@dataclass(frozen=True, slots=True)
class Base:
    """What is fixed while one quantity varies.

    Parameters
    ----------
    dimension
        Of the ball.
    horizon
        Events of a run.
    epsilon
        Of pure privacy.

    Examples
    --------
    >>> Base(dimension=8, horizon=100_000, epsilon=1.0).dimension
    8
    """

    dimension: int
    horizon: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    base
        What is fixed while one quantity varies.
    horizons, dimensions, epsilons
        What varies; each holds the value of `base`.
    huge_epsilons
        No privacy to speak of, but the paper's constants with Laplace noise learn there. (With Gaussian noise they
        would need more still, which `ApproxDP` refuses.)
    slow_horizons, approximate_horizons
        Some of `horizons`, for algorithms with a round per event; and further ones for the one of them that the paper
        matches, Smith and Thakurta's under approximate privacy.
    seeds
        How many.
    longest, longest_seeds
        Horizons above all others, which have fewer seeds: they are among all numbers, and no claim is judged by them.

    Examples
    --------
    >>> SMALL.base.horizon in SMALL.horizons, SMALL.seeds
    (True, 8)
    """

    base: Base
    horizons: tuple[int, ...]
    dimensions: tuple[int, ...]
    epsilons: tuple[float, ...]
    huge_epsilons: tuple[float, ...]
    slow_horizons: tuple[int, ...]
    seeds: int
    longest: tuple[int, ...] = ()
    longest_seeds: int = 2
    approximate_horizons: tuple[int, ...] = ()


SMALL = Extent(
    Base(dimension=8, horizon=100_000, epsilon=1.0),
    horizons=(10_000, 30_000, 100_000, 300_000),
    dimensions=(4, 8, 16, 32),
    epsilons=(0.1, 0.3, 1.0, 3.0),
    huge_epsilons=(30.0, 100.0, 300.0, 1_000.0),
    slow_horizons=(10_000, 30_000),
    seeds=8,
)
LARGE = replace(
    SMALL,
    base=Base(dimension=8, horizon=1_000_000, epsilon=1.0),
    horizons=(10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    seeds=4,
    longest=(100_000_000,),
    approximate_horizons=(100_000, 300_000),
)


def reproduction_grid(scale: Extent) -> tuple[Cell, ...]:
    """Return the cells of all claims, each once.

    Parameters
    ----------
    scale
        `SMALL` or `LARGE`.

    Examples
    --------
    >>> cells = reproduction_grid(SMALL)
    >>> len(cells) == len(set(cells)), sorted({cell.problem.split(":")[0] for cell in cells})
    (True, ['ball', 'slate'])
    """
    return tuple(dict.fromkeys(_cells(scale)))


def _cells(scale: Extent) -> Iterator[Cell]:
    base, seeds, budget = scale.base, range(scale.seeds), [scale.base.epsilon]
    sizes = [f"ball:dimension={one},play=around" for one in scale.dimensions]  # the setting is ours
    here = [f"ball:dimension={base.dimension},play=around"]
    yield from grid(here, _MANY, epsilons=budget, horizons=scale.horizons, seeds=seeds)
    yield from grid(here, THEIRS, epsilons=budget, horizons=scale.slow_horizons, seeds=seeds)
    yield from grid(sizes, _MANY, epsilons=budget, horizons=[base.horizon], seeds=seeds)
    yield from grid(here, ("default", *PAPER, *NEEDED), epsilons=scale.epsilons, horizons=[base.horizon], seeds=seeds)
    yield from grid(here, PAPER[:1], epsilons=scale.huge_epsilons, horizons=[base.horizon], seeds=seeds)
    if scale.approximate_horizons:
        yield from grid(here, THEIRS[1:], epsilons=budget, horizons=scale.approximate_horizons, seeds=seeds)
    if scale.longest:
        yield from grid(here, _MANY, epsilons=budget, horizons=scale.longest, seeds=range(scale.longest_seeds))
    # Conditional gradient as its proof has it, where it is not too slow; and on a set that has no formula.
    short = [one for one in scale.horizons if one <= base.horizon]
    yield from grid(here, [OPEN_LOOP], epsilons=budget, horizons=short, seeds=seeds)
    ends = scale.slow_horizons[0], scale.slow_horizons[-1]
    yield from grid([POLYTOPE], ["paper-no-noise", OPEN_LOOP], epsilons=budget, horizons=ends, seeds=range(2))
