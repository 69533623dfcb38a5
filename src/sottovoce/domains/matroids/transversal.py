"""Elements that can each be given a set of their own."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Mask
from sottovoce.domains._labels import Count, numbers_of
from sottovoce.domains._subsets import Order
from sottovoce.domains.matroids import _kernels
from sottovoce.domains.matroids.base import AbstractMatroid


class Transversal(AbstractMatroid):
    """Elements are independent if each can be matched to a set that holds it, no set used twice.

    Read the elements as people and the sets as jobs with the people who can do them: who can work at the same time?

    Parameters
    ----------
    sets : sequence of sets of elements
        The sets; they may overlap.
    ground_size : int, or list of names, optional
        Number of elements, or their names, which the sets then hold. Default: up to the largest that is in a set.

    Examples
    --------
    >>> matroid = Transversal([{0, 1}, {1, 2, 3}])
    >>> matroid.independent([0, 1]), matroid.independent([2, 3])
    (True, False)
    """

    def __init__(self, sets: Sequence[Iterable[Any]], ground_size: Count | None = None) -> None:
        members = [sorted(one) for one in numbers_of("sets", sets, ground_size)]
        least = 1 + max((one[-1] for one in members if one), default=-1)
        self._take_ground("ground_size", least if ground_size is None else ground_size, least=max(least, 1))
        self.sets = len(members)
        elements = np.array([e for one in members for e in one], dtype=np.int64)
        numbers = np.repeat(np.arange(self.sets), [len(one) for one in members])
        self._choices = numbers[np.argsort(elements, kind="stable")].astype(np.int64)
        counts = np.bincount(elements, minlength=self.ground_size)
        self._starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)

    def __repr__(self) -> str:
        return f"Transversal({self.ground_size} elements, {self.sets} sets)"

    def _scan(self, order: Order) -> Mask:
        return _kernels.transversal(order, self._starts, self._choices, self.sets)
