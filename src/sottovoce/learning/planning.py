"""Choosing the parameters of a run, and saying why.

`plan="paper"` is Algorithm 1 to the letter, with its errors mended. `plan="auto"` keeps the algorithm and chooses the
radius, the batch size and the step by minimising the explicit bound (bounds.py), with the noise that the sensitivity
argument of tree.py requires and no more.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sottovoce._checks import choice, number, whole
from sottovoce.exploration import Sphere
from sottovoce.learning.bounds import RegretBound
from sottovoce.learning.estimates import OnePointGradient
from sottovoce.learning.noisy_oco import METHODS
from sottovoce.learning.plan import Plan
from sottovoce.learning.problem import Problem
from sottovoce.privacy import (
    ApproxDP,
    DirectionGrid,
    LossGrid,
    Noise,
    NoPrivacy,
    PureDP,
    TreeSensitivity,
    grids_for,
    tree_noise,
)

__all__ = ["check_plan", "make_plan", "sensitivity_of"]

_MOST_ROUNDS = 1024
_LARGEST_SCALE = 2.0**55  # of noise, in steps of the grid


@dataclass(frozen=True)
class _Draft:
    """Free choices of a plan, before noise and bound follow from them."""

    name: str
    batch_size: int
    radius: float
    delay: int
    method: str
    gap: float
    max_calls: int
    baseline: float
    step: float | None = None  # None: the best for the bound
    paper_noise: bool = False
    padding: bool = False


def make_plan(problem: Problem, plan: str | Plan = "auto", **overrides: Any) -> Plan:
    """Return a plan for a problem; radius, batch_size, step, delay, method, padding override single choices.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem.of(sv.domains.Ball(3), 10_000, (0.0, 2.0), sv.NoPrivacy(), play="around")
    >>> plan = make_plan(problem, "paper")
    >>> plan.rounds, plan.batch_size, round(plan.radius, 4)
    (100, 100, 0.3464)
    """
    if isinstance(plan, Plan):
        if plan.horizon != problem.horizon:
            raise ValueError(f"plan.horizon is {plan.horizon}, but horizon is {problem.horizon}; make the plan anew")
        if any(value is not None for value in overrides.values()):
            raise ValueError("single choices cannot override a ready Plan; make the plan with them, or leave them out")
        return plan
    choice("plan", plan, ("auto", "paper"))
    chosen = _checked(problem, overrides)
    if plan == "paper":
        return _finish(problem, replace(_paper_draft(problem, chosen.get("batch_size")), **chosen))
    drafts = (replace(draft, **chosen) for draft in _auto_drafts(problem, chosen.get("batch_size")))
    return min((_finish(problem, draft) for draft in drafts), key=lambda finished: finished.bound)


def check_plan(problem: Problem, plan: Plan) -> None:
    """Refuse a plan whose noise is less than its guarantee needs, or whose sums could overflow.

    Every optimizer passes through here, whoever made the plan.
    """
    if plan.bits > grids_for(problem.loss_range, problem.horizon)[0].bits:
        raise ValueError(f"bits = {plan.bits} of the plan could overflow over {problem.horizon} events; use fewer")
    if not problem.privacy.private:
        return
    least = tree_noise(problem.privacy, sensitivity_of(problem, plan.batch_size, plan.bits))
    if plan.noise is None or plan.noise.family != least.family or plan.noise.scale < least.scale:
        raise ValueError(
            f"the plan's noise is {plan.noise}, but {problem.privacy} needs at least {least} here: "
            "the plan was made for another problem; make it anew with the same arguments"
        )


def _checked(problem: Problem, overrides: dict[str, Any]) -> dict[str, Any]:
    checks: dict[str, Callable[[Any], Any]] = {
        "radius": lambda value: number("radius", value, above=0),
        "batch_size": lambda value: whole("batch_size", value, most=problem.horizon),
        "step": lambda value: number("step", value, above=0),
        "delay": lambda value: whole("delay", value, least=0),
        "method": lambda value: choice("method", value, METHODS),
        "padding": bool,
    }
    given = {name: value for name, value in overrides.items() if value is not None}
    unknown = set(given) - set(checks)
    if unknown:
        raise TypeError(f"unknown choice {', '.join(sorted(unknown))}; known are {', '.join(checks)}")
    return {name: checks[name](value) for name, value in given.items()}


def _paper_draft(problem: Problem, batch_size: int | None) -> _Draft:
    """Line 1 of Algorithm 1: T_round = T^(1/2), eta = D/(T^(3/4) n^(1/2) L), zeta = D n^(1/2)/T^(1/4)."""
    events, d, diameter = problem.horizon, problem.domain.affine_dimension, problem.domain.diameter
    batch = batch_size or math.ceil(events / math.ceil(math.sqrt(events)))
    return _Draft(
        name="paper",
        batch_size=batch,
        radius=min(diameter * math.sqrt(d) / events**0.25, _largest_radius(problem)),
        step=diameter / (events**0.75 * math.sqrt(d) * problem.lipschitz),
        delay=1,
        method="conditional-gradient",
        gap=diameter**2 / batch,  # eps_cg = D/T_batch^(1/2) is a distance; a gap of its square certifies it
        max_calls=20 * batch + 100,  # Lemma C.4: 20 T_batch iterations reach that distance
        baseline=0.0,
        paper_noise=True,
    )


def _auto_drafts(problem: Problem, batch_size: int | None) -> Iterator[_Draft]:
    """Candidates: radius and batch size on logarithmic grids, the step that is best for each."""
    largest = _largest_radius(problem)
    diameter = problem.domain.diameter
    low, high = problem.loss_range
    for batch in [batch_size] if batch_size else _batch_sizes(problem.horizon):
        for exponent in range(20):
            yield _Draft(
                name="auto",
                batch_size=batch,
                radius=largest * 10 ** (-exponent / 8),
                delay=0,
                method="auto",
                gap=1e-6 * diameter**2,
                max_calls=10_000,
                baseline=(low + high) / 2,
            )


def _batch_sizes(horizon: int) -> list[int]:
    """Powers of sqrt(2), of at least what leaves `_MOST_ROUNDS` rounds: more rounds gain next to nothing, slowly."""
    least = math.ceil(horizon / _MOST_ROUNDS)
    sizes = {min(horizon, max(least, round(2 ** (exponent / 2)))) for exponent in range(2 * horizon.bit_length())}
    return sorted(sizes)


def _largest_radius(problem: Problem) -> float:
    return problem.domain.inner_radius / 2 if problem.play == "inside" else problem.domain.diameter


def _finish(problem: Problem, draft: _Draft) -> Plan:
    """Derive noise, step and bound from the free choices."""
    sphere = Sphere(problem.domain, draft.radius, problem.play)
    bits, noise, unit = _noise(problem, draft, sphere.scale)
    bound = _bound(problem, draft, sphere.scale, noise, unit)
    step = bound.best_step() if draft.step is None else draft.step
    no_learning = problem.horizon * problem.lipschitz * problem.domain.outer_radius
    plan = Plan(
        name=draft.name,
        horizon=problem.horizon,
        batch_size=draft.batch_size,
        radius=draft.radius,
        step=step,
        delay=draft.delay,
        method=draft.method,
        gap=draft.gap,
        max_calls=draft.max_calls,
        baseline=draft.baseline,
        bits=bits,
        noise=noise,
        padding=draft.padding,
        noise_in_gradient_units=noise.scale * unit if noise else 0.0,
        bound=bound.value(step),
        no_learning=no_learning,
    )
    return replace(plan, notes=_notes(problem, plan))


def sensitivity_of(problem: Problem, batch_size: int, bits: int) -> TreeSensitivity:
    """One loss moves one round's vector by at most (steps of the loss grid) * (norm of a rounded direction)."""
    n = problem.domain.dimension
    steps, directions = LossGrid(*problem.loss_range, bits=bits).steps, DirectionGrid(bits=bits)
    return TreeSensitivity(
        l1=steps * directions.largest_l1(n),
        l2=steps * directions.largest_l2(n),
        length=math.ceil(problem.horizon / batch_size),
        dimension=n,
    )


