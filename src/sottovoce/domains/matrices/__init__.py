"""Matrices as flat vectors, bounded by their singular values or eigenvalues."""

from sottovoce.domains.matrices.nuclear_ball import NuclearBall
from sottovoce.domains.matrices.spectrahedron import Spectrahedron

__all__ = ["NuclearBall", "Spectrahedron"]
