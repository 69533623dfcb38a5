"""Subsets of {0, ..., n - 1}: as masks, as lists of elements, and what falls apart into components."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sottovoce._arrays import Integers, Mask

Order = Integers


def as_mask(name: str, value: Any, size: int) -> Mask:
    """Return a fresh boolean mask of shape (size,), from a mask or from the elements; or say what is wrong.

    Examples
    --------
    >>> as_mask("subset", [0, 2], 4), as_mask("subset", [True, False], 2)
    (array([ True, False,  True, False]), array([ True, False]))
    """
    given = np.asarray(sorted(value) if isinstance(value, set | frozenset) else value)
    if given.dtype == np.bool_:
        if given.shape != (size,):
            raise ValueError(f"{name} must be a mask of shape ({size},) or a set of elements, got shape {given.shape}")
        return given.copy()
    mask = np.zeros(size, dtype=np.bool_)
    mask[as_order(name, given, size)] = True
    return mask


def as_order(name: str, value: Any, size: int) -> Order:
    """Return elements, each in 0..size-1, as an array of int64; or say what is wrong."""
    given = np.asarray(value)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"{name} must hold elements, whole numbers from 0 to {size - 1}, got {value!r}")
    if given.min() < 0 or given.max() >= size:
        wrong = int(given[(given < 0) | (given >= size)][0])
        raise ValueError(f"{name} must hold elements from 0 to {size - 1}, got {wrong}")
    return given.astype(np.int64, copy=False)


def all_masks(size: int) -> Mask:
    """Return all 2^size masks, one a row, the empty set first and the whole last.

    Examples
    --------
    >>> all_masks(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    numbers = np.arange(1 << size)[:, None]
    return np.asarray((numbers >> np.arange(size)) & 1, dtype=np.bool_)


def components_of(first: Any, second: Any, size: int) -> Order:
    """Return the label of each of `size` nodes in the graph with edges first[i] - second[i].

    Examples
    --------
    >>> components_of([0, 3], [2, 1], 5)
    array([0, 1, 0, 1, 2])
    """
    ends = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(size, size))
    labels = connected_components(graph, directed=False)[1]
    return np.asarray(labels, dtype=np.int64)
