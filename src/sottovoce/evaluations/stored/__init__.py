"""Evaluations in a storage: they survive, and processes share them."""

from sottovoce.evaluations.stored.stored_evaluations import StoredEvaluations, open_evaluations
from sottovoce.evaluations.stored.verifying import EvaluationsVerification

__all__ = ["EvaluationsVerification", "StoredEvaluations", "open_evaluations"]
