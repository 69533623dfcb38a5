"""The atoms of the pairwise method, with their inner products: a local step never touches a vector of the space."""

from typing import Protocol

import numpy as np
from scipy.linalg.blas import dnrm2
from scipy.sparse import csr_array

from sottovoce._arrays import Matrix, Positions, Vector

# ----------------------------------------------------------------------
# Growing tables of vectors, whole or by their nonzero coordinates.


_GROWTH = 16


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

    def __init__(self, dimension: int, room: int = _GROWTH) -> None:
        self._rows: Matrix = np.empty((room, dimension))
        self.count = 0

    def __getstate__(self) -> Matrix:
        return self._rows[: self.count]

    def __setstate__(self, rows: Matrix) -> None:
        self._rows, self.count = rows, len(rows)

    def add(self, row: Vector) -> None:
        """Take in one more row."""
        if self.count == len(self._rows):
            grown = np.empty((self.count + self.count // 2 + _GROWTH, row.size))
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


_ROOM = 16
_SPARSE = 0.1  # up to this share of nonzero coordinates, rows are kept by their nonzero coordinates


class AtomPool:
    """Atoms, as displacements from an origin, and the Gram matrix of these displacements.

    Displacements keep their inner products exact to the scale of the set, however far it is from the origin. Where
    they have few nonzero coordinates (paths, assignments) only those are stored.

    `add` changes a pool in place; `pick` and `copy` return new ones.

    Parameters
    ----------
    origin : array of shape (n,)
        An atom; displacements are measured from it. It is the first of the pool.
    """

    __slots__ = ("_gram", "_rows", "count", "origin", "scale")

    def __init__(self, origin: Vector) -> None:
        self.origin, self.count, self.scale = origin.copy(), 1, 0.0
        self._gram: Matrix = np.zeros((_ROOM, _ROOM))
        self._rows: Rows | None = None  # chosen when the first displacement is seen

    def __len__(self) -> int:
        return self.count

    @property
    def gram(self) -> Matrix:
        """Inner products of displacements: a square array of which the first `count` rows and columns are in use."""
        return self._gram

    @property
    def atoms(self) -> Matrix:
        """All atoms, one a row; read-only."""
        rows = np.zeros((1, self.origin.size)) if self._rows is None else self._rows.dense()
        rows += self.origin
        rows.setflags(write=False)
        return rows

    def _table(self, row: Vector) -> Rows:
        """Return the table of displacements; `row` is the first that is not zero."""
        if self._rows is None:
            few = np.count_nonzero(row) <= _SPARSE * row.size
            self._rows = SparseRows(row.size) if few else DenseRows(row.size)
            self._rows.add(np.zeros(row.size))
        return self._rows

    def add(self, atom: Vector) -> None:
        """Take in one more atom."""
        k = self.count
        if k == len(self._gram):
            grown = np.zeros((k + k // 2 + _ROOM, k + k // 2 + _ROOM))
            grown[:k, :k] = self._gram
            self._gram = grown
        row = atom - self.origin
        table = self._table(row)
        self._gram[k, :k] = self._gram[:k, k] = table.dot(row)
        self._gram[k, k] = row.dot(row)
        self.scale = max(self.scale, dnrm2(row))
        table.add(row)
        self.count = k + 1

    def pick(self, indices: Positions) -> "AtomPool":
        """Return a new pool of some of the atoms, in the given order."""
        k = len(indices)
        picked = AtomPool(self.origin)
        picked.count, picked.scale = k, self.scale
        picked._gram = np.zeros((k + _ROOM, k + _ROOM))
        picked._gram[:k, :k] = self._gram[np.ix_(indices, indices)]
        picked._rows = None if self._rows is None else self._rows.pick(indices)
        return picked

    def copy(self) -> "AtomPool":
        """Return a pool of its own, with the same atoms."""
        return self.pick(np.arange(self.count))

    def mean(self, weights: Vector) -> Vector:
        """Return the mean of the atoms, for weights of sum 1."""
        return self.origin.copy() if self._rows is None else self.origin + self._rows.combine(weights)

    def slopes(self, away: Vector) -> Vector:
        """Return <away, displacement> for every atom."""
        return np.zeros(1) if self._rows is None else self._rows.dot(away)
