"""The active atoms of the minimum-norm-point method, with a factor that survives a change of target."""

import numpy as np
from scipy.linalg import qr_delete
from scipy.linalg.blas import dnrm2
from scipy.linalg.lapack import dtrtrs

from sottovoce._arrays import Matrix, Vector

_DEPENDENT = 1e-14
_ROOM = 8  # atoms for which there is room at first; small sets never need more


class ActiveAtoms:
    """Affinely independent atoms of which a point is the mean (Wolfe's corral), and a QR factor of their affine hull.

    Each atom p becomes the column (scale, p - origin) of a matrix A = QR. Affine independence of atoms is linear
    independence of columns, and nothing here knows the target: the factor is kept from one projection to the next.
    Orthogonal factors, rather than a Cholesky factor of the Gram matrix, keep the condition number from being squared.

    `add` and `drop` change them in place, in arrays with room to grow: work on a `copy` of what others hold.

    Parameters
    ----------
    atom : array of shape (n,)
        The first atom.
    room : int
        How many atoms to make room for; more is made when they come.
    """

    __slots__ = ("_atoms", "_basis", "_triangle", "count", "origin", "scale")

    def __init__(self, atom: Vector, room: int = _ROOM) -> None:
        self._atoms: Matrix = np.empty((room, atom.size))
        self._basis: Matrix = np.empty((room, atom.size + 1))  # the columns of Q, as rows: each one is contiguous
        self._triangle: Matrix = np.zeros((room, room), order="F")  # R
        self._atoms[0] = atom
        self._begin(1.0)

    def _begin(self, scale: float) -> None:
        """Factor the first atom alone; the scale is the distance of the second one, once that is known."""
        self.count, self.scale, self.origin = 1, scale, self._atoms[0].copy()
        self._basis[0] = 0.0
        self._basis[0, 0] = 1.0
        self._triangle[0, 0] = scale

    def __len__(self) -> int:
        return self.count

    def __getstate__(self) -> tuple[Matrix, Matrix, Matrix, Vector, float]:
        k = self.count
        return self._atoms[:k], self._basis[:k], self._triangle[:k, :k], self.origin, self.scale

    def __setstate__(self, state: tuple[Matrix, Matrix, Matrix, Vector, float]) -> None:
        self._atoms, self._basis, triangle, self.origin, self.scale = state
        self._triangle, self.count = np.asfortranarray(triangle), len(triangle)

    @property
    def atoms(self) -> Matrix:
        """The atoms, one a row; a view that cannot be written to."""
        rows = self._atoms[: self.count]
        rows.setflags(write=False)
        return rows

    def mean(self, weights: Vector) -> Vector:
        """Return the mean of the atoms."""
        mean: Vector = weights.dot(self._atoms[: self.count])
        return mean

    def copy(self) -> "ActiveAtoms":
        """Return arrays of its own, with the same atoms."""
        other = ActiveAtoms.__new__(ActiveAtoms)
        other.__setstate__(self.__getstate__())
        other._resize(self.count + _ROOM)
        return other

    def _resize(self, room: int) -> None:
        """Move to fresh arrays with room for so many atoms."""
        k = self.count
        atoms, basis, triangle = self._atoms, self._basis, self._triangle
        self._atoms, self._basis = np.empty((room, atoms.shape[1])), np.empty((room, basis.shape[1]))
        self._triangle = np.zeros((room, room), order="F")
        self._atoms[:k], self._basis[:k], self._triangle[:k, :k] = atoms[:k], basis[:k], triangle[:k, :k]

    def add(self, atom: Vector) -> bool:
        """Take in one more atom; return False, and change nothing, if to rounding it is in the affine hull already."""
        k = self.count
        if k > atom.size:
            return False
        if k == 1:
            scale = dnrm2(atom - self._atoms[0])
            if scale == 0.0:
                return False
            if scale != self.scale:
                self._begin(scale)
        column = np.empty(atom.size + 1)
        column[0] = self.scale
        np.subtract(atom, self.origin, out=column[1:])
        length: float = dnrm2(column)
        basis = self._basis[:k]
        coefficients = basis.dot(column)
        column -= coefficients.dot(basis)
        rest: float = dnrm2(column)
        if rest < 0.5 * length:  # cancellation: Gram-Schmidt twice is enough (Kahan, Parlett)
            again = basis.dot(column)
            column -= again.dot(basis)
            coefficients += again
            rest = dnrm2(column)
            if rest <= _DEPENDENT * length:
                return False
        if k == len(self._atoms):
            self._resize(min(k + k // 2 + _ROOM, atom.size + 1))
        self._atoms[k] = atom
        np.divide(column, rest, out=self._basis[k])
        self._triangle[:k, k], self._triangle[k, k] = coefficients, rest
        self.count = k + 1
        return True

    def drop(self, index: int) -> None:
        """Let go of one atom."""
        k = self.count
        self._atoms[index : k - 1] = self._atoms[index + 1 : k]
        views = self._basis[:k].T, self._triangle[:k, :k]
        q, r = qr_delete(*views, index, which="col", overwrite_qr=True, check_finite=False)
        self._basis[: k - 1], self._triangle[: k - 1, : k - 1] = q[:, : k - 1].T, r[: k - 1]  # most often, where it is
        self.count = k - 1

    def toward(self, displacement: Vector) -> Vector:
        """Return the change of weights, of sum zero, that moves the mean nearest to mean + `displacement`.

        Least squares with one linear constraint: solve without it, then correct along the constraint's sensitivity
        (how the solution answers to a change in the sum of the weights).
        """
        k = self.count
        triangle, sums = self._triangle[:, :k], self._basis[:k, 0]
        # One right-hand side at a time: OpenBLAS starts threads for two of them, even tiny ones.
        free: Vector = dtrtrs(triangle, self._basis[:k, 1:].dot(displacement), overwrite_b=True)[0]
        sensitivity: Vector = dtrtrs(triangle, sums)[0]
        change: Vector = free - (free.sum() / sensitivity.sum()) * sensitivity
        return change
