"""Any few of the elements."""

import numpy as np

from sottovoce._arrays import Mask
from sottovoce._checks import whole
from sottovoce.domains._subsets import Order
from sottovoce.domains.matroids.partition import Partition

__all__ = ["Uniform"]


class Uniform(Partition):
    """Any `rank` of `n` elements are independent, and no more: a partition into one group.

    Parameters
    ----------
    n : int
        Number of elements.
    rank : int
        How many may be chosen, 0 <= rank <= n.

    Examples
    --------
    >>> matroid = Uniform(5, 2)
    >>> matroid.independent([0, 3]), matroid.independent([0, 3, 4])
    (True, False)
    """

    def __init__(self, n: int, rank: int) -> None:
        n = whole("n", n)
        super().__init__([0] * n, whole("rank", rank, least=0, most=n))

    def __repr__(self) -> str:
        return f"Uniform({self.ground_size}, {self.capacities[0]})"

    def _scan(self, order: Order) -> Mask:
        kept = np.zeros(self.ground_size, dtype=np.bool_)
        kept[order[: self.capacities[0]]] = True
        return kept
