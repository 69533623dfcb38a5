"""What algorithms for linear losses share: features of an action, and the most hopeful vertex of a set.

A loss that is linear in the action is <theta, phi(x)> on average, with phi(x) = ((x - c)/R, 1), c the set's centre and
R its outer radius: every affine function on the set, and features of length sqrt(2) at most. Directions that the set
does not have are never learned, and never matter.
"""

import math
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.domains import Domain

_CLIMB = 30  # steps of a climb, at most
_STARTS = 8  # of climbs, where vertices are not listed


@dataclass(frozen=True, eq=False)
class Features:
    """From actions to features, and from a parameter to the cost that the linear oracle takes.

    Examples
    --------
    >>> import sottovoce as sv
    >>> features = Features(sv.domains.Ball(2, radius=4.0))
    >>> features(np.array([[4.0, 0.0]])), features.cost(np.array([8.0, 4.0, 5.0]))
    (array([[1., 0., 1.]]), array([2., 1.]))
    """

    domain: Domain

    def __call__(self, actions: Floats) -> Floats:
        """Return the features of actions, one a row."""
        places = (actions - self.domain.center) / self.domain.outer_radius
        return np.column_stack([places, np.ones(len(actions))])

    @property
    def size(self) -> int:
        """Their number."""
        return self.domain.dimension + 1

    def cost(self, theta: Floats) -> Floats:
        """Return the cost whose cheapest vertex is that of a parameter."""
        return np.asarray(theta[:-1] / self.domain.outer_radius)


def hope(rows: Floats, theta: Floats, inverse: Floats, width: float) -> Floats:
    """Return <theta, phi> - width * ||phi||_inverse for features, one a row: the least loss that is plausible."""
    lengths = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, inverse, rows), 0.0))
    return np.asarray(rows @ theta - width * lengths)


def climb(features: Features, theta: Floats, inverse: Floats, width: float, start: Floats) -> Floats:
    """Improve a vertex by linear oracle until nothing improves.

    The plausible loss is concave in the action, so it lies below its linearisation: the oracle's answer to the gradient
    at a vertex is no worse than that vertex. The end is a local optimum, not always the best.
    """
    best = vertex = start
    value = math.inf
    for _ in range(_CLIMB):
        row = features(vertex[None])[0]
        here = float(hope(row[None], theta, inverse, width)[0])
        if here >= value - 1e-12 * (1 + abs(here)):
            break
        best, value = vertex, here
        pulled = inverse @ row
        length = math.sqrt(max(float(row @ pulled), 1e-300))
        vertex = features.domain.extreme_point(features.cost(theta - width * pulled / length))
    return best


def most_hopeful(
    features: Features,
    vertices: Floats | None,
    theta: Floats,
    inverse: Floats,
    width: float,
    coins: np.random.Generator,
) -> Floats:
    """Return the vertex whose plausible loss is least.

    Exact where the vertices are listed. Otherwise the best end of climbs from the cheapest vertices of `theta`, and of
    parameters that are drawn on the edge of the confidence ellipsoid.
    """
    if vertices is None:
        around = coins.standard_normal((_STARTS, len(theta)))
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        starts = theta + width * around @ np.linalg.cholesky(inverse).T
        first = (features.domain.extreme_point(features.cost(one)) for one in (theta, *starts))
        vertices = np.array([climb(features, theta, inverse, width, vertex) for vertex in first])
    best = int(np.argmin(hope(features(vertices), theta, inverse, width)))
    return np.asarray(vertices[best])
