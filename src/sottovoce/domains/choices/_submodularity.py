"""Refusing a set function that is visibly not submodular."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from sottovoce._arrays import Mask
from sottovoce.domains._subsets import all_masks
from sottovoce.domains.set_functions import FromCallable, SetFunction
from sottovoce.errors import DomainError

_EXHAUSTIVE = 10  # largest ground set on which every pair of elements is tried on every set
_SAMPLES = 200
_ROUNDING = 1e-9  # of the largest value met


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
