"""Any few of the elements."""

import numpy as np

from sottovoce._arrays import Mask
from sottovoce._checks import whole
from sottovoce.domains._labels import Count, count_or_names
from sottovoce.domains._subsets import Order
from sottovoce.domains.matroids.partition import Partition


class Uniform(Partition):
    """Any `rank` of `n` elements are independent, and no more: a partition into one group.

    Parameters
    ----------
    n : int, or list of names
        Number of elements, or their names.
    rank : int
        How many may be chosen, 0 <= rank <= n.

    Examples
    --------
    >>> matroid = Uniform(5, 2)
    >>> matroid.independent([0, 3]), matroid.independent([0, 3, 4])
    (True, False)
    """

    def __init__(self, n: Count, rank: int) -> None:
        count, names = count_or_names("n", n, None)
        super().__init__([0] * count, whole("rank", rank, least=0, most=count), ground=names)

    def __repr__(self) -> str:
        return f"Uniform({self.ground_size}, {self.capacities[0]})"

    def _scan(self, order: Order) -> Mask:
        kept = np.zeros(self.ground_size, dtype=np.bool_)
        kept[order[: self.capacities[0]]] = True
        return kept
