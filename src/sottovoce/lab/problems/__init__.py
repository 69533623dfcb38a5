"""Real decision problems, ready to run."""

from sottovoce.lab._catalogue import by_name as _by_name
from sottovoce.lab.problems.ball_tracking import BallTracking as BallTracking
from sottovoce.lab.problems.base import DecisionProblem as DecisionProblem
from sottovoce.lab.problems.editions import Editions as Editions
from sottovoce.lab.problems.pricing import Pricing as Pricing
from sottovoce.lab.problems.ranking import Ranking as Ranking
from sottovoce.lab.problems.routing import Routing as Routing
from sottovoce.lab.problems.slate import Slate as Slate
from sottovoce.lab.problems.spanning_tree import Backbone as Backbone

PROBLEMS = _by_name(globals(), DecisionProblem)
"""Every problem that is imported above, by the name that the command line knows it by."""

__all__ = ["PROBLEMS", "DecisionProblem"]
__all__ += [kind.__name__ for kind in PROBLEMS.values()]
