"""Growing tables of vectors, whole or by their nonzero coordinates."""

from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from sottovoce._arrays import Matrix, Positions, Vector

__all__ = ["DenseRows", "Rows", "SparseRows"]


_ROOM = 16


class Rows(Protocol):
    """A table of vectors that grows."""

    def add(self, row: Vector) -> None:
        """Take in one more row."""

    def dot(self, vector: Vector) -> Vector:
        """Return the inner product of every row with a vector."""

    def combine(self, weights: Vector) -> Vector:
        """Return the weighted sum of the rows."""

    def pick(self, indices: Positions) -> "Rows":
        """Return a new table of some rows, in the given order."""

    def dense(self) -> Matrix:
        """Return the table as an array of its own."""


class DenseRows:
    """Rows in one array with room to grow.

    Examples
    --------
    >>> rows = DenseRows(2)
    >>> rows.add(np.array([1.0, 2.0]))
    >>> rows.add(np.array([0.0, 3.0]))
    >>> rows.dot(np.array([1.0, 1.0])), rows.combine(np.array([2.0, 1.0]))
    (array([3., 3.]), array([2., 7.]))
    """

    __slots__ = ("_rows", "count")

    def __init__(self, dimension: int, room: int = _ROOM) -> None:
        self._rows: Matrix = np.empty((room, dimension))
        self.count = 0

    def __getstate__(self) -> Matrix:
        return self._rows[: self.count]

    def __setstate__(self, rows: Matrix) -> None:
        self._rows, self.count = rows, len(rows)

    def add(self, row: Vector) -> None:
        """Take in one more row."""
        if self.count == len(self._rows):
            grown = np.empty((self.count + self.count // 2 + _ROOM, row.size))
            grown[: self.count] = self._rows
            self._rows = grown
        self._rows[self.count] = row
        self.count += 1

    def dot(self, vector: Vector) -> Vector:
        """Return the inner product of every row with a vector."""
        products: Vector = self._rows[: self.count].dot(vector)
        return products

    def combine(self, weights: Vector) -> Vector:
        """Return the weighted sum of the rows."""
        total: Vector = weights.dot(self._rows[: self.count])
        return total

    def pick(self, indices: Positions) -> "DenseRows":
        """Return a new table of some rows, in the given order."""
        picked = DenseRows(self._rows.shape[1], room=0)
        picked._rows, picked.count = self._rows[indices], len(indices)
        return picked

    def dense(self) -> Matrix:
        """Return the table as an array of its own."""
        return self._rows[: self.count].copy()


class SparseRows:
    """Rows by their nonzero coordinates, for atoms such as paths and assignments.

    Examples
    --------
    >>> rows = SparseRows(4)
    >>> rows.add(np.array([0.0, 0.0, 5.0, 0.0]))
    >>> rows.dot(np.array([1.0, 1.0, 2.0, 1.0])), rows.combine(np.array([0.5]))
    (array([10.]), array([0. , 0. , 2.5, 0. ]))
    """

    __slots__ = ("_matrix", "_values", "_where", "dimension")

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._where: list[Positions] = []
        self._values: list[Vector] = []
        self._matrix: csr_array | None = None

    def add(self, row: Vector) -> None:
        """Take in one more row."""
        where = np.flatnonzero(row)
        self._where.append(where)
        self._values.append(row[where])
        self._matrix = None

    def _table(self) -> csr_array:
        if self._matrix is None:
            ends = np.cumsum([0, *map(len, self._where)])
            parts = np.concatenate(self._values), np.concatenate(self._where), ends
            self._matrix = csr_array(parts, shape=(len(self._where), self.dimension))
        return self._matrix

    def dot(self, vector: Vector) -> Vector:
        """Return the inner product of every row with a vector."""
        product: Vector = self._table() @ vector
        return product

    def combine(self, weights: Vector) -> Vector:
        """Return the weighted sum of the rows."""
        total: Vector = self._table().T @ weights
        return total

    def pick(self, indices: Positions) -> "SparseRows":
        """Return a new table of some rows, in the given order."""
        picked = SparseRows(self.dimension)
        picked._where = [self._where[index] for index in indices]
        picked._values = [self._values[index] for index in indices]
        return picked

    def dense(self) -> Matrix:
        """Return the table as an array of its own."""
        table: Matrix = self._table().toarray()
        return table
