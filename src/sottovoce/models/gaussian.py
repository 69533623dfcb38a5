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
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
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
class Spread:
    """A prior covariance scale^2 I + F F^T that is never written out; `factor` is None if there is no F."""

    scale: float
    dimension: int
    factor: Floats | None = None

    def times(self, vectors: Floats) -> Floats:
        """C times a matrix of shape (n, k)."""
        product = self.scale**2 * vectors
        return product if self.factor is None else product + self.factor @ (self.factor.T @ vectors)

    def gram(self, one: Any, other: Any) -> Floats:
        """X C Y^T, for rows X and Y, sparse or not."""
        product = one @ other.T
        product = self.scale**2 * (product if isinstance(product, np.ndarray) else product.toarray())
        return product if self.factor is None else product + (one @ self.factor) @ (other @ self.factor).T

    def variances(self, rows: Any, center: Floats) -> Floats:
        """(x - c)^T C (x - c) for each row, sparse or not; none is written out."""
        far = self.times(center[:, None]).ravel()
        squares = rows**2 if isinstance(rows, np.ndarray) else rows.multiply(rows)
        own = self.scale**2 * np.asarray(squares.sum(axis=1)).ravel()
        if self.factor is not None:
            own = own + ((rows @ self.factor) ** 2).sum(axis=1)
        return np.asarray(own - 2 * (rows @ far) + float(center @ far))

    def sample(self, coins: np.random.Generator, size: int) -> Floats:
        """Draw coefficients of the prior, one column each."""
        drawn = self.scale * coins.standard_normal((self.dimension, size))
        if self.factor is None:
            return drawn
        return np.asarray(drawn + self.factor @ coins.standard_normal((self.factor.shape[1], size)))

    def matrix(self) -> Floats:
        """C, written out."""
        plain = self.scale**2 * np.eye(self.dimension)
        return plain if self.factor is None else plain + self.factor @ self.factor.T


def prior_spread(vertices: Floats, center: Floats, width: float, features: Floats | None) -> Spread:
    """Return the prior covariance, scaled to how far losses of random vertices should lie apart."""
    offsets = vertices - center
    size = max(1.0, float(np.count_nonzero(vertices, axis=1).mean()))
    wanted = (width / 4) ** 2 / size
    if features is None:
        return Spread(math.sqrt(wanted / float((offsets**2).sum(axis=1).mean())), len(center))
    # theta = features w + a residual of its own: shares 1 - r^2 and r^2 of the variance, r = .3
    own = 0.3
    factor = features * math.sqrt((1 - own**2) * len(center) / float((features**2).sum()))
    spread = float((own**2 * (offsets**2).sum(axis=1) + ((offsets @ factor) ** 2).sum(axis=1)).mean())
    scale = math.sqrt(wanted / spread)
    return Spread(own * scale, len(center), factor * scale)


class ByMeasurements:
    """The posterior of (theta, level) by its measurements: mean loss of decision v is <theta, v - center> + level.

    Parameters
    ----------
    spread, level
        Prior covariance of theta, and deviation of the level.
    center
        What decisions are measured from.
    rows
        (U, n) decisions, sparse.
    weights, pulls
        (U,) the precision of each decision's mean, and precision times mean.
    shared
        (U, U) `prior_gram` of the decisions, if it is known: the same whatever the weights are.
    """

    def __init__(
        self,
        spread: Spread,
        level: float,
        center: Floats,
        rows: Any,
        weights: Floats,
        pulls: Floats,
        shared: Floats | None = None,
    ) -> None:
        self._spread, self._level, self._center = spread, level, center
        counted = weights > 0
        self._shared = shared if counted.all() else None
        self._rows, self._weights = rows[np.flatnonzero(counted)], weights[counted]
        self._values = pulls[counted] / self._weights

    @cached_property
    def _far(self) -> Floats:
        """C times the centre, once."""
        return self._spread.times(self._center[:, None]).ravel()

    def _gram(self, one: Any, other: Any) -> Floats:
        """Prior covariance of the mean losses of two lists of decisions."""
        middle = float(self._center @ self._far)
        left, right = one @ self._far, other @ self._far
        return np.asarray(self._spread.gram(one, other) - left[:, None] - right + middle + self._level**2)

    def prior_gram(self) -> Floats:
        """Prior covariance of the mean losses of the decisions that were measured."""
        return self._gram(self._rows, self._rows) if self._shared is None else self._shared

    @cached_property
    def _root(self) -> Floats:
        noisy = self.prior_gram() + np.diag(1 / self._weights)
        return np.asarray(cholesky(noisy, lower=True, check_finite=False))

    def _solve(self, values: Floats) -> Floats:
        return np.asarray(cho_solve((self._root, True), values, check_finite=False))

    def _correction(self, solved: Floats) -> Floats:
        """Columns of coefficients, theta and level, that follow from solved measurements."""
        offsets = self._rows.T @ solved - np.outer(self._center, solved.sum(axis=0))
        return np.vstack([self._spread.times(offsets), self._level**2 * solved.sum(axis=0)])

    @cached_property
    def _weighed(self) -> Floats:
        return self._solve(self._values)

    @cached_property
    def mean(self) -> Floats:
        """The posterior mean of theta, followed by the level."""
        if not len(self._weights):
            return np.zeros(len(self._center) + 1)
        return np.asarray(self._correction(self._weighed[:, None]).ravel())

    def sample(self, coins: np.random.Generator, size: int, posterior_scale: Floats | float = 1.0) -> Floats:
        """Draw coefficients by Matheron's rule, one row each."""
        prior = np.vstack([self._spread.sample(coins, size), self._level * coins.standard_normal((1, size))])
        if not len(self._weights):
            return np.asarray(posterior_scale * prior.T)
        noise = coins.standard_normal((len(self._weights), size)) / np.sqrt(self._weights)[:, None]
        seen = self._rows @ prior[:-1] - self._center @ prior[:-1] + prior[-1] + noise
        deviation = prior - self._correction(self._solve(seen))
        return np.asarray(self.mean + posterior_scale * deviation.T)

    def predict(self, rows: Any) -> tuple[Floats, Floats]:
        """Return mean and covariance of the mean losses of decisions."""
        prior = self._gram(rows, rows)
        if not len(self._weights):
            return np.zeros(rows.shape[0]), prior
        across = self._gram(self._rows, rows)
        half = solve_triangular(self._root, across, lower=True, check_finite=False)
        return across.T @ self._weighed, prior - half.T @ half


