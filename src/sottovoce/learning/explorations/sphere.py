"""Exploring as the paper does: an independent direction for every event, and running sums that are released.

Bound (theorem of the paper, constants written out):

    regret <= R^2/(2 step) + step/2 * N kappa^2 + T L [step (E||Z|| + delay kappa) + e] + c L radius T

with N rounds of k events, kappa^2 = k a^2 V + k^2 L^2 the energy of a round's estimate (a = d/radius, V the squared
deviation of a loss from the baseline; Lemma C.2 of the paper), Z the noise of a running sum, e the certified error of
the point map, and c = 1 for play around the set, 1 + R/r inside it. The product of L with the point's error has L where
the paper has kappa: the point and its ideal are both known before the round's directions are drawn, so only the mean of
the estimate meets it. Noise that is fresh in every round belongs to kappa^2 instead.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sottovoce.exploration import Explorer, Sphere, Spheres, Stage
from sottovoce.learning.explorations import kind
from sottovoce.learning.explorations._common import (
    batch_sizes,
    loss_deviation,
    no_learning,
    position_of,
    radii,
    smoothing,
)
from sottovoce.learning.explorations._positions import positions
from sottovoce.learning.explorations.kind import Chosen, ExplorationKind
from sottovoce.learning.planning.plan import Options, Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.learning.planning.sensitivity import finest_bits, needed_noise, sum_noise
from sottovoce.privacy import TREE, Mechanism, Noise, mechanism_for

__all__ = ["SPHERE", "SphereBound", "SphereDraft", "SphereOptions"]

_MOST_ROUNDS = 1024


@dataclass(frozen=True)
class SphereOptions(Options, exploration="sphere"):
    """What is a sphere's own in a plan: the smoothing radius (zeta), and whether a tree draws the paper's padding."""

    radius: float
    padding: bool = False

    def words(self) -> str:
        """How such a plan explores."""
        return f"every event, at radius {self.radius:.4g}"


@dataclass(frozen=True)
class SphereBound:
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

    events: int
    batch_size: int
    outer_radius: float
    estimate_scale: float
    loss_deviation: float
    lipschitz: float
    sum_noise: float
    delay: int
    point_error: float
    smoothing: float
    round_noise: float = 0.0  # of one round's estimate, where it is fresh

    @property
    def rounds(self) -> int:
        """N."""
        return math.ceil(self.events / self.batch_size)

    @property
    def energy(self) -> float:
        """kappa^2: the expected squared norm of a round's gradient estimate."""
        k = self.batch_size
        own = k * (self.estimate_scale * self.loss_deviation) ** 2 + (k * self.lipschitz) ** 2
        return own + self.round_noise**2

    def adaptive_value(self) -> float:
        """The bound with a step that adapts to the released gradients: sqrt(2) on the terms that a step balances."""
        fixed = self.events * self.lipschitz * (self.point_error + self.smoothing)
        return math.sqrt(2) * (self.value(self.best_step()) - fixed) + fixed

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
    stage: Stage
    name: str
    mechanism: Mechanism
    batch_size: int
    radius: float
    delay: int
    method: str
    gap: float
    max_calls: int
    baseline: float
    step: float | None = None  # None: the best for the bound
    least_noise: float = 0.0  # in gradient units
    padding: bool = False
    noised: tuple[int, Noise | None] | None = None  # bits of the finest grids and noise, if known: any radius has them

    @classmethod
    def of(
        cls,
        problem: Problem,
        stage: Stage,
        batch_size: int,
        radius: float,
        mechanism: Mechanism = TREE,
        noised: tuple[int, Noise | None] | None = None,
    ) -> "SphereDraft":
        """The usual choices."""
        return cls(
            problem=problem,
            stage=stage,
            name="auto",
            mechanism=mechanism,
            batch_size=batch_size,
            radius=radius,
            delay=0,
            method="auto",
            gap=1e-6 * stage.working.diameter**2,
            max_calls=10_000,
            baseline=problem.middle,
            noised=noised,
        )

    @property
    def bound(self) -> float:
        """The bound alone: most drafts of a search are asked for no more."""
        bits, noise, unit = self._noise()
        return self._worth(self._bound(noise, unit, bits), self._adaptive(noise))

    def finish(self) -> Plan:
        """Derive noise, step and bound."""
        bits, noise, unit = self._noise()
        bound = self._bound(noise, unit, bits)
        free = bound if noise is None else replace(bound, sum_noise=0.0, round_noise=0.0)
        adaptive = self._adaptive(noise)
        problem, mechanism = self.problem, mechanism_for(self.problem.privacy, self.mechanism)
        return Plan(
            name=self.name,
            mechanism=mechanism.name,
            position=position_of(self.stage),
            horizon=problem.horizon,
            batch_size=self.batch_size,
            step=None if adaptive else self._step(bound),
            delay=self.delay,
            method=self.method,
            gap=self.gap,
            max_calls=self.max_calls,
            baseline=self.baseline,
            bits=bits,
            noise=noise,
            noise_in_loss_units=noise.scale * unit / self._scale if noise else 0.0,
            options=SphereOptions(self.radius, self.padding and "padding" in mechanism.options),
            bound=self._worth(bound, adaptive),
            bound_without_privacy=self._worth(free, adaptive),
            no_learning=no_learning(problem, self.stage),
            notes=problem.cautions(self.stage),
            reach_from_start=self.stage.reach_from_start if self.stage.moved else None,
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
        return Sphere(self.stage.working, self.radius, self.problem.play).scale

    @property
    def _rounds(self) -> int:
        return math.ceil(self.problem.horizon / self.batch_size)

    def finest(self) -> tuple[int, Noise | None]:
        """Return the bits of the finest grids, and the least noise on them: `noised` of drafts of other radii."""
        mechanism = mechanism_for(self.problem.privacy, self.mechanism)
        return _finest(self.problem, mechanism, self._rounds, self.stage.working.dimension)

    def _noise(self) -> tuple[int, Noise | None, float]:
        """Return the bits of the grids, the noise, and the worth of one step of the product grid in gradient units."""
        dimension = self.stage.working.dimension
        mechanism = mechanism_for(self.problem.privacy, self.mechanism)
        bits, noise = self.noised or self.finest()
        while True:
            unit = self._scale * self.problem.width * 4.0**-bits
            if noise is None:
                return bits, None, unit
            scale = max(noise.scale, self.least_noise / unit)
            if scale <= 2.0**55 or bits <= 2:  # a coarser grid loses nothing under noise as large as that
                return bits, noise if scale == noise.scale else replace(noise, scale=scale), unit
            bits -= 1
            noise = needed_noise(self.problem, mechanism, bits=bits, rounds=self._rounds, dimension=dimension)

    def _bound(self, noise: Noise | None, unit: float, bits: int) -> SphereBound:
        problem, working = self.problem, self.stage.working
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
            events=problem.horizon,
            batch_size=self.batch_size,
            outer_radius=self.stage.reach_from_start,
            estimate_scale=self._scale,
            loss_deviation=deviation,
            lipschitz=problem.lipschitz_in(self.stage),
            sum_noise=together,
            round_noise=apart,
            delay=self.delay,
            point_error=math.sqrt(self.gap),
            smoothing=smoothing(problem, self.stage, self.radius),
        )


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> Iterator[Iterator[SphereDraft]]:
    """Candidates: radius and batch size on logarithmic grids, the step that is best for each."""
    for place in positions(problem, chosen.get("position")):
        yield _grid(problem, problem.stage(place), mechanism, chosen.get("batch_size"))


def _grid(problem: Problem, stage: Stage, mechanism: Mechanism, batch_size: int | None) -> Iterator[SphereDraft]:
    in_force, dimension = mechanism_for(problem.privacy, mechanism), stage.working.dimension
    for batch in [batch_size] if batch_size else batch_sizes(problem.horizon, _MOST_ROUNDS):
        noised = _finest(problem, in_force, math.ceil(problem.horizon / batch), dimension)
        for radius in radii(problem, stage):
            yield SphereDraft.of(problem, stage, batch, radius, mechanism, noised)


def _finest(problem: Problem, mechanism: Mechanism, rounds: int, dimension: int) -> tuple[int, Noise | None]:
    bits = finest_bits(problem, mechanism, rounds=rounds, dimension=dimension)
    return bits, needed_noise(problem, mechanism, bits=bits, rounds=rounds, dimension=dimension)


def _build(problem: Problem, plan: Plan, stage: Stage) -> Explorer:
    directions = plan.grids(problem.loss_range)[1]
    return Spheres(
        stage, plan.radius, plan.batch_size, directions.quantise, directions.step, problem.play, plan.baseline
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
)
