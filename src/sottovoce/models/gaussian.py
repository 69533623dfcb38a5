"""Gaussian beliefs about a few or many coefficients, given noisy linear measurements of them.

Measurements y_j = <x_j, beta> + noise of precision w_j; beta ~ N(mean_0, C). Two forms of the same posterior:

- by coefficients: precision P = C^-1 + sum_j w_j x_j x_j^T, a matrix as large as there are coefficients;
- by measurements: Gram matrix X C X^T + diag(1/w), a matrix as large as there are measurements; a sample is one of the
  prior, corrected by what the measurements say of it (Matheron's rule): theta + C X^T (X C X^T + 1/w)^-1 (y - y').

Tests: tests/models/test_gaussian.py.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.sparse import csr_array

from sottovoce._arrays import Floats


@dataclass(frozen=True, eq=False)
class ByCoefficients:
    """The posterior as a precision matrix.

    Parameters
    ----------
    precision, pull
        C^-1 + sum w x x^T, and C^-1 mean_0 + sum w y x.

    Examples
    --------
    >>> fitted = ByCoefficients(np.array([[4.0]]), np.array([2.0]))
    >>> fitted.mean, fitted.predict(np.array([[2.0]]))
    (array([0.5]), (array([1.]), array([[1.]])))
    """

    precision: Floats
    pull: Floats

    @cached_property
    def _root(self) -> Floats:
        return lower_root(self.precision)

    @cached_property
    def mean(self) -> Floats:
        """The posterior mean."""
        return np.asarray(dpotrs(self._root, self.pull, lower=1)[0]).ravel()

    def sample(self, coins: np.random.Generator, size: int, posterior_scale: Floats | float = 1.0) -> Floats:
        """Draw coefficients: with P = L L^T, the inverse of L^T times a standard normal has covariance P^-1."""
        normal = coins.standard_normal((size, len(self.pull)))
        return np.asarray(self.mean + posterior_scale * by_lower(self._root, normal.T, trans=1).T)

    def predict(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return mean and covariance of <row, beta> for each row."""
        half = by_lower(self._root, rows.T)
        return rows @ self.mean, half.T @ half


def lower_root(matrix: Floats) -> Floats:
    """Return L with L L^T a positive definite matrix. (SciPy's own wrappers take ten times as long for small ones.).

    Examples
    --------
    >>> lower_root(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """
    root, wrong = dpotrf(matrix, lower=1, clean=1)
    if wrong:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return np.asarray(root)


def by_lower(root: Floats, right: Floats, *, trans: int = 0) -> Floats:
    """Solve L x = right, or L^T x = right, for a lower triangular L with no 0 on its diagonal.

    Examples
    --------
    >>> by_lower(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    array([1., 2.])
    """
    solved = dtrtrs(root, right, lower=1, trans=trans)[0]
    return np.asarray(solved.reshape(right.shape) if right.ndim == 1 else solved)


def sums_of_offsets(rows: Any, center: Floats, weights: Floats, pulls: Floats) -> tuple[Floats, Floats]:
    """Return sum of w z z^T and sum of pull z, z = (x - center, 1), by the entries of rows x that are not 0.

    Examples
    --------
    >>> sums_of_offsets(np.eye(2), np.array([0.5, 0.0]), np.array([1.0, 3.0]), np.array([1.0, 2.0]))[0]
    array([[ 1. , -1.5, -1. ],
           [-1.5,  3. ,  3. ],
           [-1. ,  3. ,  4. ]])
    """
    sparse = csr_array(rows)
    precision = np.empty((len(center) + 1, len(center) + 1))
    total, along = float(weights.sum()), sparse.T @ weights
    across = np.outer(along - total / 2 * center, center)
    precision[:-1, :-1] = (sparse.T @ (sparse * weights[:, None])).toarray() - across - across.T
    precision[-1, :-1] = precision[:-1, -1] = along - total * center
    precision[-1, -1] = total
    return precision, np.append(sparse.T @ pulls - float(pulls.sum()) * center, pulls.sum())


