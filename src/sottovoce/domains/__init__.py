"""Feasible sets: each one is a linear oracle, and the geometry that follows from it.

A new family is one new file in this folder, with a class that derives from `Domain`.
"""

import importlib
import inspect
import pkgutil

from sottovoce.domains import matroids, set_functions
from sottovoce.domains.affine import Affine
from sottovoce.domains.ball import Ball
from sottovoce.domains.base import Domain
from sottovoce.domains.birkhoff import Birkhoff
from sottovoce.domains.box import Box
from sottovoce.domains.check import check_domain
from sottovoce.domains.commodities import multicommodity
from sottovoce.domains.counting import Counting
from sottovoce.domains.custom import Custom
from sottovoce.domains.flows import Flows
from sottovoce.domains.hull import ConvexHull
from sottovoce.domains.hypersimplex import Hypersimplex
from sottovoce.domains.independent_sets import IndependentSets
from sottovoce.domains.k_sparse import KSparse
from sottovoce.domains.l1_ball import L1Ball
from sottovoce.domains.linf_ball import LInfBall
from sottovoce.domains.matchings import Matchings
from sottovoce.domains.matroid_bases import MatroidBases
from sottovoce.domains.nuclear_ball import NuclearBall
from sottovoce.domains.paths import Paths
from sottovoce.domains.permutahedron import Permutahedron
from sottovoce.domains.polytope import Polytope
from sottovoce.domains.product import Product
from sottovoce.domains.rounded import Rounded
from sottovoce.domains.simplex import Simplex
from sottovoce.domains.spanning_trees import SpanningTrees
from sottovoce.domains.spectrahedron import Spectrahedron
from sottovoce.domains.submodular import BasePolytope
from sottovoce.domains.submodularity import check_submodular

__all__ = [
    "Affine",
    "Ball",
    "BasePolytope",
    "Birkhoff",
    "Box",
    "ConvexHull",
    "Counting",
    "Custom",
    "Domain",
    "Flows",
    "Hypersimplex",
    "IndependentSets",
    "KSparse",
    "L1Ball",
    "LInfBall",
    "Matchings",
    "MatroidBases",
    "NuclearBall",
    "Paths",
    "Permutahedron",
    "Polytope",
    "Product",
    "Rounded",
    "Simplex",
    "SpanningTrees",
    "Spectrahedron",
    "all_domains",
    "check_domain",
    "check_submodular",
    "matroids",
    "multicommodity",
    "set_functions",
]


def all_domains() -> tuple[type[Domain], ...]:
    """Return every family in this package, by name; files are found, not listed.

    Examples
    --------
    >>> {family.__name__: family.summary() for family in all_domains()}["Ball"]
    'All points within a distance of a centre.'
    """
    modules = [importlib.import_module(found.name) for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    families = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Domain) and member.__module__ == module.__name__ and not inspect.isabstract(member)
    }
    return tuple(sorted(families, key=lambda family: family.__name__))
