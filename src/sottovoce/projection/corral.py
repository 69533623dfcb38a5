"""The active atoms of the minimum-norm-point method, with a factor that survives a change of target."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr_delete
from scipy.linalg.lapack import dtrtrs

from sottovoce._checks import Vector

__all__ = ["Corral"]

Matrix = NDArray[np.float64]

_DEPENDENT = 1e-14


class Corral:
    """Affinely independent atoms (Wolfe's word for them), and a QR factor of their affine hull.

    Each atom p becomes the column (scale, p - origin) of a matrix A = QR. Affine independence of atoms is linear
    independence of columns, and nothing here knows the target: the factor is kept from one projection to the next.
    Orthogonal factors, rather than a Cholesky factor of the Gram matrix, keep the condition number from being squared.

    Corrals are values: `append` and `remove` return new ones, so that a result that holds one never changes.
    """

    __slots__ = ("atoms", "origin", "q", "r", "scale", "sensitivity")

    def __init__(self, atoms: Matrix, origin: Vector, scale: float, q: Matrix, r: Matrix) -> None:
        self.atoms, self.origin, self.scale, self.q, self.r = atoms, origin, scale, q, r
        # How the solution answers to a change in the sum of the weights; the same for every target.
        self.sensitivity: Vector = dtrtrs(r, q[0])[0]

    @classmethod
    def single(cls, atom: Vector, scale: float = 1.0) -> "Corral":
        """Return the corral of one atom; the second atom to arrive sets the scale."""
        column = np.zeros(atom.size + 1)
        column[0] = 1.0
        return cls(atom[None, :], atom, scale, column[:, None], np.array([[scale]]))

    def __len__(self) -> int:
        return len(self.atoms)

    def append(self, atom: Vector) -> "Corral | None":
        """Return the corral with one more atom; None if, to rounding, the atom lies in the affine hull already."""
        count = len(self.atoms)
        if count > atom.size:
            return None
        if count == 1:
            apart = atom - self.atoms[0]
            scale = math.sqrt(apart.dot(apart))
            if scale == 0.0:
                return None
            if scale != self.scale:
                return Corral.single(self.atoms[0], scale).append(atom)
        column = np.empty(atom.size + 1)
        column[0] = self.scale
        np.subtract(atom, self.origin, out=column[1:])
        length = math.sqrt(column.dot(column))
        coefficients = column @ self.q
        column -= self.q @ coefficients
        again = column @ self.q  # Gram-Schmidt twice is enough (Kahan, Parlett)
        column -= self.q @ again
        rest = math.sqrt(column.dot(column))
        if rest <= _DEPENDENT * length:
            return None
        r = np.zeros((count + 1, count + 1), order="F")
        r[:count, :count] = self.r
        r[:count, count] = coefficients + again
        r[count, count] = rest
        q = np.concatenate((self.q, column[:, None] / rest), axis=1)
        return Corral(np.concatenate((self.atoms, atom[None, :])), self.origin, self.scale, q, r)

    def remove(self, index: int) -> "Corral":
        """Return the corral without one atom."""
        count = len(self.atoms) - 1
        q, r = qr_delete(self.q, self.r, index, which="col", check_finite=False)
        return Corral(
            np.delete(self.atoms, index, axis=0),
            self.origin,
            self.scale,
            np.asarray(q[:, :count], dtype=np.float64),  # a square factor comes back with one column too many
            np.asfortranarray(r[:count], dtype=np.float64),
        )

    def toward(self, displacement: Vector) -> Vector:
        """Return the change of weights, of sum zero, that moves the mean nearest to mean + `displacement`.

        Least squares with one linear constraint: solve without it, then correct along the constraint's sensitivity.
        """
        free: Vector = dtrtrs(self.r, displacement @ self.q[1:])[0]
        change: Vector = free - (free.sum() / self.sensitivity.sum()) * self.sensitivity
        return change
