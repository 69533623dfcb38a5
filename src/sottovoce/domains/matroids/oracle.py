"""Any matroid, by a function that says what is independent."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from sottovoce._arrays import Mask
from sottovoce.domains._labels import Count
from sottovoce.domains._subsets import Order, all_masks, as_mask
from sottovoce.domains.matroids.base import AbstractMatroid
from sottovoce.errors import DomainError

_EXHAUSTIVE = 8  # largest ground set on which every subset is checked
_SAMPLES = 60


class Matroid(AbstractMatroid):
    """Your own matroid, by a function from a boolean mask to whether the set is independent.

    Parameters
    ----------
    ground_size : int, or list of names
        Number of elements (n), or their names.
    independent : callable
        From a boolean mask of shape (n,), read-only, to bool. It must always mean the same matroid.

    Raises
    ------
    DomainError
        If the function is visibly not a matroid: the empty set is not independent, a subset of an independent set is
        not, or an independent set cannot be extended from a larger one. All subsets are checked up to n = 8, random
        ones beyond.

    Examples
    --------
    >>> fano_lines = np.array([[0, 1, 3], [1, 2, 4], [2, 3, 5], [3, 4, 6], [4, 5, 0], [5, 6, 1], [6, 0, 2]])
    >>> def no_line(mask):  # points of the Fano plane: at most three, and not all on one line
    ...     return mask.sum() <= 3 and not mask[fano_lines].all(axis=1).any()
    >>> Matroid(7, no_line).rank()
    3
    >>> Matroid(3, lambda mask: not (mask[0] and mask[1:].any()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sottovoce.errors.DomainError: not a matroid: [0] and [1, 2] are independent, but no element of the larger ...
    """

    def __init__(self, ground_size: Count, independent: Callable[[Mask], bool]) -> None:
        if not callable(independent):
            raise TypeError(f"independent must be a function from a boolean mask to bool, got {independent!r}")
        self._take_ground("ground_size", ground_size)
        self.function = independent
        if not self._ask(np.zeros(self.ground_size, dtype=np.bool_)):
            raise DomainError("not a matroid: the empty set must be independent")
        if self.ground_size <= _EXHAUSTIVE:
            _check_all(self._ask, self.ground_size)
        else:
            _check_samples(self._ask, self.ground_size)

    def __repr__(self) -> str:
        return f"Matroid({self.ground_size}, {getattr(self.function, '__qualname__', repr(self.function))})"

    def _ask(self, mask: Mask) -> bool:
        mask.setflags(write=False)
        answer = self.function(mask)
        mask.setflags(write=True)
        if not isinstance(answer, bool | np.bool_):
            raise DomainError(f"independent must return True or False, got {answer!r} for {_elements(mask)}")
        return bool(answer)

    def independent(self, subset: Any) -> bool:
        """Say whether all elements of `subset` may be chosen together."""
        return self._ask(as_mask("subset", subset, self.ground_size))

    def _scan(self, order: Order) -> Mask:
        return _maximal(self._ask, np.zeros(self.ground_size, dtype=np.bool_), order)


def _elements(mask: Mask) -> list[int]:
    return [int(element) for element in np.flatnonzero(mask)]


def _maximal(ask: Callable[[Mask], bool], start: Mask, order: Order) -> Mask:
    """Extend an independent set by what stays independent, in order."""
    kept = start.copy()
    for element in order:
        if not kept[element]:
            kept[element] = True
            kept[element] = ask(kept)
    return kept


def _not_hereditary(larger: Mask, smaller: Mask) -> DomainError:
    return DomainError(f"not a matroid: {_elements(larger)} is independent, but its subset {_elements(smaller)} is not")


def _no_exchange(smaller: Mask, larger: Mask) -> DomainError:
    return DomainError(
        f"not a matroid: {_elements(smaller)} and {_elements(larger)} are independent, but no element of the larger "
        "can be added to the smaller"
    )


def _check_all(ask: Callable[[Mask], bool], size: int) -> None:
    """Check every set against its subsets, and the rank for local submodularity, which is all that exchange says."""
    masks = all_masks(size)
    good = np.array([ask(mask) for mask in masks])
    bits = 1 << np.arange(size)
    largest = np.arange(len(masks))  # a largest independent subset of each set, by number
    counts = masks.sum(axis=1)
    for number, mask in enumerate(masks):
        below = number - bits[mask]
        if good[number] and not good[below].all():
            raise _not_hereditary(mask, masks[below[~good[below]][0]])
        if not good[number]:
            largest[number] = largest[below[counts[largest[below]].argmax()]]
    rank = counts[largest]
    for a, b in itertools.combinations(range(size), 2):
        rest = np.flatnonzero(~masks[:, a] & ~masks[:, b])
        both = rest + bits[a] + bits[b]
        stuck = (rank[rest + bits[a]] == rank[rest]) & (rank[rest + bits[b]] == rank[rest]) & (rank[both] > rank[rest])
        if stuck.any():
            raise _no_exchange(masks[largest[rest[stuck][0]]], masks[largest[both[stuck][0]]])


def _check_samples(ask: Callable[[Mask], bool], size: int) -> None:
    """Grow maximal independent subsets of random sets in two random orders: of one size, and all theirs independent."""
    rng = np.random.default_rng(0)
    nothing = np.zeros(size, dtype=np.bool_)
    for _ in range(_SAMPLES):
        within = np.flatnonzero(rng.random(size) < rng.random())
        first, second = (_maximal(ask, nothing, rng.permutation(within)) for _ in range(2))
        if first.sum() != second.sum():
            raise _no_exchange(*sorted((first, second), key=np.sum))
        smaller = first & (rng.random(size) < rng.random())
        if not ask(smaller):
            raise _not_hereditary(first, smaller)
        for added in rng.permutation(within[~first[within]])[:2]:  # supersets of dependent sets must be dependent
            larger = first | (rng.random(size) < 0.2)
            larger[added] = True
            if ask(larger):
                smaller = first.copy()
                smaller[added] = True
                raise _not_hereditary(larger, smaller)
