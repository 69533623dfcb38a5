"""Matroids: what may be chosen together. `MatroidBases` makes domains of them.

A new kind is one new file in this folder, with a class that derives from `AbstractMatroid`.
"""

from sottovoce.domains.matroids.base import AbstractMatroid
from sottovoce.domains.matroids.graphic import Graphic
from sottovoce.domains.matroids.laminar import Laminar
from sottovoce.domains.matroids.partition import Partition

__all__ = ["AbstractMatroid", "Graphic", "Laminar", "Partition"]
