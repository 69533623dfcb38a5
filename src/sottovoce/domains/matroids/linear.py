"""Linearly independent columns."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Mask
from sottovoce._checks import choice, number
from sottovoce.domains._subsets import Order
from sottovoce.domains.matroids.base import AbstractMatroid


class Linear(AbstractMatroid):
    """The columns of a matrix: a set of them is independent if they are linearly so.

    Parameters
    ----------
    matrix : array of shape (m, n)
        One column for each element.
    field : {"real", "GF(2)"}
        Over the reals, or over {0, 1} with 1 + 1 = 0.
    tolerance : float
        Over the reals: a column depends on others if its part orthogonal to them is at most this share of its length.

    Examples
    --------
    >>> triangle = [[1, 0, 1], [1, 1, 0], [0, 1, 1]]
    >>> Linear(triangle).rank(), Linear(triangle, field="GF(2)").rank()
    (3, 2)
    """

    def __init__(self, matrix: ArrayLike, field: str = "real", tolerance: float = 1e-9) -> None:
        self.field = choice("field", field, ("real", "GF(2)"))
        self.tolerance = number("tolerance", tolerance, above=0.0, at_most=0.1)
        self.matrix = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or self.matrix.size == 0 or not np.isfinite(self.matrix).all():
            raise ValueError(f"matrix must be finite, of shape (m, n), and not empty, got shape {self.matrix.shape}")
        self.matrix.setflags(write=False)
        self.ground_size = self.matrix.shape[1]
        self._columns: Any = _unit_columns(self.matrix) if self.field == "real" else _bits(self.matrix)

    def __repr__(self) -> str:
        return f"Linear({self.matrix.shape[0]} x {self.ground_size} matrix, field={self.field!r})"

    def _scan(self, order: Order) -> Mask:
        kept = np.zeros(self.ground_size, dtype=np.bool_)
        kept[self._real(order) if self.field == "real" else self._binary(order)] = True
        return kept

    def _real(self, order: Order) -> list[int]:
        """Keep columns by Gram-Schmidt; orthogonalise twice, since once can leave rounding errors of any share."""
        basis = np.empty((min(self.matrix.shape), self.matrix.shape[0]))
        kept: list[int] = []
        for element in order.tolist():
            if len(kept) == len(basis):
                break
            column, known = self._columns[element], basis[: len(kept)]
            rest = column - (known @ column) @ known
            rest -= (known @ rest) @ known
            length = float(np.sqrt(rest @ rest))
            if length > self.tolerance:
                basis[len(kept)] = rest / length
                kept.append(element)
        return kept

    def _binary(self, order: Order) -> list[int]:
        """Keep columns by elimination; a column is one whole number, its leading bit the pivot."""
        pivots: dict[int, int] = {}
        kept: list[int] = []
        for element in order.tolist():
            rest = self._columns[element]
            while rest and (reducer := pivots.get(rest.bit_length())) is not None:
                rest ^= reducer
            if rest:
                pivots[rest.bit_length()] = rest
                kept.append(element)
        return kept


def _unit_columns(matrix: Floats) -> Floats:
    """Return the columns as rows of length 1; a zero column stays one."""
    scaled = matrix / np.where(matrix.any(axis=0), np.abs(matrix).max(axis=0), 1.0)
    lengths = np.linalg.norm(scaled, axis=0)
    return np.ascontiguousarray((scaled / np.where(lengths > 0.0, lengths, 1.0)).T)


def _bits(matrix: Floats) -> tuple[int, ...]:
    """Return each column as a whole number with its entries as bits."""
    if not np.isin(matrix, (0.0, 1.0)).all():
        wrong = matrix[~np.isin(matrix, (0.0, 1.0))][0]
        raise ValueError(f"matrix must hold only 0 and 1 for field 'GF(2)', got {wrong:g}: take it modulo 2 first")
    return tuple(sum(1 << row for row in np.flatnonzero(column).tolist()) for column in matrix.T)
