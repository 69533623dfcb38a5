"""Feasible sets: each one is a linear oracle, and the geometry that follows from it.

A new family is one new file in this folder, with a class that derives from `Domain`.
"""

import importlib
import inspect
import pkgutil

from sottovoce.domains.ball import Ball
from sottovoce.domains.base import Domain
from sottovoce.domains.box import Box
from sottovoce.domains.custom import Custom
from sottovoce.domains.hypersimplex import Hypersimplex
from sottovoce.domains.simplex import Simplex

__all__ = ["Ball", "Box", "Custom", "Domain", "Hypersimplex", "Simplex", "all_domains"]


def all_domains() -> tuple[type[Domain], ...]:
    """Return every family in this package, by name; files are found, not listed.

    Examples
    --------
    >>> for family in all_domains():
    ...     print(f"{family.__name__}: {family.summary()}")
    Ball: All points within a distance of a centre.
    Box: All points between two bounds, coordinate by coordinate.
    Custom: Your own set, by a function from a cost vector to the cheapest point.
    Hypersimplex: Choices of k items of n: coordinates in [0, 1] that add up to k.
    Simplex: Probability vectors: non-negative coordinates that add up to 1.
    """
    modules = [importlib.import_module(found.name) for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    families = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Domain) and member.__module__ == module.__name__ and not inspect.isabstract(member)
    }
    return tuple(sorted(families, key=lambda family: family.__name__))
