"""The cells of a grid of runs, with what came of each: a row of a tidy table."""

import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sottovoce._checks import number, whole
from sottovoce.lab.algorithms import algorithm_name, find_algorithm
from sottovoce.lab.problems.naming import problem_name


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What one run is made of: everything that its outcome depends on.

    Parameters
    ----------
    problem
        A name with its settings, as on the command line: "slate", or "slate:items=40,slots=5".
    algorithm
        A name: "default", "paper", "garber-kretzu", ...
    epsilon
        Privacy of the run; infinity for none. Algorithms that are not private have infinity.
    horizon, seed
        Events; and the seed of the environment, the public coins and the simulated noise, on separate streams.

    Examples
    --------
    >>> cell = Cell("ball", "default", 1.0, 1_000, 0)
    >>> cell.key.startswith("ball-default-epsilon-1.0-1000-events-seed-0-")
    True
    """

    problem: str
    algorithm: str
    epsilon: float
    horizon: int
    seed: int

    @property
    def key(self) -> str:
        """A name for its files: readable, and different for every cell."""
        words = f"{self.problem} {self.algorithm} epsilon {self.epsilon} {self.horizon} events seed {self.seed}"
        exact = repr((self.problem, self.algorithm, self.epsilon, self.horizon, self.seed))
        readable = re.sub(r"[^a-z0-9.=]+", "-", words.lower()).strip("-")[:120]
        return f"{readable}-{hashlib.sha256(exact.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a cell; a failed one says why, and has no figures (NaN).

    Every figure is made of true losses, which exist in simulations only.

    Parameters
    ----------
    cell
        What was run.
    status, error
        "done" or "failed", and one line that says why.
    dimension
        Of the set's affine hull.
    regret, never_learning
        Final cumulative regret against the best fixed point; and that of playing the centre for ever.
    predicted
        The plan's bound on the cumulative regret; NaN where an algorithm makes no prediction.
    certificate
        Per event, no fixed point is better than the comparator by more.
    rounds, oracle_calls, seconds
        Rounds released, linear oracle calls once it was set up, and time.
    privacy
        The guarantee's headline, and NOT PRIVATE if the noise was simulated.

    Examples
    --------
    >>> Result(Cell("ball", "default", 1.0, 1_000, 0), "done", regret=50.0).regret_per_event
    0.05
    """

    cell: Cell
    status: str
    error: str = ""
    dimension: int = 0
    regret: float = math.nan
    never_learning: float = math.nan
    predicted: float = math.nan
    certificate: float = math.nan
    rounds: int = 0
    oracle_calls: int = 0
    seconds: float = math.nan
    privacy: str = ""

    @property
    def regret_per_event(self) -> float:
        """Final regret divided by the horizon."""
        return self.regret / self.cell.horizon

    @property
    def never_learning_per_event(self) -> float:
        """Regret of never learning divided by the horizon."""
        return self.never_learning / self.cell.horizon


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
