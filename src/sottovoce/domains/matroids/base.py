"""What every matroid offers, and what follows from its greedy scan."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from sottovoce._arrays import Mask
from sottovoce.domains._arguments import RemembersArguments
from sottovoce.domains._labels import Labels, count_or_names
from sottovoce.domains._subsets import Order, as_mask, as_order, components_of
from sottovoce.domains.base import Fixed


class AbstractMatroid(Fixed, RemembersArguments, ABC):
    """A rule for which elements of {0, ..., n - 1} may be chosen together.

    A kind sets `ground_size` and implements `_scan`; everything else has a default that is computed from it. Subsets
    are given as boolean masks of shape (n,), or as sets or lists of elements.
    """

    ground_size: int
    """Number of elements (n)."""

    ground: Labels | None = None
    """Names of the elements, if they have any."""

    @abstractmethod
    def _scan(self, order: Order) -> Mask:
        """Return which elements are kept by going through `order` and keeping what stays independent."""

    def _take_ground(self, argument: str, value: Any, least: int = 1) -> None:
        """Set how many elements there are, from a number or from their names."""
        self.ground_size, names = count_or_names(argument, value, None, least=least)
        if names is not None:
            self.ground = names

    def greedy(self, order: Any) -> Mask:
        """Go through the elements in `order`, keep each that is independent of those kept, and return the mask.

        In order of increasing cost this ends in a cheapest base of the elements given (Edmonds, 1971).
        """
        return self._scan(as_order("order", order, self.ground_size))

    def independent(self, subset: Any) -> bool:
        """Say whether all elements of `subset` may be chosen together."""
        mask = as_mask("subset", subset, self.ground_size)
        return bool(self._scan(np.flatnonzero(mask)).sum() == mask.sum())

    def rank(self, subset: Any = None) -> int:
        """Return the size of a largest independent set, in all or within `subset`."""
        mask = np.ones(self.ground_size, dtype=np.bool_)
        if subset is not None:
            mask = as_mask("subset", subset, self.ground_size)
        return int(self._scan(np.flatnonzero(mask)).sum())

    def components(self) -> Order:
        """Return the label of each element's connected component; loops and coloops are alone in theirs.

        Elements are connected if one circuit holds both. It is enough to look at the circuits that single elements
        close with one base (Krogdahl, 1977).
        """
        base = self._scan(np.arange(self.ground_size))
        elements: list[int] = []
        closers: list[int] = []
        for closer in np.flatnonzero(~base):
            if not self.independent([closer]):
                continue
            for element in np.flatnonzero(base):
                exchanged = base.copy()
                exchanged[element], exchanged[closer] = False, True
                if self.independent(exchanged):
                    elements.append(int(element))
                    closers.append(int(closer))
        return components_of(elements, closers, self.ground_size)

    @property
    def falls_apart_quickly(self) -> bool:
        """Whether `components` has a rule of its own, and need not try every exchange."""
        return type(self).components is not AbstractMatroid.components

    def facet_sets(self) -> Mask | None:
        """Return sets A, one mask a row, such that x >= 0 and x(A) <= rank(A) describe the independent-set polytope.

        None if no list is short.
        """
        return None

    def largest_cover(self) -> int:
        """Return how many elements two independent sets can cover between them, or an upper bound on it."""
        _, where, sizes = np.unique(self.components(), return_inverse=True, return_counts=True)
        inside = self._scan(np.arange(self.ground_size))
        ranks = np.bincount(where, weights=inside, minlength=len(sizes))
        return int(np.minimum(2 * ranks, sizes).sum())
