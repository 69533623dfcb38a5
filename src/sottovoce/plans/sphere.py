"""The paper's exploration: one uniform direction per event, from which a one-point estimate of the gradient follows.

Lemma 2.2 of the paper (Flaxman, Kalai & McMahan 2005): for u uniform on the unit sphere of a d-dimensional space,
(d/radius) E[f(x + radius*u) u] is the gradient at x of f averaged over the ball of that radius around x.

The sphere is that of the *direction space of the domain's affine hull*: a simplex, a flow or a base polytope has no
interior, and d is the dimension of its hull, not the number of coordinates.

What is released is the running sum over rounds. Bound (theorem of the paper, constants written out):

    regret <= R^2/(2 step) + step/2 * N kappa^2 + T L [step (E||Z|| + delay kappa) + e] + c L radius T

with N rounds of k events, kappa^2 = k a^2 V + k^2 L^2 the energy of a round's estimate (a = d/radius, V the squared
deviation of a loss from the baseline; Lemma C.2 of the paper), Z the noise of a running sum, e the certified error of
the point map, and c = 1 for play around the set, 1 + R/r inside it. The product of L with the point's error has L where
the paper has kappa: the point and its ideal are both known before the round's directions are drawn, so only the mean of
the estimate meets it. Noise that is fresh in every round belongs to kappa^2 instead.

Tests: tests/plans/test_sphere.py.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import choice, number
from sottovoce._sums import Weighted
from sottovoce.domains import Domain
from sottovoce.plans.draft import ProbeDraft, ProbeNoise, batch_sizes, loss_deviation, placements, radii
from sottovoce.plans.explorer import Draw, Exploration, Explorer, Record
from sottovoce.plans.kind import AROUND_POINT, Chosen, ExplorationKind
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import finest, sum_noise
from sottovoce.privacy import TREE, Mechanism, Noise, mechanism_for


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
class AroundPoint(Explorer):
    """Rounds of a fixed size that explore at a radius around a point.

    Parameters
    ----------
    placement
        Where the play takes place; points and directions are in its working coordinates.
    radius, play
        As for `Sphere`.
    batch_size
        k, the events of a round.
    middle
        A constant that is subtracted from every loss.
    """

    placement: Placement
    radius: float
    batch_size: int
    play: str = "inside"
    middle: float = 0.0

    @cached_property
    def sphere(self) -> Sphere:
        """The sphere that directions are drawn on."""
        return Sphere(self.placement.working, self.radius, self.play)

    def round_size(self, passed: int) -> int:
        """All rounds have the same size."""
        return self.batch_size


@dataclass(frozen=True, eq=False, kw_only=True)
class Spheres(AroundPoint):
    """Rounds of a fixed size with an independent direction for every event: Algorithm 1.

    A round is summed into one integer for each coordinate, sum of q U, with U = quantise(u) a public integer vector.

    Parameters
    ----------
    placement, radius, batch_size, play, middle
        As for `AroundPoint`.
    quantise, step
        From directions to integers, and the length of one integer step.

    Examples
    --------
    >>> import sottovoce as sv
    >>> grid = {"quantise": lambda u: np.rint(u * 16).astype(np.int64), "step": 1 / 16}
    >>> rounds = Spheres(Placement(sv.domains.Ball(3)), 0.1, 8, **grid)
    >>> coins = np.random.default_rng(0)
    >>> rounds.begin(np.zeros(3), 0, 8, coins).draw(coins, 0, 8).actions.shape
    (8, 3)
    """

    quantise: Callable[[Floats], Integers]
    step: float

    def resume(self, point: Floats, record: Record) -> "SphereExploration":
        """Return a round: it draws nothing ahead."""
        return SphereExploration(self, point, record)

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

    def __init__(self, rounds: Spheres, point: Floats, record: Record) -> None:
        super().__init__(rounds, point, record)
        self.numbers = rounds.placement.working.dimension

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events, each with a direction of its own."""
        rounds = self._explorer
        directions = rounds.sphere.directions(coins, size)
        actions = rounds.sphere.actions(self._point, directions)
        played = rounds.placement.play(actions, np.arange(size), coins)
        return Draw(played, None, Weighted(rounds.quantise(directions)))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the gradient of the round's total loss."""
        return np.asarray(self._explorer.gradient(sums, weights))


_MOST_ROUNDS = 1024


@dataclass(frozen=True)
class SphereOptions(Options, exploration="sphere"):
    """What is a sphere's own in a plan: the smoothing radius (zeta), and whether a tree draws the paper's padding."""

    radius: float
    padding: bool = False
    order_only: ClassVar[bool] = False

    rests_on = "nothing: it holds for any sequence of losses"

    def words(self) -> str:
        """How such a plan explores."""
        return f"every event, at radius {self.radius:.4g}"


@dataclass(frozen=True)
class PointDraft(ProbeDraft):
    """A draft of rounds that explore around a point, at a radius among its options."""

    @property
    def rounds(self) -> int:
        """N."""
        return math.ceil(self.problem.horizon / self.batch_size)

    @property
    def lipschitz(self) -> float:
        """L, in working coordinates."""
        return self.problem.lipschitz_in(self.placement)

    @property
    def scale(self) -> float:
        """The factor d/radius (a), which turns loss times direction into a gradient estimate."""
        return Sphere(self.placement.working, self.options.radius, self.problem.play).scale

    def fixed(self, point_error: float) -> float:
        """Return what no step changes: errors of points, and smoothing.

        Parameters
        ----------
        point_error
            How far computed points may be off.
        """
        pulled = self.placement.reach / self.placement.working.inner_radius if self.problem.play == "inside" else 0.0
        own = 0.0 if self.problem.losses == "linear" else 1.0  # a linear loss is its own smoothing
        smoothing = float((own + pulled) * self.options.radius)  # by which exploring moves what is played: c * radius
        return self.problem.horizon * self.lipschitz * (point_error + smoothing)

    def finish(self) -> Plan:
        """Derive noise and bound; what never learning costs follows from the Lipschitz constant, too."""
        most = self.problem.horizon * min(self.problem.width, self.lipschitz * self.placement.reach)
        return replace(super().finish(), no_learning=most, notes=self.problem.cautions(self.placement))


