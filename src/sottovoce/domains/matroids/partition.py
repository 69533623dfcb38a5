"""A quota for every group."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Integers, Mask
from sottovoce._checks import whole
from sottovoce.domains._labels import read_labels
from sottovoce.domains.matroids.base import AbstractMatroid, nested


class Partition(AbstractMatroid):
    """At most a given number of elements of every group.

    Parameters
    ----------
    groups : sequence
        The label of each element's group; or a mapping from the label of each group to the names of its elements.
    capacities : int, sequence of int, or mapping
        How many elements of each group may be chosen: one number for all groups, one for each in the order of the
        sorted labels, or a mapping from label to number.
    ground : list of names, optional
        Names of the elements, unless groups has them.

    Examples
    --------
    >>> by_label = Partition(["tea", "tea", "cake", "tea", "cake"], {"tea": 2, "cake": 1})
    >>> by_label.independent([0, 1, 4]), by_label.independent([2, 4])
    (True, False)
    >>> by_label.rank()
    3
    >>> Partition({"tea": ["assam", "sencha"], "cake": ["scone"]}, {"tea": 1, "cake": 1}).ground
    ('assam', 'sencha', 'scone')
    """

    def __init__(
        self,
        groups: Sequence[Any] | Mapping[Any, Sequence[Any]],
        capacities: ArrayLike | Mapping[Any, int],
        ground: Any = None,
    ) -> None:
        if isinstance(groups, Mapping):
            if ground is not None:
                raise ValueError("groups has the names of the elements already: leave out ground")
            ground = [name for members in groups.values() for name in read_labels("a group of groups", members)]
            groups = [label for label, members in groups.items() for _ in members]
        listed = np.asarray(groups).tolist() if isinstance(groups, np.ndarray) else list(groups)
        names = sorted(set(listed))
        self.ground_size = whole("the number of elements in groups", len(listed))
        if ground is not None:
            self.ground = read_labels("ground", ground, self.ground_size)
        number = {name: i for i, name in enumerate(names)}
        self.labels = np.array([number[label] for label in listed], dtype=np.int64)
        self._sizes = np.bincount(self.labels, minlength=len(names))
        self.capacities = np.minimum(_read_capacities(capacities, names), self._sizes)
        for array in (self.labels, self._sizes, self.capacities):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Partition({self.ground_size} elements in {len(self.capacities)} groups, rank {self.rank()})"

    def _scan(self, order: Integers) -> Mask:
        return nested(order, self.labels, np.full(len(self.capacities), -1), self.capacities)

    def groups(self) -> list[Integers]:
        """Return the elements of each group, in increasing order."""
        return list(np.split(np.argsort(self.labels, kind="stable"), np.cumsum(self._sizes)[:-1]))

    def components(self) -> Integers:
        """Return the groups, with those that leave no choice taken apart."""
        settled = (self.capacities == 0) | (self.capacities == self._sizes)
        return np.where(settled[self.labels], len(settled) + np.arange(self.ground_size), self.labels)


def _read_capacities(capacities: ArrayLike | Mapping[Any, int], names: list[Hashable]) -> Integers:
    """Return a capacity for every group."""
    if isinstance(capacities, Mapping):
        if set(capacities) != set(names):
            raise ValueError(f"capacities must have exactly the groups {names} as keys, got {list(capacities)}")
        given = [capacities[name] for name in names]
    else:
        given = np.broadcast_to(np.asarray(capacities), np.shape(capacities) or (len(names),)).tolist()
    if len(given) != len(names):
        raise ValueError(f"capacities must be one number or {len(names)}, one for each group, got {len(given)}")
    return np.array([whole("a capacity", capacity, least=0) for capacity in given], dtype=np.int64)