def _noise(problem: Problem, draft: _Draft, scale: float) -> tuple[int, Noise | None, float]:
    """Return the bits of the grids, the noise, and the worth of one step of the product grid in gradient units."""
    losses, directions = grids_for(problem.loss_range, problem.horizon)
    for bits in range(losses.bits, 0, -1):
        unit = OnePointGradient(scale, replace(losses, bits=bits), replace(directions, bits=bits)).unit
        if not problem.privacy.private:
            return bits, None, unit
        noise = tree_noise(problem.privacy, sensitivity_of(problem, draft.batch_size, bits))
        if draft.paper_noise:
            noise = replace(noise, scale=max(noise.scale, _paper_scale(problem) / unit))
        if noise.scale <= _LARGEST_SCALE:
            return bits, noise, unit
    raise ValueError(f"{problem.privacy} needs noise that 64-bit integers cannot hold; raise epsilon")


def _paper_scale(problem: Problem) -> float:
    """Lemmas 5.1 and 5.4, in gradient units; 0 where the paper has none. Levels of the tree are binary logarithms."""
    privacy, events, n, constant = problem.privacy, problem.horizon, problem.domain.dimension, problem.lipschitz
    levels = math.log2(max(2, events))
    if isinstance(privacy, PureDP):
        return math.sqrt(events) * n * constant * levels / privacy.epsilon
    if isinstance(privacy, ApproxDP):
        spread = math.log((n + events) / privacy.delta)
        concentration = spread + math.sqrt((1 + math.sqrt(events) / n) * spread)
        size = events**0.25 * math.sqrt(n) * constant * concentration
        return float(size * levels * math.log(events / privacy.delta) / privacy.epsilon)
    return 0.0


def _bound(problem: Problem, draft: _Draft, scale: float, noise: Noise | None, unit: float) -> RegretBound:
    domain = problem.domain
    levels = sensitivity_of(problem, draft.batch_size, 1).levels
    deviation = max(abs(problem.loss_range[0] - draft.baseline), abs(problem.loss_range[1] - draft.baseline))
    around = 1.0 if problem.play == "around" else 1.0 + domain.outer_radius / domain.inner_radius
    return RegretBound(
        events=problem.horizon,
        batch_size=draft.batch_size,
        outer_radius=domain.outer_radius,
        estimate_scale=scale,
        loss_deviation=deviation,
        lipschitz=problem.lipschitz,
        # Only the part of the noise along the set matters, and the root mean square bounds the mean of the norm.
        sum_noise=math.sqrt(levels * domain.affine_dimension) * noise.standard_deviation * unit if noise else 0.0,
        delay=draft.delay,
        point_error=math.sqrt(draft.gap),
        smoothing=around * draft.radius,
    )


def _notes(problem: Problem, plan: Plan) -> tuple[str, ...]:
    notes = []
    if plan.name == "paper" and plan.radius >= _largest_radius(problem):
        notes.append(
            "the paper's radius does not fit into the set at this horizon; it was cut, and its bound does not apply"
        )
    if plan.vacuous:
        notes.append("the bound is above the cost of never learning: expect little or nothing to be learned")
    if plan.name == "paper" and not isinstance(problem.privacy, NoPrivacy):
        notes.append("the paper's noise scales are far above what privacy needs; plan='auto' uses what it needs")
    return tuple(notes)
