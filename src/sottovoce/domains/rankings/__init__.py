"""Orders and assignments: rankings by weights, permutation matrices, matchings."""

from sottovoce.domains.rankings.birkhoff import Birkhoff
from sottovoce.domains.rankings.matchings import Matchings
from sottovoce.domains.rankings.permutahedron import Permutahedron

__all__ = ["Birkhoff", "Matchings", "Permutahedron"]
