"""Evaluations in a storage: they survive, and processes share them."""

from sottovoce.evaluations.stored.stored_evaluations import StoredEvaluations, open_evaluations

__all__ = ["StoredEvaluations", "open_evaluations"]
