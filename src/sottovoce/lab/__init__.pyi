"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.lab import (
    baselines as baselines,
    problems as problems,
    reproduction as reproduction,
)
from sottovoce.lab.algorithms import ALGORITHMS as ALGORITHMS
from sottovoce.lab.problems.naming import make_problem as make_problem
from sottovoce.lab.simulation.environment import (
    Comparator as Comparator,
    Environment as Environment,
)
from sottovoce.lab.simulation.finite import (
    Distances as Distances,
    FiniteEnvironment as FiniteEnvironment,
    LinearLosses as LinearLosses,
    LossLibrary as LossLibrary,
)
from sottovoce.lab.simulation.playing import (
    decision_of as decision_of,
    simulate as simulate,
)
from sottovoce.lab.simulation.run import (
    Run as Run,
    RunDetails as RunDetails,
)
from sottovoce.lab.simulation.segmented import (
    SegmentedEnvironment as SegmentedEnvironment,
    SegmentScores as SegmentScores,
    power_law as power_law,
)
from sottovoce.lab.simulation.worlds import (
    MovingTarget as MovingTarget,
    NoisyLinear as NoisyLinear,
)
from sottovoce.lab.sweeps.cell import (
    Cell as Cell,
    Result as Result,
    grid as grid,
)
from sottovoce.lab.sweeps.running import run_cell as run_cell
from sottovoce.lab.sweeps.sweeping import (
    Standing as Standing,
    sweep as sweep,
)
from sottovoce.lab.sweeps.swept import Sweep as Sweep
