"""Polytopes as they are given: by inequalities and equations, or by points."""

from sottovoce.domains.polytopes.convex_hull import ConvexHull
from sottovoce.domains.polytopes.polytope import Polytope

__all__ = ["ConvexHull", "Polytope"]
