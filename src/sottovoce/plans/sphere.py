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
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import choice, number
from sottovoce._sums import Weighted
from sottovoce.domains import Domain
from sottovoce.plans import kind
from sottovoce.plans.draft import (
    ProbeNoise,
    batch_sizes,
    common_fields,
    loss_deviation,
    no_learning,
    positions,
    radii,
    smoothing,
)
from sottovoce.plans.explorer import Draw, Exploration, Explorer, Record
from sottovoce.plans.kind import Chosen, ExplorationKind
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import finest, needed_noise, sum_noise
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
class Spheres(Explorer):
    """Rounds of a fixed size with an independent direction for every event: Algorithm 1.

    A round is summed into one integer for each coordinate, sum of q U, with U = quantise(u) a public integer vector.

    Parameters
    ----------
    placement
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
    >>> rounds = Spheres(Placement(sv.domains.Ball(3)), 0.1, 8, lambda u: np.rint(u * 16).astype(np.int64), 1 / 16)
    >>> coins = np.random.default_rng(0)
    >>> rounds.begin(np.zeros(3), 0, 8, coins).draw(coins, 0, 8).actions.shape
    (8, 3)
    """

    placement: Placement
    radius: float
    batch_size: int
    quantise: Callable[[Floats], Integers]
    step: float
    play: str = "inside"
    middle: float = 0.0

    @cached_property
    def sphere(self) -> Sphere:
        """The sphere that directions are drawn on."""
        return Sphere(self.placement.working, self.radius, self.play)

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
        self.numbers = rounds.placement.working.dimension

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events, each with a direction of its own."""
        rounds = self._rounds
        directions = rounds.sphere.directions(coins, size)
        actions = rounds.sphere.actions(self._point, directions)
        if rounds.placement.rounded is not None or rounds.placement.integral:
            actions = rounds.placement.play(actions, np.arange(size), coins)
        return Draw(actions, None, Weighted(rounds.quantise(directions)))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the gradient of the round's total loss."""
        return self._rounds.gradient(sums, weights)

    def record(self) -> Record:
        """Return nothing: every event draws its own direction."""
        return {}


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


@dataclass(frozen=True, kw_only=True)
class PointBound:
    """What bounds have in common where rounds explore around a point: events, sizes, and what is lost beside steps."""

    events: int
    batch_size: int
    outer_radius: float
    estimate_scale: float
    loss_deviation: float
    lipschitz: float
    delay: int
    point_error: float
    smoothing: float

    @staticmethod
    def common(draft: Any, radius: float) -> dict[str, Any]:
        """Return fields that follow from the problem, the placement and the radius of a draft alone."""
        problem, placement = draft.problem, draft.placement
        return {
            "events": problem.horizon,
            "batch_size": draft.batch_size,
            "outer_radius": placement.reach_from_start,
            "estimate_scale": Sphere(placement.working, radius, problem.play).scale,
            "lipschitz": problem.lipschitz_in(placement),
            "delay": draft.delay,
            "smoothing": smoothing(problem, placement, radius),
        }

    @property
    def rounds(self) -> int:
        """N."""
        return math.ceil(self.events / self.batch_size)

    @property
    def fixed(self) -> float:
        """What no step changes: errors of points, and smoothing."""
        return self.events * self.lipschitz * (self.point_error + self.smoothing)