@dataclass(frozen=True, eq=False)
class DiagonalPrior:
    """A prior of coefficients that are independent: their means and variances; the level of losses comes first."""

    mean: Floats
    variances: Floats
    level_place: ClassVar[int] = 0

    @property
    def root(self) -> Floats:
        """R with R R^T the covariance."""
        return np.diag(np.sqrt(self.variances))

    def values(self, rows: Floats, coefficients: Floats) -> Floats:
        """What is measured of coefficients, in rows: a column for each of them."""
        return np.asarray(rows @ coefficients.T)

    def gram(self, one: Floats, other: Floats) -> Floats:
        """Covariance of what two lists of rows measure."""
        return np.asarray((one * self.variances) @ other.T)

    def back(self, rows: Floats, solved: Floats) -> Floats:
        """Return the covariance of coefficients and measurements, times columns: coefficients in rows."""
        return np.asarray((solved.T @ rows) * self.variances)

    def sample(self, coins: np.random.Generator, size: int) -> Floats:
        """Draw deviations from the mean, in rows."""
        return np.asarray(np.sqrt(self.variances) * coins.standard_normal((size, len(self.variances))))


@dataclass(frozen=True, eq=False)
class LossPrior:
    """The prior of theta and a level, where the mean loss of decision v is <theta, v - center> + level.

    Attributes
    ----------
    scale, factor
        Theta has covariance scale^2 I + F F^T, which is never written out; F has no columns without features.
    center
        What decisions are measured from.
    level
        Deviation of the level, which comes last.
    """

    scale: float
    center: Floats
    level: float
    factor: Floats
    level_place: ClassVar[int] = -1

    @classmethod
    def of(cls, vertices: Floats, width: float, features: Floats | None) -> "LossPrior":
        """Return the prior that is scaled to how far losses of random vertices should lie apart.

        Parameters
        ----------
        vertices
            Random ones, in rows.
        width
            Of the loss range.
        features
            (n, k), coordinates of like rows have like losses; None if there are none.
        """
        center = np.asarray(vertices.mean(axis=0))
        offsets = vertices - center
        size = max(1.0, float(np.count_nonzero(vertices, axis=1).mean()))
        own, factor = 1.0, np.empty((len(center), 0))
        if features is not None:
            # theta = features w + a residual of its own: shares 1 - r^2 and r^2 of the variance, r = .3
            own = 0.3
            factor = features * math.sqrt((1 - own**2) * len(center) / float((features**2).sum()))
        spread = float((own**2 * (offsets**2).sum(axis=1) + ((offsets @ factor) ** 2).sum(axis=1)).mean())
        scale = math.sqrt((width / 4) ** 2 / size / spread)
        return cls(own * scale, center, width / 4, factor * scale)

    @cached_property
    def mean(self) -> Floats:
        """Nothing is known of either."""
        return np.zeros(len(self.center) + 1)

    @cached_property
    def _far(self) -> Floats:
        """The covariance of theta times the centre."""
        return self._times(self.center[:, None]).ravel()

    def _times(self, vectors: Floats) -> Floats:
        """The covariance of theta times a matrix of shape (n, k)."""
        return self.scale**2 * vectors + self.factor @ (self.factor.T @ vectors)

    def values(self, rows: Any, coefficients: Floats) -> Floats:
        """Mean losses of decisions, sparse or not: a column for each row of coefficients."""
        slopes, levels = coefficients[..., :-1].T, coefficients[..., -1]
        return np.asarray(rows @ slopes - self.center @ slopes + levels)

    def gram(self, one: Any, other: Any) -> Floats:
        """Covariance of the mean losses of two lists of decisions, sparse or not."""
        product = one @ other.T
        product = self.scale**2 * (product if isinstance(product, np.ndarray) else product.toarray())
        product = product + (one @ self.factor) @ (other @ self.factor).T
        left, right = one @ self._far, other @ self._far
        return np.asarray(product - left[:, None] - right + float(self.center @ self._far) + self.level**2)

    def variances(self, rows: Any) -> Floats:
        """Variance of the mean loss of each decision; none is written out."""
        squares = rows**2 if isinstance(rows, np.ndarray) else rows.multiply(rows)
        own = self.scale**2 * np.asarray(squares.sum(axis=1)).ravel() + ((rows @ self.factor) ** 2).sum(axis=1)
        return np.asarray(own - 2 * (rows @ self._far) + float(self.center @ self._far) + self.level**2)

    def back(self, rows: Any, solved: Floats) -> Floats:
        """Return the covariance of theta, level and mean losses, times columns: coefficients in rows."""
        totals = solved.sum(axis=0)
        offsets = rows.T @ solved - np.outer(self.center, totals)
        return np.vstack([self._times(offsets), self.level**2 * totals]).T

    def sample(self, coins: np.random.Generator, size: int) -> Floats:
        """Draw theta and level, in rows."""
        drawn = self.scale * coins.standard_normal((len(self.center), size))
        drawn += self.factor @ coins.standard_normal((self.factor.shape[1], size))
        return np.vstack([drawn, self.level * coins.standard_normal((1, size))]).T

    @property
    def root(self) -> Floats:
        """R with R R^T the covariance of theta and the level."""
        root = np.diag(np.append(np.full(len(self.center), self.scale), self.level))
        if self.factor.size:
            root[:-1, :-1] = np.linalg.cholesky(self.covariance())
        return root

    def covariance(self) -> Floats:
        """Of theta, written out."""
        return np.asarray(self.scale**2 * np.eye(len(self.center)) + self.factor @ self.factor.T)


