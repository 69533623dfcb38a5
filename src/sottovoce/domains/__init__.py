"""Feasible sets: each one is a linear oracle, and the geometry that follows from it.

A family of sets is a sub-package, a set one file in it, with a class that derives from `Domain`; the family's
`__init__` exports it, and that line is all it takes to be known everywhere.
"""

import inspect

from sottovoce.domains import (
    balls,
    choices,
    combinators,
    graphs,
    matroids,
    polytopes,
    rankings,
)
from sottovoce.domains._check import DomainCheck, check_domain
from sottovoce.domains.balls import *
from sottovoce.domains.base import Domain
from sottovoce.domains.choices import *
from sottovoce.domains.combinators import *
from sottovoce.domains.custom import Custom
from sottovoce.domains.graphs import *
from sottovoce.domains.polytopes import *
from sottovoce.domains.rankings import *

__all__ = ["Custom", "Domain", "DomainCheck", "all_domains", "check_domain", "matroids"]
__all__ += balls.__all__
__all__ += choices.__all__
__all__ += combinators.__all__
__all__ += graphs.__all__
__all__ += polytopes.__all__
__all__ += rankings.__all__


def all_domains() -> tuple[type[Domain], ...]:
    """Return every set that the families export, by name.

    Examples
    --------
    >>> {family.__name__: family.summary() for family in all_domains()}["Ball"]
    'All points within a distance of a centre.'
    """
    exported = (globals()[name] for name in sorted(__all__))
    return tuple(
        one for one in exported if inspect.isclass(one) and issubclass(one, Domain) and not inspect.isabstract(one)
    )
