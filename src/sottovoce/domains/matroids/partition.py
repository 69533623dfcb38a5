"""A quota for every group."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Mask
from sottovoce._checks import whole
from sottovoce.domains._labels import read_labels
from sottovoce.domains._subsets import Order
from sottovoce.domains.matroids import _kernels
from sottovoce.domains.matroids.base import AbstractMatroid
from sottovoce.errors import DomainError


class Partition(AbstractMatroid):
    """At most a given number of elements of every group.

    Parameters
    ----------
    groups : sequence
        The label of each element's group; or the groups themselves, as disjoint lists of elements that together hold
        0, ..., n - 1; or a mapping from the label of each group to the names of its elements.
    capacities : int, sequence of int, or mapping
        How many elements of each group may be chosen: one number for all groups, one for each in the order of the
        sorted labels (or of the list of groups), or a mapping from label to number.
    ground : list of names, optional
        Names of the elements, unless groups has them.

    Examples
    --------
    >>> by_label = Partition(["tea", "tea", "cake", "tea", "cake"], {"tea": 2, "cake": 1})
    >>> by_label.independent([0, 1, 4]), by_label.independent([2, 4])
    (True, False)
    >>> Partition([[0, 1, 3], [2, 4]], [2, 1]).rank()
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
        names, labels = _read_groups(groups)
        self.ground_size = len(labels)
        if ground is not None:
            self.ground = read_labels("ground", ground, self.ground_size)
        self.labels = labels
        self.capacities = np.minimum(_read_capacities(capacities, names), np.bincount(labels, minlength=len(names)))
        for array in (self.labels, self.capacities):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Partition({self.ground_size} elements in {len(self.capacities)} groups, rank {self.rank()})"

    def _scan(self, order: Order) -> Mask:
        return _kernels.quotas(order, self.labels, self.capacities)

    def groups(self) -> list[Order]:
        """Return the elements of each group, in increasing order."""
        ends = np.cumsum(np.bincount(self.labels, minlength=len(self.capacities)))[:-1]
        return list(np.split(np.argsort(self.labels, kind="stable"), ends))

    def components(self) -> Order:
        """Return the groups, with those that leave no choice taken apart."""
        sizes = np.bincount(self.labels, minlength=len(self.capacities))
        settled = (self.capacities == 0) | (self.capacities == sizes)
        return np.where(settled[self.labels], len(sizes) + np.arange(self.ground_size), self.labels)

    def facet_sets(self) -> Mask:
        """Return the single elements and the groups."""
        groups = np.arange(len(self.capacities))[:, None] == self.labels
        return np.vstack((np.eye(self.ground_size, dtype=np.bool_), groups))

    def largest_cover(self) -> int:
        """Return twice each capacity, or the group if it is smaller, in sum."""
        return int(np.minimum(2 * self.capacities, np.bincount(self.labels, minlength=len(self.capacities))).sum())


def _read_groups(groups: Sequence[Any]) -> tuple[list[Hashable], Order]:
    """Return the names of the groups, and the number of each element's group."""
    if len(groups) == 0:
        raise ValueError("groups must hold at least one element, got none")
    listed = [isinstance(group, Sequence | set | frozenset | np.ndarray | range) for group in groups]
    if not all(listed) or all(isinstance(group, str) for group in groups):
        names = sorted(set(np.asarray(groups).tolist() if isinstance(groups, np.ndarray) else groups))
        numbers = {name: number for number, name in enumerate(names)}
        return names, np.array([numbers[label] for label in groups], dtype=np.int64)
    elements = [whole("an element of groups", element, least=0) for group in groups for element in group]
    if sorted(elements) != list(range(len(elements))):
        raise DomainError(
            f"groups must hold each of the elements 0, ..., {len(elements) - 1} once, got {sorted(elements)}"
        )
    labels = np.empty(len(elements), dtype=np.int64)
    labels[elements] = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return list(range(len(groups))), labels


def _read_capacities(capacities: ArrayLike | Mapping[Any, int], names: list[Hashable]) -> Order:
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