def round_energy(size: int, scale: float, deviation: float, lipschitz: float) -> float:
    """Return the expected squared norm of a round's gradient estimate (kappa^2), without noise.

    Parameters
    ----------
    size
        Events of the round (k).
    scale
        What turns loss times direction into an estimate (a).
    deviation, lipschitz
        Of a loss from the baseline, and L.
    """
    return size * (scale * deviation) ** 2 + (size * lipschitz) ** 2


@dataclass(frozen=True)
class SphereDraft(PointDraft):
    """A plan of independent directions, before noise, step and bound follow.

    `least_noise` is the least scale of the noise, in units of the gradient.
    """

    mechanism: Mechanism = TREE
    least_noise: float = 0.0

    def finish(self) -> Plan:
        """Derive noise, step and bound."""
        options = SphereOptions(self.options.radius, self.options.padding and "padding" in self._in_force.options)
        best = self.step  # or the best; None adapts it to the released gradients
        if best is None and not self._adaptive:
            best = self.best_step(self.noise.deviation)
        return replace(super().finish(), options=options, step=best)

    @cached_property
    def noise(self) -> ProbeNoise:
        """The noise of a number: of what privacy needs, or more; in units of loss times direction."""
        if self.known is not None:
            return self.known
        sizes = {"rounds": self.rounds, "dimension": self.placement.working.dimension}
        own = self.problem.width * self.scale

        def least(bits: int) -> float:
            return self.least_noise * 4.0**bits / own  # in steps of the product grid

        bits, noise = finest(self.problem, self._in_force, **sizes, least=least)
        if noise is None:
            return ProbeNoise(bits, None, 0.0, 0.0)
        unit = self.problem.width * 4.0**-bits
        return ProbeNoise(bits, noise, noise.scale * unit, self._deviation(noise, unit))

    def _deviation(self, noise: Noise, unit: float) -> float:
        """Of what is released, along one coordinate: a round's noise, or the root mean square of a running sum's."""
        if self.mechanism.releases == "rounds":
            return noise.standard_deviation * unit
        own = {"padding": True} if self.options.padding and "padding" in self.mechanism.options else {}
        return unit * sum_noise(self.mechanism, noise, rounds=self.rounds, **own)

    def bound_at(self, deviation: float) -> float:
        """Return the bound for noise of a deviation."""
        reach, weight, point_error = self.placement.reach_from_start, self._weight(deviation), math.sqrt(self.first_gap)
        if self.step is not None:
            walk = reach**2 / (2 * self.step) + self.step / 2 * weight
        else:
            walk = reach * math.sqrt(2 * weight if self._adaptive else weight)
        return walk + self.fixed(point_error)

    def best_step(self, deviation: float) -> float:
        """Return the step that minimises the bound.

        Parameters
        ----------
        deviation
            Of the noise.
        """
        return self.placement.reach_from_start / math.sqrt(self._weight(deviation))

    def _weight(self, deviation: float) -> float:
        """What half of a step is multiplied by, in the bound."""
        problem = self.problem
        centred = self.baseline in (None, problem.middle)
        own = loss_deviation(problem) if centred else max(map(abs, problem.loss_range))
        energy = round_energy(self.batch_size, self.scale, own, self.lipschitz)
        size = deviation * self.scale * math.sqrt(self.placement.working.affine_dimension)  # along the set
        if self.mechanism.releases == "rounds":
            energy, size = energy + size**2, 0.0
        return self.rounds * energy + 2 * problem.horizon * self.lipschitz * (size + self.delay * math.sqrt(energy))

    @property
    def _adaptive(self) -> bool:
        """Where every round's noise is its own, the step follows the released gradients, at a factor of sqrt(2)."""
        return self.step is None and (self.noise.noise is None or self.mechanism.releases == "rounds")

    @property
    def _in_force(self) -> Mechanism:
        return mechanism_for(self.problem.privacy, self.mechanism)


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> Iterator[SphereDraft]:
    """Candidates: radius and batch size on logarithmic grids, the step that is best for each."""
    batch_size = chosen.get("batch_size")
    for placement in placements(problem, chosen.get("position")):
        tried = radii(problem, placement)
        options = SphereOptions(tried[0], bool(chosen.get("padding")))
        for batch in [batch_size] if batch_size else batch_sizes(problem.horizon, _MOST_ROUNDS):
            first = SphereDraft(problem, placement, options, batch, mechanism)
            for radius in tried:  # the noise is the same at each
                yield replace(first, options=replace(options, radius=radius), known=first.noise)


def _build(problem: Problem, plan: Plan, placement: Placement) -> Explorer:
    directions = plan.grids(problem.loss_range)[1]
    around = placement, plan.radius, plan.batch_size, problem.play, plan.baseline
    return Spheres(*around, quantise=directions.quantise, step=directions.step)


SPHERE = ExplorationKind(
    gives="vectors",
    options=SphereOptions,
    choices={**AROUND_POINT, "padding": lambda problem, value: bool(value)},
    drafts=_drafts,
    build=_build,
    bounded=True,
    unasked="worst-case",
)
