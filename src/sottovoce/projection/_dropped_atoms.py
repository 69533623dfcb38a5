"""Atoms that were let go of: trying one again costs an inner product, asking for a new one costs an oracle call."""

import numpy as np

from sottovoce._arrays import Matrix, Vector

_NONE: Matrix = np.empty((0, 0))
LIMIT = 512  # each look costs time in proportion, and few walks drop that many


class DroppedAtoms:
    """A bounded store of atoms; when it is full, a new one takes the place of one that has long been there.

    `put` and `take` change the store in place: work on a `copy` of one that others hold.

    Parameters
    ----------
    atoms : array of shape (m, n), optional
        The first ones. The store keeps as many as these, or `LIMIT` if that is more.
    """

    __slots__ = ("_limit", "_next", "_rows", "count")

    def __init__(self, atoms: Matrix = _NONE) -> None:
        self._rows, self.count, self._next = atoms, len(atoms), 0
        self._limit = max(LIMIT, self.count)

    def __len__(self) -> int:
        return self.count

    def __getstate__(self) -> Matrix:
        return self.atoms

    def __setstate__(self, atoms: Matrix) -> None:
        DroppedAtoms.__init__(self, atoms)

    @property
    def atoms(self) -> Matrix:
        """The atoms, one a row."""
        return self._rows[: self.count]

    def copy(self) -> "DroppedAtoms":
        """Return a store of its own, with the same atoms."""
        return DroppedAtoms(self.atoms.copy())

    def put(self, atom: Vector) -> None:
        """Keep one more atom."""
        if self.count < self._limit:
            if self.count == len(self._rows):
                rows = np.empty((min(2 * self.count + 8, self._limit), atom.size))
                if self.count:
                    rows[: self.count] = self._rows
                self._rows = rows
            self._rows[self.count] = atom
            self.count += 1
        else:
            self._rows[self._next] = atom
            self._next = (self._next + 1) % self._limit

    def cheapest(self, cost: Vector) -> tuple[int, float]:
        """Return where the atom of least <cost, atom> is, and that cost."""
        costs = self.atoms.dot(cost)
        index = int(costs.argmin())
        return index, float(costs[index])

    def take(self, index: int) -> Vector:
        """Remove one atom from the store, and return it."""
        self.count -= 1
        atom: Vector = self._rows[index].copy()
        self._rows[index] = self._rows[self.count]
        return atom
