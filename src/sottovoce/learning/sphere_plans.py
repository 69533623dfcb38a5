"""Plans that explore as the paper does: an independent direction for every event, running sums released."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sottovoce.exploration import Sphere, Stage
from sottovoce.learning.bounds import SphereBound
from sottovoce.learning.mechanisms import finest_bits, needed_noise, sum_noise
from sottovoce.learning.plan import Plan
from sottovoce.learning.probe_plans import mechanism_name
from sottovoce.learning.problem import Problem
from sottovoce.privacy import LocalDP, Noise

__all__ = ["SphereDraft", "batch_sizes", "largest_radius", "loss_deviation", "radii", "smoothing", "sphere_plans"]

_MOST_ROUNDS = 1024


@dataclass(frozen=True)
class SphereDraft:
    """Free choices of a plan, before noise and bound follow from them."""

    problem: Problem
    stage: Stage
    name: str
    mechanism: str
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

    @classmethod
    def of(
        cls, problem: Problem, stage: Stage, batch_size: int, radius: float, mechanism: str = "tree"
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
        )

    def finish(self) -> Plan:
        """Derive noise, step and bound."""
        bits, noise, unit = self._noise()
        bound, free = self._bound(noise, unit, bits), self._bound(None, unit, bits)
        # Where every round's noise is its own, the step follows the released gradients, at a factor of sqrt(2).
        adaptive = self.step is None and (noise is None or self.mechanism == "fresh")
        step = bound.best_step() if self.step is None else self.step
        problem = self.problem
        return Plan(
            name=self.name,
            exploration="sphere",
            mechanism=mechanism_name(problem, self.mechanism),
            position="plain" if self.stage.rounded is None else "rounded",
            horizon=problem.horizon,
            batch_size=self.batch_size,
            radius=self.radius,
            step=None if adaptive else step,
            delay=self.delay,
            method=self.method,
            gap=self.gap,
            max_calls=self.max_calls,
            baseline=self.baseline,
            bits=bits,
            noise=noise,
            noise_in_loss_units=noise.scale * unit / self._scale if noise else 0.0,
            padding=self.padding,
            bound=bound.adaptive_value() if adaptive else bound.value(step),
            bound_without_privacy=free.adaptive_value() if adaptive else free.value(self.step or free.best_step()),
            no_learning=no_learning(problem, self.stage),
        )

    @property
    def _scale(self) -> float:
        return Sphere(self.stage.working, self.radius, self.problem.play).scale

    @property
    def _rounds(self) -> int:
        return math.ceil(self.problem.horizon / self.batch_size)

    def _noise(self) -> tuple[int, Noise | None, float]:
        """Return the bits of the grids, the noise, and the worth of one step of the product grid in gradient units."""
        dimension = self.stage.working.dimension
        bits = finest_bits(self.problem, self.mechanism, rounds=self._rounds, dimension=dimension)
        while True:
            unit = self._scale * self.problem.width * 4.0**-bits
            noise = needed_noise(self.problem, self.mechanism, bits=bits, rounds=self._rounds, dimension=dimension)
            if noise is None:
                return bits, None, unit
            scale = max(noise.scale, self.least_noise / unit)
            if scale <= 2.0**55 or bits <= 2:  # a coarser grid loses nothing under noise as large as that
                return bits, replace(noise, scale=scale), unit
            bits -= 1

    def _bound(self, noise: Noise | None, unit: float, bits: int) -> SphereBound:
        problem, working = self.problem, self.stage.working
        size = unit * math.sqrt(working.affine_dimension)  # only the part of the noise along the set matters
        apart = together = 0.0
        if noise is not None and self.mechanism == "fresh":
            apart = noise.standard_deviation * size
        elif noise is not None:  # the root mean square bounds the mean of the norm
            of_sum = sum_noise(
                problem, self.mechanism, noise, bits=bits, rounds=self._rounds, dimension=working.dimension
            )
            together = of_sum * size
        deviation = loss_deviation(problem) if self.baseline == problem.middle else max(map(abs, problem.loss_range))
        return SphereBound(
            events=problem.horizon,
            batch_size=self.batch_size,
            outer_radius=self.stage.reach,
            estimate_scale=self._scale,
            loss_deviation=deviation,
            lipschitz=problem.lipschitz_in(self.stage),
            sum_noise=together,
            round_noise=apart,
            delay=self.delay,
            point_error=math.sqrt(self.gap),
            smoothing=smoothing(problem, self.stage, self.radius),
        )


def sphere_plans(problem: Problem, position: str, mechanism: str, batch_size: int | None) -> Iterator[SphereDraft]:
    """Candidates: radius and batch size on logarithmic grids, the step that is best for each."""
    stage = problem.stage(position)
    for batch in [batch_size] if batch_size else batch_sizes(problem.horizon, _MOST_ROUNDS):
        for radius in radii(problem, stage):
            yield SphereDraft.of(problem, stage, batch, radius, mechanism)


def batch_sizes(horizon: int, most_rounds: int) -> list[int]:
    """Powers of sqrt(2), of at least what leaves `most_rounds` rounds: more rounds gain next to nothing, slowly."""
    least = math.ceil(horizon / most_rounds)
    sizes = {min(horizon, max(least, round(2 ** (exponent / 2)))) for exponent in range(2 * horizon.bit_length())}
    return sorted(sizes)


def radii(problem: Problem, stage: Stage) -> list[float]:
    """Radii to try, from the largest that fits."""
    return [largest_radius(problem, stage) * 10 ** (-exponent / 8) for exponent in range(20)]


def largest_radius(problem: Problem, stage: Stage) -> float:
    """The largest radius to explore at."""
    return stage.working.inner_radius / 2 if problem.play == "inside" else stage.working.diameter


def smoothing(problem: Problem, stage: Stage, radius: float) -> float:
    """How far exploring moves what is played and compared with, in length: c * radius."""
    working = stage.working
    pulled = stage.reach / working.inner_radius if problem.play == "inside" else 0.0
    own = 0.0 if problem.losses == "linear" else 1.0  # a linear loss is its own smoothing
    return (own + pulled) * radius


def loss_deviation(problem: Problem) -> float:
    """Deviation of a reported loss from the middle of the range: B/2 at most; more if it was privatised."""
    if isinstance(problem.privacy, LocalDP):
        return problem.width / 2 / math.tanh(problem.privacy.epsilon / problem.privacy.contributions / 2)
    return problem.width / 2


def no_learning(problem: Problem, stage: Stage) -> float:
    """What never learning can cost at most."""
    far = problem.lipschitz_in(stage) * stage.reach
    return problem.horizon * min(problem.width, far)
