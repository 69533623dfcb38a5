"""Private means of losses, for whatever chooses by them: any optimizer, an A/B test, a person."""

from sottovoce.evaluations.evaluation import Assignment, Evaluation
from sottovoce.evaluations.private_evaluations import EvaluationsVerification, PrivateEvaluations

__all__ = ["Assignment", "Evaluation", "EvaluationsVerification", "PrivateEvaluations"]