class ByRows:
    """The posterior of coefficients with independent priors, by measurements: for fewer of these than of those.

    Parameters
    ----------
    center, variances
        (n,) prior mean and prior variances.
    rows
        (U, n) what is measured.
    gram
        (U, U) rows, times the prior variances, times rows: the same whatever the weights are.
    weights, pulls
        (U,) the precision of each measurement, and precision times what was measured.

    Examples
    --------
    >>> fitted = ByRows(np.zeros(2), np.ones(2), np.eye(2)[:1], np.ones((1, 1)), np.array([3.0]), np.array([2.0]))
    >>> fitted.mean, fitted.predict(np.eye(2))[1].diagonal()
    (array([0.5, 0. ]), array([0.25, 1.  ]))
    """

    def __init__(
        self, center: Floats, variances: Floats, rows: Floats, gram: Floats, weights: Floats, pulls: Floats
    ) -> None:
        self._center, self._variances, self._rows, self._gram = center, variances, rows, gram
        self._weights, self._pulls = weights, pulls

    @property
    def precision(self) -> Floats:
        """The inverse of the covariance, written out."""
        return np.asarray(np.diag(1 / self._variances) + (self._rows * self._weights[:, None]).T @ self._rows)

    @property
    def spread(self) -> Floats:
        """The posterior variance of every coefficient; the matrix of which they are the diagonal is never made."""
        if not len(self._weights):
            return np.array(self._variances)
        half = solve_triangular(self._root, self._rows * self._variances, lower=True, check_finite=False)
        return np.asarray(self._variances - np.einsum("ij,ij->j", half, half))

    @cached_property
    def _root(self) -> Floats:
        noisy = self._gram + np.diag(1 / self._weights)
        return np.asarray(cholesky(noisy, lower=True, check_finite=False))

    def _correction(self, surprises: Floats) -> Floats:
        """What measurements that differ so much from what was expected say of the coefficients: rows to rows."""
        if not len(self._weights):
            return np.zeros((len(surprises), len(self._center)))
        solved = cho_solve((self._root, True), surprises.T, check_finite=False)
        return np.asarray((solved.T @ self._rows) * self._variances)

    @cached_property
    def mean(self) -> Floats:
        """The posterior mean."""
        surprise = self._pulls / self._weights - self._rows @ self._center
        return np.asarray(self._center + self._correction(surprise[None, :])[0])

    def sample(self, coins: np.random.Generator, size: int, posterior_scale: Floats | float = 1.0) -> Floats:
        """Draw coefficients by Matheron's rule, one row each."""
        prior = np.sqrt(self._variances) * coins.standard_normal((size, len(self._center)))
        noise = coins.standard_normal((size, len(self._weights))) / np.sqrt(self._weights)
        return np.asarray(self.mean + posterior_scale * (prior - self._correction(prior @ self._rows.T + noise)))

    def predict(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return mean and covariance of <row, beta> for each row."""
        spread = rows * self._variances
        if not len(self._weights):
            return rows @ self.mean, spread @ rows.T
        half = solve_triangular(self._root, self._rows @ spread.T, lower=True, check_finite=False)
        return rows @ self.mean, spread @ rows.T - half.T @ half


Fitted = ByCoefficients | ByMeasurements | ByRows
"""What is believed of coefficients: their `mean`, `sample`s in rows, and what is to be expected of rows times them."""
