"""The atoms of the pairwise method, with their inner products: a local step never touches a vector of the space."""

import numpy as np
from scipy.linalg.blas import dnrm2

from sottovoce._arrays import Matrix, Positions, Vector
from sottovoce.projection._rows import DenseRows, Rows, SparseRows

__all__ = ["AtomPool"]


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
