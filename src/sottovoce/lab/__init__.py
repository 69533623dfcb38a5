"""For researchers: worlds to simulate, problems, algorithms to compare with, and sweeps over all of them.

Nothing here exists in a live deployment, and nothing outside needs it.
"""

from typing import TYPE_CHECKING

from sottovoce._lazy import lazily

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below, when it is first used
    from sottovoce.lab import baselines as baselines
    from sottovoce.lab import problems as problems
    from sottovoce.lab import reproduction as reproduction
    from sottovoce.lab.algorithms import ALGORITHMS as ALGORITHMS
    from sottovoce.lab.problems.naming import make_problem as make_problem
    from sottovoce.lab.simulation import *  # noqa: F403
    from sottovoce.lab.sweeps import *  # noqa: F403

_HOMES = {
    name: f"{__name__}.{home}"
    for home, names in {
        "algorithms": "ALGORITHMS",
        "problems.naming": "make_problem",
        "simulation": "Comparator Distances Environment Events FiniteEnvironment LinearLosses LossLibrary MovingTarget "
        "NoisyLinear Run RunDetails SegmentScores SegmentedEnvironment SegmentedTargets Switching decision_of "
        "power_law simulate simulate_full_information",
        "sweeps": "Cell Result Standing Sweep grid run_cell sweep",
    }.items()
    for name in names.split()
}
_PARTS = ("baselines", "problems", "reproduction")

__all__ = sorted((*_HOMES, *_PARTS))

__getattr__, __dir__ = lazily(__name__, _HOMES, (*_PARTS, "simulation", "sweeps"))