@dataclass(frozen=True, kw_only=True)
class SphereBound(PointBound):
    """Independent directions, running sums released.

    Examples
    --------
    >>> bound = SphereBound(
    ...     events=10_000, batch_size=100, outer_radius=1.0, estimate_scale=10.0, loss_deviation=0.5,
    ...     lipschitz=1.0, sum_noise=0.0, delay=0, point_error=0.0, smoothing=0.1,
    ... )
    >>> round(bound.value(bound.best_step()))
    2118
    """

    sum_noise: float
    round_noise: float = 0.0  # of one round's estimate, where it is fresh

    @property
    def energy(self) -> float:
        """kappa^2: the expected squared norm of a round's gradient estimate."""
        k = self.batch_size
        own = k * (self.estimate_scale * self.loss_deviation) ** 2 + (k * self.lipschitz) ** 2
        return own + self.round_noise**2

    def adaptive_value(self) -> float:
        """The bound with a step that adapts to the released gradients: sqrt(2) on the terms that a step balances."""
        return math.sqrt(2) * (self.value(self.best_step()) - self.fixed) + self.fixed

    def best_step(self) -> float:
        """The step that minimises the bound."""
        drag = 2 * self.events * self.lipschitz * (self.sum_noise + self.delay * math.sqrt(self.energy))
        return self.outer_radius / math.sqrt(self.rounds * self.energy + drag)

    def value(self, step: float) -> float:
        """The bound at a given step."""
        start = self.outer_radius**2 / (2 * step)
        variance = step / 2 * self.rounds * self.energy
        error = step * (self.sum_noise + self.delay * math.sqrt(self.energy)) + self.point_error
        return start + variance + self.events * self.lipschitz * (error + self.smoothing)


