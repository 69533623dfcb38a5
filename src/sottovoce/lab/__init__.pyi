"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.lab import (
    baselines as baselines,
    problems as problems,
    reproduction as reproduction,
)
from sottovoce.lab.algorithms import ALGORITHMS as ALGORITHMS
from sottovoce.lab.problems.naming import make_problem as make_problem
from sottovoce.lab.simulation import (
    Comparator as Comparator,
    Distances as Distances,
    Environment as Environment,
    Events as Events,
    FiniteEnvironment as FiniteEnvironment,
    LinearLosses as LinearLosses,
    LossLibrary as LossLibrary,
    MovingTarget as MovingTarget,
    NoisyLinear as NoisyLinear,
    Run as Run,
    RunDetails as RunDetails,
    SegmentedEnvironment as SegmentedEnvironment,
    SegmentScores as SegmentScores,
    Switching as Switching,
    decision_of as decision_of,
    power_law as power_law,
    simulate as simulate,
)
from sottovoce.lab.sweeps import (
    Cell as Cell,
    Result as Result,
    Standing as Standing,
    Sweep as Sweep,
    grid as grid,
    run_cell as run_cell,
    sweep as sweep,
)
