"""What released numbers say of the world that a run is in: how much decisions differ, how much losses scatter.

Tests: tests/rehearsal/test_running.py.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.plans.problem import Problem

_DRAWS = 200
_SURE = 2.0  # deviations by which a gain must exceed 0 to be one


@dataclass(frozen=True)
class SeenWorld:
    """What is known of a world, as shares of the loss range.

    Attributes
    ----------
    contrast, deviation
        How much better the best decision is than never learning, and how far off that may be.
    scatter
        Standard deviation of losses at one decision.
    """

    contrast: float
    deviation: float
    scatter: float

    @property
    def told_apart(self) -> bool:
        """Whether good and bad decisions can be told apart yet."""
        return self.contrast > _SURE * self.deviation


def seen_in(beliefs: Mapping[Any, Any], sizes: Mapping[Any, int], problem: Problem) -> SeenWorld | None:
    """Return what beliefs of one or several segments say together, by their events; None if they know nothing.

    Parameters
    ----------
    beliefs
        By segment.
    sizes
        Events of each.
    problem
        What is decided.
    """
    known = {name: one for name, one in beliefs.items() if one.measurements.rounds and sizes.get(name)}
    if not known:
        return None
    middle, total = np.asarray(problem.domain.middle), sum(sizes[name] for name in known)
    contrast = variance = scatter = 0.0
    for name, belief in known.items():
        share, best = sizes[name] / total, np.array(belief.leader)
        contrast += share * (belief.expected_loss(middle) - belief.expected_loss(best))
        variance += (share * float(np.std(belief.gaps(middle, best, _DRAWS)))) ** 2
        scatter += share * belief.variance
    whole = problem.width
    if problem.feedback == "items":
        items = float(problem.domain.most_chosen)
        whole *= items if problem.most is None else min(items, problem.most / problem.width)
    return SeenWorld(contrast / whole, math.sqrt(variance) / whole, math.sqrt(scatter) / whole)
