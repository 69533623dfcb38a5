"""Private means of losses, for whatever chooses by them: any optimizer, an A/B test, a person."""

from sottovoce.evaluations.evaluation import Evaluation
from sottovoce.evaluations.private_evaluations import Assignment, EvaluationsVerification, PrivateEvaluations

__all__ = ["Assignment", "Evaluation", "EvaluationsVerification", "PrivateEvaluations"]
