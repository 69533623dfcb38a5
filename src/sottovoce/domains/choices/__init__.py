"""Choices from a list: one of n, k of n, what a matroid allows, and what a submodular function bounds."""

from sottovoce.domains.choices.base_polytope import BasePolytope
from sottovoce.domains.choices.hypersimplex import Hypersimplex
from sottovoce.domains.choices.independent_sets import IndependentSets
from sottovoce.domains.choices.matroid_bases import MatroidBases
from sottovoce.domains.choices.simplex import Simplex

__all__ = ["BasePolytope", "Hypersimplex", "IndependentSets", "MatroidBases", "Simplex"]
