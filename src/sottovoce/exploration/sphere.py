"""The paper's exploration: one uniform direction per event, and the one-point estimate of a gradient.

Lemma 2.2 of the paper (Flaxman, Kalai & McMahan 2005): for u uniform on the unit sphere of a d-dimensional space,
(d/radius) E[f(x + radius*u) u] is the gradient at x of f averaged over the ball of that radius around x.

The sphere is that of the *direction space of the domain's affine hull*: a simplex, a flow or a base polytope has no
interior, and d is the dimension of its hull, not the number of coordinates.

Tests: tests/exploration/test_sphere.py.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import choice, number
from sottovoce.domains import Domain

__all__ = ["Sphere", "one_point_sum"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sphere:
    """Actions on a small sphere around the round's point.

    Parameters
    ----------
    domain
        The feasible set.
    radius
        The smoothing radius (zeta in the paper).
    play
        "inside": c + (1 - radius/r)(x - c) + radius*u, with r the inner radius and c the centre: always feasible
        (Section D of the paper's appendix). "around": x + radius*u, which may leave the set; for losses that exist
        around it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sphere = Sphere(sv.domains.Simplex(3), radius=0.1, play="inside")
    >>> directions = sphere.directions(np.random.default_rng(0), size=4)
    >>> actions = sphere.actions(sphere.domain.center, directions)
    >>> bool(np.allclose(actions.sum(axis=1), 1.0)), sphere.scale
    (True, 20.0)
    """

    domain: Domain
    radius: float
    play: str = "inside"

    def __post_init__(self) -> None:
        number("radius", self.radius, above=0)
        choice("play", self.play, ("inside", "around"))
        if self.play == "inside" and self.radius > self.domain.inner_radius:
            raise ValueError(
                f"radius must be at most the domain's inner radius {self.domain.inner_radius:.6g} to play inside, "
                f"got {self.radius!r}; use a smaller one, or play='around' if losses exist outside the set"
            )

    @property
    def scale(self) -> float:
        """d/radius: what turns loss times direction into a gradient estimate."""
        return self.domain.affine_dimension / self.radius

    @property
    def shrink(self) -> float:
        """How much the set is pulled towards its centre so that the sphere fits."""
        return 1.0 - self.radius / self.domain.inner_radius if self.play == "inside" else 1.0

    def directions(self, coins: np.random.Generator, size: int) -> Floats:
        """Draw `size` unit vectors, uniform on the sphere of the direction space."""
        vectors = self.domain.tangent(coins.standard_normal((size, self.domain.dimension)))
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        vectors /= norms[:, None]
        return vectors

    def actions(self, point: Floats, directions: Floats) -> Floats:
        """Return one action per direction."""
        if self.play == "inside":
            center = self.domain.center
            point = center + self.shrink * (point - center)
        return np.asarray(self.radius * directions + point)


def one_point_sum(losses: NDArray[Any], directions: NDArray[Any]) -> NDArray[Any]:
    """Sum of loss times direction over a batch; exact on integers.

    Times `Sphere.scale`, this is an unbiased estimate of the sum of the smoothed losses' gradients.

    Examples
    --------
    >>> one_point_sum(np.array([2, 3]), np.array([[1, 0], [-1, 5]]))
    array([-1, 15])
    """
    return np.asarray(losses @ directions)
