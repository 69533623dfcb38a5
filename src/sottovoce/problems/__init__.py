"""Real decision problems, ready to run."""

from sottovoce.problems.base import DecisionProblem

__all__ = ["PROBLEMS", "DecisionProblem"]

PROBLEMS: dict[str, type[DecisionProblem]] = {}
"""By the name that the command line knows them by."""
