"""Submodular set functions, each able to value all prefixes of an order at once; what is visibly none is refused."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce._checks import number, vector, whole
from sottovoce.domains._arguments import RemembersArguments
from sottovoce.domains._subsets import Order, all_masks, as_mask, as_order, components_of
from sottovoce.domains.base import Fixed, read_only
from sottovoce.errors import DomainError

__all__ = [
    "FromCallable",
    "SetFunction",
    "WeightedCoverage",
    "check_submodular",
]

_EXHAUSTIVE = 10  # largest ground set on which every pair of elements is tried on every set
_SAMPLES = 200
_ROUNDING = 1e-9  # of the largest value met


class SetFunction(Fixed, RemembersArguments, ABC):
    """A function of subsets of {0, ..., n - 1} that is 0 at the empty set.

    A kind sets `ground_size` and implements `_gains`. Subsets are given as boolean masks of shape (n,), or as sets or
    lists of elements.
    """

    ground_size: int
    """Number of elements (n)."""

    @abstractmethod
    def _gains(self, order: Order) -> Vector:
        """Return what each element adds to the value of those before it in `order`."""

    def gains(self, order: Any) -> Vector:
        """Return what each element adds to the value of those before it in `order`, each element at most once."""
        return self._gains(as_order("order", order, self.ground_size))

    def prefixes(self, order: Any) -> Vector:
        """Return the values of the first element of `order`, the first two, and so on."""
        return np.cumsum(self.gains(order))

    def __call__(self, subset: Any) -> float:
        """Return the value of a subset."""
        return float(self._gains(np.flatnonzero(as_mask("subset", subset, self.ground_size))).sum())

    def components(self) -> Order | None:
        """Return labels of elements: F is the sum of functions of each class, and no class falls apart further.

        None if that is not known.
        """
        return None


class WeightedCoverage(SetFunction):
    """The weight of all items that the chosen elements cover.

    Parameters
    ----------
    sets : sequence of sets of items
        The items that each element covers, numbered from 0.
    weights : array of shape (m,), optional
        The weight of each item, not negative. Default: 1 each.

    Examples
    --------
    >>> function = WeightedCoverage([{0, 1}, {1, 2}, {3}], [5.0, 1.0, 2.0, 4.0])
    >>> function([0, 1]), function.gains([1, 0, 2])
    (8.0, array([3., 5., 4.]))
    """

    def __init__(self, sets: Sequence[Iterable[int]], weights: ArrayLike | None = None) -> None:
        members = [sorted({whole("an item of sets", item, least=0) for item in one}) for one in sets]
        self.ground_size = whole("the number of sets", len(members))
        items = 1 + max((one[-1] for one in members if one), default=-1)
        weights = np.ones(items) if weights is None else vector("weights", weights, np.size(weights))
        self.weights = _not_negative("weights", weights)
        if len(self.weights) < items:
            raise ValueError(f"weights must be at least {items} numbers, one for each item, got {len(self.weights)}")
        item = np.array([item for one in members for item in one], dtype=np.int64)
        element = np.repeat(np.arange(self.ground_size), [len(one) for one in members])
        order = np.argsort(item, kind="stable")
        self._items, self._elements = item[order], element[order]
        self._covered, self._starts = np.unique(self._items, return_index=True)

    def __repr__(self) -> str:
        return f"WeightedCoverage({self.ground_size} elements, {len(self.weights)} items)"

    def _gains(self, order: Order) -> Vector:
        # An item counts where it is covered first; those never covered would count in one more place.
        place = np.full(self.ground_size, len(order))
        place[order] = np.arange(len(order))
        if len(self._covered) == 0:
            return np.zeros(len(order))
        first = np.minimum.reduceat(place[self._elements], self._starts)
        return _added(first, self.weights[self._covered], len(order))

    def components(self) -> Order:
        """Return classes of elements joined by common items of positive weight."""
        counts = self.weights[self._items] > 0.0
        nodes = self.ground_size + len(self.weights)
        joined = components_of(self._elements[counts], self.ground_size + self._items[counts], nodes)
        return joined[: self.ground_size]


class FromCallable(SetFunction):
    """Your own set function, by a Python function from a boolean mask to a number; n + 1 calls for all prefixes.

    Parameters
    ----------
    function : callable
        From a boolean mask of shape (n,), read-only, to a finite number; 0 at the empty set.
    ground_size : int
        Number of elements (n).

    Examples
    --------
    >>> function = FromCallable(lambda mask: min(2, mask.sum()), 3)
    >>> function.gains([2, 1, 0])
    array([1., 1., 0.])
    """

    def __init__(self, function: Callable[[Mask], float], ground_size: int) -> None:
        if not callable(function):
            raise TypeError(f"function must be a function from a boolean mask to a number, got {function!r}")
        self.function = function
        self.ground_size = whole("ground_size", ground_size)

    def __repr__(self) -> str:
        return f"FromCallable({getattr(self.function, '__qualname__', repr(self.function))}, {self.ground_size})"

    def _value(self, mask: Mask) -> float:
        mask = mask.copy()
        mask.setflags(write=False)
        value = self.function(mask)
        value = int(value) if isinstance(value, bool | np.bool_) else value  # whether a set has something counts as 1
        return number(f"the value of the function at {np.flatnonzero(mask).tolist()}", value)

    def _gains(self, order: Order) -> Vector:
        mask = np.zeros(self.ground_size, dtype=np.bool_)
        values = np.empty(len(order) + 1)
        values[0] = self._value(mask)
        for count, element in enumerate(order, start=1):
            mask[element] = True
            values[count] = self._value(mask)
        return np.diff(values)

    def __call__(self, subset: Any) -> float:
        """Return the value of a subset."""
        return self._value(as_mask("subset", subset, self.ground_size))


def _added(places: Order, weights: Vector, count: int) -> Vector:
    """Return the weight that falls on each of the places 0, ..., count - 1; the place `count` is never reached."""
    return np.bincount(places, weights, minlength=count + 1)[:count].astype(np.float64, copy=False)


def _not_negative(name: str, values: Floats) -> Floats:
    """Return a read-only copy, or name the entry that is negative: the function would not be submodular."""
    if (values < 0.0).any():
        raise DomainError(f"{name} must not be negative, or the function is not submodular; got {values.min():g}")
    return read_only(values)


def as_set_function(function: SetFunction | Callable[[Mask], float], ground_size: int | None) -> SetFunction:
    """Return a `SetFunction`, from one or from a plain callable with the number of its elements."""
    if isinstance(function, SetFunction):
        if ground_size is not None and ground_size != function.ground_size:
            raise ValueError(f"ground_size must be {function.ground_size}, that of the function, got {ground_size!r}")
        return function
    if ground_size is None:
        raise ValueError("ground_size must be given for a plain function")
    return FromCallable(function, ground_size)


def check_submodular(function: SetFunction | Callable[[Mask], float], ground_size: int | None = None) -> None:
    """Raise if a set function is visibly not submodular, or not 0 at the empty set.

    An element must never add more to a larger set. Up to n = 10 all sets are tried, which decides it; beyond, random
    pairs of nested sets, which finds violations that are not rare. About 800 calls of the function at most.

    Parameters
    ----------
    function : SetFunction, or callable
        One of `sottovoce.domains.set_functions`, or a function from a boolean mask to a number.
    ground_size : int, optional
        Number of elements, for a plain function.

    Raises
    ------
    DomainError
        With the sets and values that show it.

    Examples
    --------
    >>> check_submodular(lambda mask: mask.any(), 4)
    >>> check_submodular(lambda mask: mask.sum() ** 2, 4)
    Traceback (most recent call last):
        ...
    sottovoce.errors.DomainError: not submodular: element 1 adds 1 to [], but 3 to [0]
    """
    function = as_set_function(function, ground_size)
    empty = function(np.zeros(function.ground_size, dtype=np.bool_))
    full = function(np.ones(function.ground_size, dtype=np.bool_))
    if abs(empty) > _ROUNDING * abs(full):
        raise DomainError(f"the function must be 0 at the empty set, got {empty:g}: subtract that from it")
    if function.ground_size <= _EXHAUSTIVE:
        _check_all(function)
    else:
        _check_samples(function)


def _refusal(element: int, smaller: Mask, gain: float, larger: Mask, more: float) -> DomainError:
    return DomainError(
        f"not submodular: element {element} adds {gain:g} to {np.flatnonzero(smaller).tolist()}, "
        f"but {more:g} to {np.flatnonzero(larger).tolist()}"
    )


def _check_all(function: SetFunction) -> None:
    """Compare what b adds to S and to S + a, for all S, a and b: that local rule is all of submodularity."""
    masks = all_masks(function.ground_size)
    values = np.array([function(mask) for mask in masks])
    slack = _ROUNDING * float(np.abs(values).max())
    for a, b in itertools.combinations(range(function.ground_size), 2):
        sets = np.flatnonzero(~masks[:, a] & ~masks[:, b])
        alone = values[sets + (1 << b)] - values[sets]
        after = values[sets + (1 << a) + (1 << b)] - values[sets + (1 << a)]
        worst = int((after - alone).argmax())
        if after[worst] - alone[worst] > slack:
            smaller = masks[sets[worst]]
            raise _refusal(b, smaller, alone[worst], masks[sets[worst] + (1 << a)], after[worst])


def _check_samples(function: SetFunction) -> None:
    """Compare what an element adds to the shorter and to the longer of two prefixes of a random order.

    Half of the pairs are one element apart, which is where a function fails if it fails at all; the others are any two.
    """
    rng: Any = np.random.default_rng(0)
    n = function.ground_size
    for sample in range(_SAMPLES):
        order = rng.permutation(n)
        short = int(rng.integers(n - 1))
        long = short + 1 if sample % 2 else int(rng.integers(short + 1, n))
        smaller, larger = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        smaller[order[:short]], larger[order[:long]] = True, True
        element = int(order[-1])
        one = np.arange(n) == element
        values = [function(mask) for mask in (smaller, smaller | one, larger, larger | one)]
        gain, more = values[1] - values[0], values[3] - values[2]
        if more - gain > _ROUNDING * max(map(abs, values)):
            raise _refusal(element, smaller, gain, larger, more)
