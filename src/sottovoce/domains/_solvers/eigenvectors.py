"""The largest eigenvalue of a symmetric operator, with its vector, from products with vectors alone: ARPACK."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from sottovoce._arrays import Vector

_RESIDUAL = 1e-11  # relative to the eigenvalue
_BASIS = 12  # vectors between restarts: for one extreme pair that costs fewer products than scipy's default of 20
_RESTARTS = 60
# Where a start spans an invariant subspace, ARPACK goes on at random: from a fixed seed, in every scipy that takes one.
_SEEDED: dict[str, Any] = {"rng": 0} if "rng" in inspect.signature(eigsh).parameters else {}


def leading_eigenvector(product: Callable[[Vector], Vector], size: int) -> Vector | None:
    """Return a unit eigenvector of the largest eigenvalue, or None if ARPACK gives up.

    The start is random but always the same, so that the answer is a function of the operator; a random start almost
    never misses the largest eigenvalue (Kuczyński, Woźniakowski, 1992).

    Parameters
    ----------
    product : callable
        From a vector to the operator times it.
    size : int
        Length of the vectors, at least 2.

    Returns
    -------
    array of shape (size,) or None
        v with ||A v - (v'A v) v|| at most 1e-11 times the eigenvalue, which should be large among all: add a multiple
        of the identity otherwise.

    Examples
    --------
    >>> abs(leading_eigenvector(lambda v: np.array([1.0, 3.0, 2.0]) * v, 3)).round(6)
    array([0., 1., 0.])
    """
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    start = np.random.default_rng(size).standard_normal(size)
    limits: dict[str, Any] = {"ncv": min(_BASIS, size), "maxiter": _RESTARTS, "tol": _RESIDUAL}
    try:
        vectors = eigsh(operator, k=1, which="LA", v0=start, **limits, **_SEEDED)[1]
    except ArpackError:  # it did not converge, or the operator is zero
        return None
    vector: Vector = np.ascontiguousarray(vectors[:, 0], dtype=np.float64)
    return vector / np.linalg.norm(vector) if np.isfinite(vector).all() else None
