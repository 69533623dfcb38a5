"""From free choices to a plan: what ways of exploring share to get there.

A draft holds the choices, so that a search can compare many by their bounds; the rest of the plan follows once.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import finest
from sottovoce.privacy import PROBE_SUMS, RESOLUTION, LocalDP, Mechanism, Noise, mechanism_for

OBLIVIOUS = "losses that do not answer to the actions of their own round; then it holds for any sequence of losses"
"""What frames and designs rest on: an action tells which others its round has, so losses must be fixed before it."""
_LOPSIDED = 1.5  # by how much rounding must improve outer over inner radius to be worth its coordinates
_ROUNDING_UP_TO = 400  # dimensions: a design costs the cube of them


# ------------------------------------------------------------------ what to try


def placements(problem: Problem, chosen: str | None) -> Iterator[Placement]:
    """Yield the position that was chosen; or plain, and rounded too where that makes the set rounder by enough."""
    yield problem.placement(chosen or "plain")
    domain = problem.domain
    if chosen is not None or problem.play == "around" or domain.affine_dimension > _ROUNDING_UP_TO:
        return
    lopsided = domain.outer_radius / domain.inner_radius
    if lopsided > 2.0:
        rounded = problem.placement("rounded")
        if rounded.reach / rounded.working.inner_radius * _LOPSIDED < lopsided:
            yield rounded


def batch_sizes(horizon: int, most_rounds: int) -> list[int]:
    """Powers of sqrt(2), of at least what leaves `most_rounds` rounds: more rounds gain next to nothing, slowly."""
    least = math.ceil(horizon / most_rounds)
    sizes = {min(horizon, max(least, round(2 ** (exponent / 2)))) for exponent in range(2 * horizon.bit_length())}
    return sorted(sizes)


def radii(problem: Problem, placement: Placement) -> list[float]:
    """Radii to try, from the largest that fits."""
    return [largest_radius(problem, placement) * 10 ** (-exponent / 8) for exponent in range(20)]


def largest_radius(problem: Problem, placement: Placement) -> float:
    """The largest radius to explore at."""
    return placement.working.inner_radius / 2 if problem.play == "inside" else placement.working.diameter


# ------------------------------------------------------------------ what is lost


def loss_deviation(problem: Problem) -> float:
    """Deviation of a reported loss from the middle of the range: B/2 at most; more if it was privatised."""
    if isinstance(problem.privacy, LocalDP):
        return problem.width / 2 / math.tanh(problem.privacy.epsilon / problem.privacy.contributions / 2)
    return problem.width / 2


def bet(multiplier: float) -> float:
    """What multiplying the adaptive step costs in the worst case: (c + 1/c)/2."""
    return (multiplier + 1 / multiplier) / 2


# ------------------------------------------------------------------ where an event is in one number


@dataclass(frozen=True)
class ProbeNoise:
    """The noise of one number: on the integer grid, and its standard deviation in units of loss."""

    bits: int
    noise: Noise | None
    in_loss_units: float
    deviation: float


def probe_noise_of(problem: Problem, mechanism: Mechanism = PROBE_SUMS) -> ProbeNoise:
    """Return the least noise of a number; none without privacy, or where losses come in privatised.

    An item's sum is in units of losses that count in full: they are multiplied by `RESOLUTION`.
    """
    mechanism = mechanism_for(problem.privacy, mechanism)
    bits, noise = finest(problem, mechanism, rounds=1, dimension=1)
    if noise is None:
        return ProbeNoise(bits, None, 0.0, 0.0)
    step = problem.loss_grid(bits).step / (RESOLUTION if "items" in mechanism.takes else 1)
    return ProbeNoise(bits, noise, noise.scale * step, noise.standard_deviation * step)


@dataclass(frozen=True)
class ProbeDraft:
    """Free choices of a plan whose events are each in one number; a way of exploring adds its bound, if it has one.

    Attributes
    ----------
    problem, placement, mechanism
        What the plan is for, where it plays, and what releases its numbers.
    options, batch_size
        What is the exploration's own, and the events of a round.
    known
        The noise of a number, if it is known already: it is the same for all drafts of a search.
    name, step, step_multiplier, delay, method, gap, max_calls, baseline
        As in `Plan`; the usual ones where they are None.
    """

    problem: Problem
    placement: Placement
    options: Any
    batch_size: int
    mechanism: Mechanism = PROBE_SUMS
    known: ProbeNoise | None = None
    name: str = "auto"
    step: float | None = None
    step_multiplier: float = 1.0
    delay: int = 0
    method: str = "auto"
    gap: float | None = None
    max_calls: int = 10_000
    baseline: float | None = None

    @cached_property
    def noise(self) -> ProbeNoise:
        """The noise of a number."""
        return self.known or probe_noise_of(self.problem, self.mechanism)

    @property
    def bound(self) -> float:
        """The bound alone: most drafts of a search are asked for no more."""
        return self.bound_at(self.noise.deviation)

    def bound_at(self, deviation: float) -> float:
        """Return what the plan bounds its regret by, with noise of such a deviation in numbers; infinite if by nothing.

        Parameters
        ----------
        deviation
            In units of loss.
        """
        return math.inf

    @property
    def first_gap(self) -> float:
        """The gap to which points are computed."""
        return 1e-6 * self.placement.working.diameter**2 if self.gap is None else self.gap

    def finish(self) -> Plan:
        """Derive noise and bound."""
        problem, placement, options = self.problem, self.placement, self.options
        return Plan(
            name=self.name,
            mechanism=mechanism_for(problem.privacy, self.mechanism).name,
            position=placement.position,
            horizon=problem.horizon,
            batch_size=min(problem.horizon, self.batch_size),
            step=self.step,
            delay=self.delay,
            method=self.method,
            gap=self.first_gap if options.steps else 0.0,
            max_calls=self.max_calls if options.steps else 0,
            baseline=problem.middle if self.baseline is None else self.baseline,
            bits=self.noise.bits,
            noise=self.noise.noise,
            noise_in_loss_units=self.noise.in_loss_units,
            no_learning=problem.horizon * problem.width,
            options=options,
            bound=self.bound,
            bound_without_privacy=self.bound_at(0.0),
            step_multiplier=self.step_multiplier,
            reach_from_start=placement.reach_from_start if placement.moved else None,
        )
