"""Quotas for groups within groups."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Integers, Mask
from sottovoce._checks import whole
from sottovoce.domains._labels import Count, count_or_names
from sottovoce.domains.matroids.base import AbstractMatroid, components_of, nested
from sottovoce.errors import DomainError


class Laminar(AbstractMatroid):
    """At most a given number of elements of every set, where any two sets are nested or disjoint.

    Parameters
    ----------
    family : sequence of sets of elements
        The sets. Elements in none of them are free.
    capacities : sequence of int
        How many elements of each set may be chosen.
    ground_size : int, or list of names, optional
        Number of elements, or their names, which the sets then hold. Default: up to the largest that is in a set.

    Examples
    --------
    Two of the first three, and three in all:

    >>> matroid = Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}], [2, 3])
    >>> matroid.greedy([0, 1, 2, 3, 4])
    array([ True,  True, False,  True, False])

    One tea at most, and two drinks, by name:

    >>> drinks = ["assam", "sencha", "mocha", "latte"]
    >>> Laminar([{"assam", "sencha"}, drinks], [1, 2], drinks).greedy([0, 1, 2, 3])
    array([ True, False,  True, False])
    """

    def __init__(
        self, family: Sequence[Iterable[Any]], capacities: Sequence[int], ground_size: Count | None = None
    ) -> None:
        members = [list(group) for group in family]
        if len(members) != len(capacities):
            raise ValueError(f"capacities must be {len(members)} numbers, one for each set, got {len(capacities)}")
        if ground_size is None:
            ground_size = 1 + max((element for group in members for element in group), default=-1)
        self.ground_size, names = count_or_names("ground_size", ground_size)
        if names is not None:
            self.ground = names
        number = {name: i for i, name in enumerate(names or range(self.ground_size))}
        self.family = np.zeros((len(members), self.ground_size), dtype=np.bool_)
        for row, group in zip(self.family, members, strict=True):
            for element in group:
                if element not in number:
                    raise ValueError(f"family must hold elements of the ground set, and {element!r} is none")
                row[number[element]] = True
        self.capacities = np.array([whole("a capacity", c, least=0) for c in capacities], dtype=np.int64)
        self._owners, self._parents = _nest(self.family)
        for array in (self.family, self.capacities, self._owners, self._parents):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Laminar({self.ground_size} elements, {len(self.capacities)} sets, rank {self.rank()})"

    def _scan(self, order: Integers) -> Mask:
        return nested(order, self._owners, self._parents, self.capacities)

    def _around(self, element: int) -> list[int]:
        """Return the sets that hold an element, the smallest first."""
        chain, around = [], int(self._owners[element])
        while around >= 0:
            chain.append(around)
            around = int(self._parents[around])
        return chain

    def line(self) -> Integers:
        """Return the elements in an order in which every set is an interval."""
        paths = [self._around(element)[::-1] for element in range(self.ground_size)]
        return np.array(sorted(range(self.ground_size), key=paths.__getitem__), dtype=np.int64)

    def components(self) -> Integers:
        """Return the label of each element's component.

        An element closes a circuit with the base elements of the smallest full set around it.
        """
        base = self._scan(np.arange(self.ground_size))
        full = self.family @ base.astype(np.int64) >= self.capacities
        first: list[int] = []
        second: list[int] = []
        for closer in np.flatnonzero(~base).tolist():
            smallest = next(around for around in self._around(closer) if full[around])
            others = np.flatnonzero(base & self.family[smallest]).tolist()
            first += [closer] * len(others)
            second += others
        return components_of(first, second, self.ground_size)


def _nest(family: Mask) -> tuple[Integers, Integers]:
    """Return the smallest set around each element and the parent of each set, -1 for none; refuse sets that cross.

    From the largest set to the smallest, the elements of the next set must all have the same smallest set so far.
    """
    owners = np.full(family.shape[1], -1, dtype=np.int64)
    parents = np.full(len(family), -1, dtype=np.int64)
    for number in np.argsort(-family.sum(axis=1), kind="stable").tolist():
        around = np.unique(owners[family[number]])
        if len(around) > 1:
            other = int(around[-1])
            raise DomainError(
                f"family must be laminar, any two sets nested or disjoint: {np.flatnonzero(family[number]).tolist()} "
                f"and {np.flatnonzero(family[other]).tolist()} are neither"
            )
        parents[number] = around[0] if len(around) else -1
        owners[family[number]] = number
    return owners, parents
