"""Every combination of problems, algorithms, budgets, horizons and seeds."""

import math
from collections.abc import Iterable

from sottovoce._checks import number, whole
from sottovoce.lab.algorithms import algorithm_name, find_algorithm
from sottovoce.lab.problems.naming import problem_name
from sottovoce.lab.sweeps.cell import Cell


def grid(
    problems: Iterable[str],
    algorithms: Iterable[str],
    *,
    epsilons: Iterable[float],
    horizons: Iterable[int],
    seeds: Iterable[int],
) -> tuple[Cell, ...]:
    """Return the cells of a grid, in order, each once.

    An algorithm that is not private has one cell for each horizon and seed, with an epsilon of infinity.

    Parameters
    ----------
    problems
        Names of problems, with settings as on the command line: "slate", "ball:dimension=8".
    algorithms
        Names of `ALGORITHMS`, or of baselines.
    epsilons
        Guarantees of private algorithms, as `PureDP` takes them.
    horizons
        Events of a run.
    seeds
        Of the world and of the coins.

    Examples
    --------
    >>> cells = grid(["ball"], ["default", "no-privacy"], epsilons=[0.1, 1.0], horizons=[1_000], seeds=range(2))
    >>> [(cell.algorithm, cell.epsilon, cell.seed) for cell in cells][:3]
    [('default', 0.1, 0), ('default', 0.1, 1), ('default', 1.0, 0)]
    >>> len(cells)
    6
    """
    budgets = [number("epsilon", epsilon, above=0.0) for epsilon in epsilons]
    lengths = [whole("horizon", horizon) for horizon in horizons]
    draws = [whole("seed", seed, least=0) for seed in seeds]
    cells = [
        Cell(problem, algorithm, epsilon, horizon, seed)
        for problem in map(problem_name, problems)
        for algorithm in map(algorithm_name, algorithms)
        for epsilon in (budgets if find_algorithm(algorithm)[0].private else [math.inf])
        for horizon in lengths
        for seed in draws
    ]
    if not cells:
        raise ValueError("a grid needs at least one problem, algorithm, epsilon, horizon and seed")
    return tuple(dict.fromkeys(cells))
