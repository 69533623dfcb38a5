"""One cell of a grid of runs, and what came of it: the row of a tidy table."""

import hashlib
import math
import re
from dataclasses import dataclass


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
        Rounds released, linear oracle calls, and time.
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
