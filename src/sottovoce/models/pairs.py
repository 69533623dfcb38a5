"""Weighed sums of squares of rows to which more are added: products of their entries are computed once."""

import numpy as np

from sottovoce._arrays import Floats


class Pairs:
    """Products of the entries of rows, two and two, kept for the next time.

    Parameters
    ----------
    size
        Of a row.

    Examples
    --------
    >>> Pairs(2).summed(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0, 3.0]]))
    array([[[1., 2.],
            [2., 7.]]])
    """

    def __init__(self, size: int) -> None:
        self._upper = np.triu_indices(size)
        self._written = np.empty((size, size), dtype=np.int64)  # where each entry of a matrix is in its upper half
        self._written[self._upper] = self._written.T[self._upper] = np.arange(len(self._upper[0]))
        self._rows, self._products = np.empty((0, size)), np.empty((0, len(self._upper[0])))

    def summed(self, rows: Floats, weights: Floats) -> Floats:
        """Return sum_j w_j x_j x_j^T, for each row of weights.

        Parameters
        ----------
        rows
            The same as at the last time, and some more; or others, of which all is computed anew.
        weights
            One for each row, in rows.
        """
        count = len(rows)
        known = len(self._rows) if np.array_equal(rows[: len(self._rows)], self._rows) else 0
        if count > len(self._products):
            products = np.empty((2 * count, self._products.shape[1]))
            products[:known] = self._products[:known]
            self._products = products
        fresh, (left, right) = rows[known:], self._upper
        self._rows = rows[:known]  # what is cut short below is computed again
        np.multiply(fresh[:, left], fresh[:, right], out=self._products[known:count])
        self._rows = rows
        return np.asarray((weights @ self._products[:count])[:, self._written])
