"""What ways of exploring share: radii and batch sizes to try, and what losses and never learning cost."""

import math

from sottovoce.exploration import Stage
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import LocalDP

__all__ = [
    "OBLIVIOUS",
    "batch_sizes",
    "bet",
    "largest_radius",
    "loss_deviation",
    "no_learning",
    "position_of",
    "radii",
    "smoothing",
]

OBLIVIOUS = "losses that do not answer to the actions of their own round; then it holds for any sequence of losses"
"""What frames and designs rest on: an action tells which others its round has, so losses must be fixed before it."""


def batch_sizes(horizon: int, most_rounds: int) -> list[int]:
    """Powers of sqrt(2), of at least what leaves `most_rounds` rounds: more rounds gain next to nothing, slowly."""
    least = math.ceil(horizon / most_rounds)
    sizes = {min(horizon, max(least, round(2 ** (exponent / 2)))) for exponent in range(2 * horizon.bit_length())}
    return sorted(sizes)


def radii(problem: Problem, stage: Stage) -> list[float]:
    """Radii to try, from the largest that fits."""
    return [largest_radius(problem, stage) * 10 ** (-exponent / 8) for exponent in range(20)]


def largest_radius(problem: Problem, stage: Stage) -> float:
    """The largest radius to explore at."""
    return stage.working.inner_radius / 2 if problem.play == "inside" else stage.working.diameter


def smoothing(problem: Problem, stage: Stage, radius: float) -> float:
    """How far exploring moves what is played and compared with, in length: c * radius."""
    working = stage.working
    pulled = stage.reach / working.inner_radius if problem.play == "inside" else 0.0
    own = 0.0 if problem.losses == "linear" else 1.0  # a linear loss is its own smoothing
    return (own + pulled) * radius


def loss_deviation(problem: Problem) -> float:
    """Deviation of a reported loss from the middle of the range: B/2 at most; more if it was privatised."""
    if isinstance(problem.privacy, LocalDP):
        return problem.width / 2 / math.tanh(problem.privacy.epsilon / problem.privacy.contributions / 2)
    return problem.width / 2


def no_learning(problem: Problem, stage: Stage) -> float:
    """What never learning can cost at most."""
    far = problem.lipschitz_in(stage) * stage.reach
    return problem.horizon * min(problem.width, far)


def position_of(stage: Stage) -> str:
    """The name of the coordinates that are worked in."""
    return "plain" if stage.rounded is None else "rounded"


def bet(multiplier: float) -> float:
    """What multiplying the adaptive step costs in the worst case: (c + 1/c)/2."""
    return (multiplier + 1 / multiplier) / 2