class ByMeasurements:
    """The posterior by its measurements: for fewer of these than of coefficients.

    Parameters
    ----------
    prior
        Of the coefficients.
    rows
        (U, ...) what is measured.
    weights, pulls
        (U,) the precision of each measurement, and precision times what was measured.
    gram
        (U, U) the prior covariance of what is measured, if it is known: the same whatever the weights are.

    Examples
    --------
    >>> prior = DiagonalPrior(np.zeros(2), np.ones(2))
    >>> fitted = ByMeasurements(prior, np.eye(2)[:1], np.array([3.0]), np.array([2.0]))
    >>> fitted.mean, fitted.predict(np.eye(2))[1].diagonal()
    (array([0.5, 0. ]), array([0.25, 1.  ]))
    """

    def __init__(
        self, prior: DiagonalPrior | LossPrior, rows: Any, weights: Floats, pulls: Floats, gram: Floats | None = None
    ) -> None:
        (counted,) = np.nonzero(weights > 0)
        self._prior, self._gram = prior, gram if len(counted) == len(weights) else None
        self._rows, self._weights, self._pulls = rows[counted], weights[counted], pulls[counted]

    @cached_property
    def _root(self) -> Floats:
        gram = self._prior.gram(self._rows, self._rows) if self._gram is None else self._gram
        return lower_root(gram + np.diag(1 / self._weights))

    def _solve(self, values: Floats) -> Floats:
        """Solve for columns of measurements; there may be none."""
        return np.asarray(dpotrs(self._root, values, lower=1)[0]).reshape(values.shape) if len(values) else values

    @cached_property
    def mean(self) -> Floats:
        """The posterior mean."""
        prior = self._prior
        weighed = self._solve(self._pulls / self._weights - prior.values(self._rows, prior.mean))
        return np.asarray(prior.mean + prior.back(self._rows, weighed[:, None])[0])

    @property
    def variances(self) -> Floats:
        """The posterior variance of every coefficient; the matrix of which they are the diagonal is never made."""
        prior = self._prior
        assert isinstance(prior, DiagonalPrior)
        if not len(self._weights):
            return np.array(prior.variances)
        return np.asarray(prior.variances - (by_lower(self._root, self._rows * prior.variances) ** 2).sum(axis=0))

    def sample(self, coins: np.random.Generator, size: int, posterior_scale: Floats | float = 1.0) -> Floats:
        """Draw coefficients by Matheron's rule, one row each."""
        prior = self._prior.sample(coins, size)
        noise = coins.standard_normal((len(self._weights), size)) / np.sqrt(self._weights)[:, None]
        seen = self._prior.values(self._rows, prior) + noise
        return np.asarray(self.mean + posterior_scale * (prior - self._prior.back(self._rows, self._solve(seen))))

    def predict(self, rows: Any) -> tuple[Floats, Floats]:
        """Return mean and covariance of what rows measure."""
        expected, covariance = self._prior.values(rows, self.mean), self._prior.gram(rows, rows)
        if not len(self._weights):
            return expected, covariance
        half = by_lower(self._root, self._prior.gram(self._rows, rows))
        return expected, covariance - half.T @ half


Fitted = ByCoefficients | ByMeasurements
"""What is believed of coefficients: their `mean`, `sample`s in rows, and what is to be expected of rows times them."""
