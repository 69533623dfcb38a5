"""Names of all that something is known of: the coordinates of a set, and more that it had before or that a prior has.

Names are only ever added, so that what was learned of one set is said of a later one by adding zeros.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sottovoce._arrays import Integers


@dataclass(frozen=True, eq=False)
class KnownNames:
    """Things that something is known of, those of the present set among them.

    Attributes
    ----------
    names
        Of all of them.
    places
        Where each coordinate of the set is among these.

    Examples
    --------
    >>> known = KnownNames(("tea", "cake", "coffee"), np.array([2, 0]))
    >>> known.wide(np.array([[1.0, 0.0]])), known.order
    (array([[0., 0., 1.]]), array([2, 0, 1]))
    """

    names: tuple[Hashable, ...]
    places: Integers

    def wide(self, decisions: Any) -> Any:
        """Return decisions of the set, in rows, with a column for each name."""
        columns = np.full(len(self.names), -1, dtype=np.int64)
        columns[self.places] = np.arange(len(self.places))
        return columns_of_names(decisions, columns)

    @property
    def others(self) -> Integers:
        """Which names are not in the set."""
        return np.setdiff1d(np.arange(len(self.names)), self.places)

    @property
    def order(self) -> Integers:
        """All of them, those of the set first, in its order."""
        return np.concatenate([self.places, self.others])


def widened(array: Any, size: int) -> Any:
    """Return an array, or sparse rows, with zeros after its last entries, so that it has so many.

    Examples
    --------
    >>> widened(np.ones((2, 1)), 3)
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """
    lacking = size - array.shape[-1]
    if not lacking:
        return array
    if not isinstance(array, np.ndarray):
        return sparse.csr_array((array.data, array.indices, array.indptr), shape=(array.shape[0], size))
    return np.concatenate([array, np.zeros((*array.shape[:-1], lacking))], axis=-1)


def columns_of_names(rows: Any, columns: Integers) -> Any:
    """Return these columns of rows, dense or sparse, in their order; zeros where a column is -1.

    Examples
    --------
    >>> columns_of_names(np.array([[1.0, 2.0]]), np.array([1, -1, 0]))
    array([[2., 0., 1.]])
    """
    (there,) = np.nonzero(columns >= 0)
    pick = sparse.csr_array((np.ones(len(there)), (columns[there], there)), shape=(rows.shape[1], len(columns)))
    found = rows @ pick
    return np.asarray(found) if isinstance(rows, np.ndarray) else sparse.csr_array(found)
