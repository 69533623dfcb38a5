"""The paper's exploration: one uniform direction per event, and the one-point estimate of a gradient.

Lemma 2.2 of the paper (Flaxman, Kalai & McMahan 2005): for u uniform on the unit sphere of a d-dimensional space,
(d/radius) E[f(x + radius*u) u] is the gradient at x of f averaged over the ball of that radius around x.

The sphere is that of the *direction space of the domain's affine hull*: a simplex, a flow or a base polytope has no
interior, and d is the dimension of its hull, not the number of coordinates.

Tests: tests/exploration/test_sphere.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import choice, number
from sottovoce.domains import Domain
from sottovoce.exploration.explorer import Draw, Exploration, Explorer, Record, Weighted
from sottovoce.exploration.stage import Stage

__all__ = ["Sphere", "Spheres"]


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
        """Draw `size` unit vectors, uniform on the sphere of the direction space.

        Parameters
        ----------
        coins
            Public ones.
        size
            How many.
        """
        vectors = self.domain.tangent(coins.standard_normal((size, self.domain.dimension)))
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        vectors /= norms[:, None]
        return vectors

    def inside(self, point: Floats) -> Floats:
        """Pull a point towards the centre so that the sphere around it fits, if play is inside.

        Parameters
        ----------
        point
            Of the working set.
        """
        if self.play == "around":
            return point
        center = self.domain.center
        return np.asarray(center + self.shrink * (point - center))

    def actions(self, point: Floats, directions: Floats) -> Floats:
        """Return one action per direction.

        Parameters
        ----------
        point
            What they lie around.
        directions
            Unit vectors, in rows.
        """
        return np.asarray(self.radius * directions + self.inside(point))


@dataclass(frozen=True, eq=False)
class Spheres(Explorer):
    """Rounds of a fixed size with an independent direction for every event: Algorithm 1.

    A round is summed into one integer for each coordinate, sum of q U, with U = quantise(u) a public integer vector.

    Parameters
    ----------
    stage
        Where the play takes place.
    radius, play
        As for `Sphere`.
    batch_size
        Events of a round.
    quantise, step
        From directions to integers, and the length of one integer step.
    middle
        A constant that is subtracted from every loss.

    Examples
    --------
    >>> import sottovoce as sv
    >>> rounds = Spheres(Stage(sv.domains.Ball(3)), 0.1, 8, lambda u: np.rint(u * 16).astype(np.int64), 1 / 16)
    >>> coins = np.random.default_rng(0)
    >>> rounds.begin(np.zeros(3), 0, 8, coins).draw(coins, 8).actions.shape
    (8, 3)
    """

    stage: Stage
    radius: float
    batch_size: int
    quantise: Callable[[Floats], Integers]
    step: float
    play: str = "inside"
    middle: float = 0.0

    @cached_property
    def sphere(self) -> Sphere:
        """The sphere that directions are drawn on."""
        return Sphere(self.stage.working, self.radius, self.play)

    def round_size(self, passed: int) -> int:
        """All rounds have the same size."""
        return self.batch_size

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> "SphereExploration":
        """Begin a round."""
        return SphereExploration(self, point)

    def resume(self, point: Floats, record: Record) -> "SphereExploration":
        """Return a round: it draws nothing ahead."""
        return SphereExploration(self, point)

    def gradient(self, sums: Floats, weights: Floats) -> Floats:
        """(d/radius) sum of (f - middle) u, for one round or for a sum of rounds: it is linear.

        Parameters
        ----------
        sums
            The sum of loss times direction, as released.
        weights
            The sum of the directions.
        """
        return np.asarray(self.sphere.scale * self.step * (sums - self.middle * weights))


class SphereExploration(Exploration):
    """One round of independent directions."""

    def __init__(self, rounds: Spheres, point: Floats) -> None:
        self._rounds, self._point = rounds, point
        self.numbers = rounds.stage.working.dimension

    def draw(self, coins: np.random.Generator, size: int) -> Draw:
        """Return the next events."""
        rounds = self._rounds
        directions = rounds.sphere.directions(coins, size)
        actions = rounds.sphere.actions(self._point, directions)
        if rounds.stage.rounded is not None or rounds.stage.integral:
            actions = rounds.stage.play(actions, np.arange(size), coins)
        return Draw(actions, None, Weighted(rounds.quantise(directions)))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the gradient of the round's total loss."""
        return self._rounds.gradient(sums, weights)

    def record(self) -> Record:
        """Return nothing: every event draws its own direction."""
        return {}

    def can_draw(self, draw: Draw, first: int) -> bool:
        """Whether they are unit directions, rounded, and act where these lead; vertices may lie anywhere."""
        rounds = self._rounds
        if not isinstance(draw.weights, Weighted) or draw.wants_loss is not None:
            return False
        rounded = rounds.step * draw.weights.rows
        if rounds.stage.rounded is not None or rounds.stage.integral:
            norms = np.linalg.norm(rounded, axis=1)
            return bool(np.allclose(norms, 1.0, rtol=0, atol=rounds.step * np.sqrt(self.numbers)))
        directions = (draw.actions - rounds.sphere.inside(self._point)) / rounds.radius
        unit = np.allclose(np.linalg.norm(directions, axis=1), 1.0)
        return unit and bool((np.abs(rounded - directions) <= 0.501 * rounds.step + 1e-9).all())
