"""What every matroid offers, and what follows from its greedy scan."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sottovoce._arrays import Integers, Mask
from sottovoce._compiled import compiled
from sottovoce.domains._arguments import RemembersArguments
from sottovoce.domains._labels import Labels
from sottovoce.domains.base import Fixed


class AbstractMatroid(Fixed, RemembersArguments, ABC):
    """A rule for which elements of {0, ..., n - 1} may be chosen together.

    A kind sets `ground_size` and implements `_scan` and `components`; the rest follows. Subsets are given as boolean
    masks of shape (n,), or as sets or lists of elements.
    """

    ground_size: int
    """Number of elements (n)."""

    ground: Labels | None = None
    """Names of the elements, if they have any."""

    @abstractmethod
    def _scan(self, order: Integers) -> Mask:
        """Return which elements are kept by going through `order` and keeping what stays independent."""

    @abstractmethod
    def components(self) -> Integers:
        """Return the label of each element's connected component; loops and coloops are alone in theirs.

        Elements are connected if one circuit holds both. It is enough to look at the circuits that single elements
        close with one base (Krogdahl, 1977).
        """

    def greedy(self, order: Any) -> Mask:
        """Go through the elements in `order`, keep each that is independent of those kept, and return the mask.

        In order of increasing cost this ends in a cheapest base of the elements given (Edmonds, 1971).
        """
        return self._scan(as_elements("order", order, self.ground_size))

    def independent(self, subset: Any) -> bool:
        """Say whether all elements of `subset` may be chosen together."""
        elements = np.unique(as_elements("subset", subset, self.ground_size))
        return int(self._scan(elements).sum()) == len(elements)

    def rank(self, subset: Any = None) -> int:
        """Return the size of a largest independent set, in all or within `subset`."""
        within = np.arange(self.ground_size) if subset is None else as_elements("subset", subset, self.ground_size)
        return int(self._scan(within).sum())


def as_elements(name: str, value: Any, size: int) -> Integers:
    """Return elements of {0, ..., size - 1}, from a mask or from themselves, in their order; or say what is wrong.

    Examples
    --------
    >>> as_elements("subset", [2, 0], 4), as_elements("subset", [False, True], 2)
    (array([2, 0]), array([1]))
    """
    given = np.asarray(sorted(value) if isinstance(value, set | frozenset) else value)
    if given.dtype == np.bool_ and given.shape == (size,):
        return np.flatnonzero(given)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"{name} must hold elements, whole numbers from 0 to {size - 1}, got {value!r}")
    if given.min() < 0 or given.max() >= size:
        wrong = int(given[(given < 0) | (given >= size)][0])
        raise ValueError(f"{name} must hold elements from 0 to {size - 1}, got {wrong}")
    return given.astype(np.int64, copy=False)


def components_of(first: Any, second: Any, size: int) -> Integers:
    """Return the label of each of `size` nodes in the graph with edges first[i] - second[i].

    Examples
    --------
    >>> components_of([0, 3], [2, 1], 5)
    array([0, 1, 0, 1, 2])
    """
    ends = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


@compiled
def nested(order: Integers, owners: Integers, parents: Integers, capacities: Integers) -> Mask:
    """Keep elements while every set around them has room; owner -1 is no set."""
    kept = np.zeros(owners.size, dtype=np.bool_)
    room = capacities.copy()
    for element in order:
        around = owners[element]
        while around >= 0 and room[around] > 0:
            around = parents[around]
        if around >= 0 or kept[element]:
            continue
        kept[element] = True
        around = owners[element]
        while around >= 0:
            room[around] -= 1
            around = parents[around]
    return kept
