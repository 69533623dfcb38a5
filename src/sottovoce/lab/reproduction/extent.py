"""The grid of runs that the paper's claims are judged by."""

from collections.abc import Iterator
from dataclasses import dataclass

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.reproduction.hindsight import FACTORS, with_factor
from sottovoce.lab.reproduction.lemmas import Base
from sottovoce.lab.reproduction.oracle_calls import OPEN_LOOP, POLYTOPE
from sottovoce.lab.reproduction.paper_claims import PaperClaim, claims
from sottovoce.lab.sweeps.cell import Cell, Result
from sottovoce.lab.sweeps.grids import grid

_PAPER = ("paper-laplace", "paper-gaussian")
_NEEDED = ("paper-needed-laplace", "paper-needed-gaussian")
_MANY = ("default", *_PAPER, *_NEEDED, "no-privacy", "paper-no-noise", "garber-kretzu")
_SLOW = ("smith-thakurta", f"smith-thakurta:delta={DELTA:g}")  # a round per event
_OTHERS = ("fkm", "chen-zhang-karbasi")  # a round per event, and no claim is about them


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
        Horizons above all others, which have fewer seeds.
    hindsight_horizons, slow_hindsight_horizons
        Some of `horizons`, and of `slow_horizons`, at which the baselines' best constants in hindsight are looked up.

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
    hindsight_horizons: tuple[int, ...] = ()
    slow_hindsight_horizons: tuple[int, ...] = ()
    approximate_horizons: tuple[int, ...] = ()


SMALL = Extent(
    Base(dimension=8, horizon=100_000, epsilon=1.0),
    horizons=(10_000, 30_000, 100_000, 300_000),
    dimensions=(4, 8, 16, 32),
    epsilons=(0.1, 0.3, 1.0, 3.0),
    huge_epsilons=(30.0, 100.0, 300.0, 1_000.0),
    slow_horizons=(10_000, 30_000),
    seeds=8,
    hindsight_horizons=(10_000, 300_000),
    slow_hindsight_horizons=(10_000,),
)
LARGE = Extent(
    Base(dimension=8, horizon=1_000_000, epsilon=1.0),
    horizons=(10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    dimensions=(4, 8, 16, 32),
    epsilons=(0.1, 0.3, 1.0, 3.0),
    huge_epsilons=(30.0, 100.0, 300.0, 1_000.0),
    slow_horizons=(10_000, 30_000),
    seeds=4,
    longest=(100_000_000,),
    longest_seeds=2,
    hindsight_horizons=(10_000, 300_000, 1_000_000),
    slow_hindsight_horizons=(30_000,),
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


def problem_of(dimension: int) -> str:
    """Return the setting of the page, which is ours: distances in the unit ball, played around the point."""
    return f"ball:dimension={dimension},play=around"


def _cells(scale: Extent) -> Iterator[Cell]:
    base, seeds = scale.base, range(scale.seeds)
    here = problem_of(base.dimension)
    yield from grid([here], _MANY, epsilons=[base.epsilon], horizons=scale.horizons, seeds=seeds)
    yield from grid([here], _SLOW, epsilons=[base.epsilon], horizons=scale.slow_horizons, seeds=seeds)
    if scale.approximate_horizons:
        yield from grid([here], _SLOW[1:], epsilons=[base.epsilon], horizons=scale.approximate_horizons, seeds=seeds)
    sizes = [problem_of(dimension) for dimension in scale.dimensions]
    yield from grid(sizes, _MANY, epsilons=[base.epsilon], horizons=[base.horizon], seeds=seeds)
    private = ("default", *_PAPER, *_NEEDED)
    yield from grid([here], private, epsilons=scale.epsilons, horizons=[base.horizon], seeds=seeds)
    yield from grid([here], _PAPER[:1], epsilons=scale.huge_epsilons, horizons=[base.horizon], seeds=seeds)
    if scale.longest:
        few = range(scale.longest_seeds)
        yield from grid([here], _MANY, epsilons=[base.epsilon], horizons=scale.longest, seeds=few)
    yield from _hindsight_cells(scale)
    yield from _oracle_cells(scale)


def _oracle_cells(scale: Extent) -> Iterator[Cell]:
    """Conditional gradient as its proof has it, where it is not too slow; and on a set that has no formula."""
    epsilons, short = [scale.base.epsilon], [one for one in scale.horizons if one <= scale.base.horizon]
    here, ends = problem_of(scale.base.dimension), (scale.slow_horizons[0], scale.slow_horizons[-1])
    yield from grid([here], [OPEN_LOOP], epsilons=epsilons, horizons=short, seeds=range(scale.seeds))
    yield from grid([POLYTOPE], ["paper-no-noise", OPEN_LOOP], epsilons=epsilons, horizons=ends, seeds=range(2))


def _hindsight_cells(scale: Extent) -> Iterator[Cell]:
    """Baselines with other constants than their bounds ask for; those with a round per event on half of the seeds."""
    here, epsilons, half = problem_of(scale.base.dimension), [scale.base.epsilon], range(max(2, scale.seeds // 2))
    if scale.hindsight_horizons:
        several = [with_factor("garber-kretzu", factor) for factor in FACTORS]
        yield from grid([here], several, epsilons=epsilons, horizons=scale.hindsight_horizons, seeds=range(scale.seeds))
    if scale.slow_hindsight_horizons:
        several = [with_factor(name, factor) for name in (*_SLOW, *_OTHERS) for factor in FACTORS]
        yield from grid([here], several, epsilons=epsilons, horizons=scale.slow_hindsight_horizons, seeds=half)


def judge(results: tuple[Result, ...], scale: Extent) -> tuple[PaperClaim, ...]:
    """Judge the claims by what the grid gave.

    Parameters
    ----------
    results
        Of the cells of `reproduction_grid`.
    scale
        `SMALL` or `LARGE`.

    Examples
    --------
    >>> judge((), SMALL)[0].verdict.startswith("With the noise of the paper's lemmas it cannot be seen")
    True
    """
    return claims(results, scale.base)
