"""Choices from a list: one of n, k of n, or what a matroid allows."""

from sottovoce.domains.choices.hypersimplex import Hypersimplex
from sottovoce.domains.choices.matroid_bases import MatroidBases
from sottovoce.domains.choices.simplex import Simplex

__all__ = ["Hypersimplex", "MatroidBases", "Simplex"]
