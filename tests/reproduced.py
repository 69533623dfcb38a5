"""The paper's claims on a small grid, with results that nobody ran: tests say what is to come of them."""

import math

from sottovoce.lab import Result
from sottovoce.lab.reproduction.extent import Base, Extent

SMALL = Extent(
    Base(dimension=4, horizon=1_000, epsilon=1.0),
    horizons=(1_000, 10_000),
    dimensions=(4, 8),
    epsilons=(0.1, 1.0),
    huge_epsilons=(100.0, 1_000.0),
    slow_horizons=(1_000, 10_000),
    seeds=2,
    longest=(100_000,),
    longest_seeds=1,
)


def regret_of(cell):
    """The paper's private algorithms learn nothing unless epsilon is huge; the others as T^(1/2)."""
    lost = 0.9 * cell.horizon if cell.algorithm.startswith(("paper-l", "paper-g")) else cell.horizon**0.5
    return (0.1 * lost if 10 < cell.epsilon < math.inf else lost) * (1 + 0.01 * cell.seed)


def invented(cell, regret=None, **figures):
    """Return a result of a cell, with the regret above unless there is another."""
    given = {"regret": regret_of(cell) if regret is None else regret, "never_learning": 0.5 * cell.horizon, **figures}
    return Result(cell, "done", dimension=dimension_of(cell), seconds=60.0, **given)


def dimension_of(cell):
    return int(cell.problem.partition("dimension=")[2].partition(",")[0] or 19)
