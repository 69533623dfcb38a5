"""Real decision problems, ready to run."""

from sottovoce.problems.ball import BallTracking
from sottovoce.problems.base import DecisionProblem
from sottovoce.problems.pricing import Pricing
from sottovoce.problems.ranking import Ranking
from sottovoce.problems.routing import Routing
from sottovoce.problems.slate import Slate
from sottovoce.problems.spanning_tree import Backbone

__all__ = ["PROBLEMS", "Backbone", "BallTracking", "DecisionProblem", "Pricing", "Ranking", "Routing", "Slate"]

PROBLEMS: dict[str, type[DecisionProblem]] = {
    "routing": Routing,
    "spanning-tree": Backbone,
    "pricing": Pricing,
    "slate": Slate,
    "ranking": Ranking,
    "ball": BallTracking,
}
"""By the name that the command line knows them by."""
