"""The largest ball in a polytope given by inequalities, and at most one fixed sum: one linear program."""

from typing import Any

import numpy as np
import scipy
from scipy.sparse import csr_array, hstack

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._geometry.hull import CAUTION
from sottovoce.domains._geometry.inner_ball import InnerBall


def largest_ball(rows: Floats, bounds: Vector, total: float | None = None) -> InnerBall | None:
    """Return the largest ball in {rows x <= bounds}, or within {sum of x = total} in it; None if the solver fails.

    The facet of a row is (bound - <row, c>) / ||row|| from c, where within the hyperplane the row loses its mean first.

    Examples
    --------
    >>> ball = largest_ball(np.vstack((np.eye(2), -np.eye(2))), np.array([4.0, 4.0, 0.0, 0.0]))
    >>> round(ball.radius, 6)
    2.0
    """
    lengths = np.linalg.norm(rows if total is None else rows - rows.mean(axis=1, keepdims=True), axis=1)
    center = _center(rows, bounds, lengths, total)
    if center is None:
        return None
    if total is not None:
        center = center + (total - center.sum()) / len(center)
    # The radius is computed anew at the centre: no tolerance of the solver is in it.
    radius = float(((bounds - rows @ center) / lengths).min())
    return InnerBall(center, radius * (1 - CAUTION)) if radius > 0.0 else None


def _center(rows: Floats, bounds: Vector, lengths: Vector, total: float | None) -> Vector | None:
    """Maximise the radius r subject to <row, c> + r length <= bound; the solver sees bounds near 1."""
    n = rows.shape[1]
    scale = float(np.abs(bounds).max()) or 1.0
    matrix: Any = hstack((csr_array(rows), csr_array(lengths[:, None])))
    answer = scipy.optimize.linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=matrix,
        b_ub=bounds / scale,
        A_eq=None if total is None else np.append(np.ones(n), 0.0)[None],
        b_eq=None if total is None else [total / scale],
        bounds=(None, None),
        method="highs",
    )
    return None if answer.x is None else scale * np.asarray(answer.x[:n])