@dataclass(frozen=True)
class SphereDraft:
    """Free choices of a plan, before noise and bound follow from them."""

    problem: Problem
    placement: Placement
    batch_size: int
    radius: float
    mechanism: Mechanism = TREE
    noised: tuple[int, Noise | None] | None = None  # bits of the finest grids and noise, if known: any radius has them
    name: str = "auto"
    delay: int = 0
    method: str = "auto"
    gap: float = math.nan  # a millionth of the squared diameter
    max_calls: int = 10_000
    baseline: float = math.nan  # the middle of the range
    step: float | None = None  # None: the best for the bound
    least_noise: float = 0.0  # in gradient units
    padding: bool = False

    def __post_init__(self) -> None:
        if math.isnan(self.gap):
            object.__setattr__(self, "gap", 1e-6 * self.placement.working.diameter**2)
        if math.isnan(self.baseline):
            object.__setattr__(self, "baseline", self.problem.middle)

    @property
    def bound(self) -> float:
        """The bound alone: most drafts of a search are asked for no more."""
        bits, noise, unit = self._noise()
        return self._worth(self.bound_with(noise, unit, bits), self._adaptive(noise))

    def finish(self) -> Plan:
        """Derive noise, step and bound."""
        bits, noise, unit = self._noise()
        bound = self.bound_with(noise, unit, bits)
        free = bound if noise is None else replace(bound, sum_noise=0.0, round_noise=0.0)
        adaptive = self._adaptive(noise)
        problem, padded = self.problem, self.padding and "padding" in self._in_force.options
        scale = noise.scale * unit / self._scale if noise else 0.0
        common = common_fields(problem, self.placement, self.mechanism, ProbeNoise(bits, noise, scale, math.nan))
        return Plan(
            **{**common, "name": self.name, "baseline": self.baseline},
            batch_size=self.batch_size,
            step=None if adaptive else self._step(bound),
            delay=self.delay,
            method=self.method,
            gap=self.gap,
            max_calls=self.max_calls,
            options=SphereOptions(self.radius, padded),
            bound=self._worth(bound, adaptive),
            bound_without_privacy=self._worth(free, adaptive),
            no_learning=no_learning(problem, self.placement),
            notes=problem.cautions(self.placement),
        )

    def _adaptive(self, noise: Noise | None) -> bool:
        """Where every round's noise is its own, the step follows the released gradients, at a factor of sqrt(2)."""
        return self.step is None and (noise is None or self.mechanism.releases == "rounds")

    def _step(self, bound: SphereBound) -> float:
        return bound.best_step() if self.step is None else self.step

    def _worth(self, bound: SphereBound, adaptive: bool) -> float:
        return bound.adaptive_value() if adaptive else bound.value(self._step(bound))

    @property
    def _scale(self) -> float:
        return Sphere(self.placement.working, self.radius, self.problem.play).scale

    @property
    def _in_force(self) -> Mechanism:
        return mechanism_for(self.problem.privacy, self.mechanism)

    @property
    def _rounds(self) -> int:
        return math.ceil(self.problem.horizon / self.batch_size)

    def finest(self) -> tuple[int, Noise | None]:
        """Return the bits of the finest grids, and the least noise on them: `noised` of drafts of other radii."""
        return finest(self.problem, self._in_force, rounds=self._rounds, dimension=self.placement.working.dimension)

    def _noise(self) -> tuple[int, Noise | None, float]:
        """Return the bits of the grids, the noise, and the worth of one step of the product grid in gradient units."""
        bits, noise = self.noised or self.finest()
        while True:
            unit = self._scale * self.problem.width * 4.0**-bits
            if noise is None:
                return bits, None, unit
            scale = max(noise.scale, self.least_noise / unit)
            if scale <= 2.0**55 or bits <= 2:  # a coarser grid loses nothing under noise as large as that
                return bits, noise if scale == noise.scale else replace(noise, scale=scale), unit
            bits -= 1
            sizes = {"rounds": self._rounds, "dimension": self.placement.working.dimension}
            noise = needed_noise(self.problem, self._in_force, bits=bits, **sizes)

    def bound_with(self, noise: Noise | None, unit: float, bits: int) -> SphereBound:
        """Return the bound under a noise of the sums on a grid of so many bits, whose step is a unit of gradient."""
        problem, working = self.problem, self.placement.working
        size = unit * math.sqrt(working.affine_dimension)  # only the part of the noise along the set matters
        apart = together = 0.0
        if noise is not None and self.mechanism.releases == "rounds":
            apart = noise.standard_deviation * size
        elif noise is not None:  # the root mean square bounds the mean of the norm
            sizes = {"bits": bits, "rounds": self._rounds, "dimension": working.dimension}
            own = {"padding": True} if self.padding and "padding" in self.mechanism.options else {}
            together = size * sum_noise(problem, self.mechanism, noise, **sizes, **own)
        deviation = loss_deviation(problem) if self.baseline == problem.middle else max(map(abs, problem.loss_range))
        return SphereBound(
            **PointBound.common(self, self.radius),
            loss_deviation=deviation,
            sum_noise=together,
            round_noise=apart,
            point_error=math.sqrt(self.gap),
        )


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> Iterator[Iterator[SphereDraft]]:
    """Candidates: radius and batch size on logarithmic grids, the step that is best for each."""
    for place in positions(problem, chosen.get("position")):
        yield _grid(problem, problem.placement(place), mechanism, chosen.get("batch_size"))


def _grid(
    problem: Problem, placement: Placement, mechanism: Mechanism, batch_size: int | None
) -> Iterator[SphereDraft]:
    tried = radii(problem, placement)
    for batch in [batch_size] if batch_size else batch_sizes(problem.horizon, _MOST_ROUNDS):
        noised = SphereDraft(problem, placement, batch, tried[0], mechanism).finest()  # the same at every radius
        for radius in tried:
            yield SphereDraft(problem, placement, batch, radius, mechanism, noised)


def _build(problem: Problem, plan: Plan, placement: Placement) -> Explorer:
    directions = plan.grids(problem.loss_range)[1]
    return Spheres(
        placement, plan.radius, plan.batch_size, directions.quantise, directions.step, problem.play, plan.baseline
    )


SPHERE = ExplorationKind(
    gives="vectors",
    options=SphereOptions,
    choices={
        "radius": kind.radius,
        "batch_size": kind.batch_size,
        "position": kind.position,
        "padding": kind.flag,
    },
    drafts=_drafts,
    build=_build,
    bounded=True,
    unasked="worst-case",
)
