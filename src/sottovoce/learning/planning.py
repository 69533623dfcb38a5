"""Choosing the parameters of a run, and saying why.

`plan="paper"` is Algorithm 1 to the letter, with its errors mended. `plan="auto"` minimises the explicit bounds of
bounds.py over ways of exploring, mechanisms, positions and their parameters, with the noise that the sensitivity
argument of each mechanism requires and no more.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from sottovoce._checks import choice, number, whole
from sottovoce.learning.design_plans import design_plans
from sottovoce.learning.frame_plans import FRAME_MULTIPLIER, FrameDraft, frame_plans
from sottovoce.learning.mechanisms import MECHANISMS
from sottovoce.learning.noisy_oco import METHODS
from sottovoce.learning.paper_plan import paper_draft
from sottovoce.learning.plan import Alternative, Plan
from sottovoce.learning.problem import Problem
from sottovoce.learning.sphere_plans import largest_radius, sphere_plans
from sottovoce.privacy import LocalDP, PureDP

__all__ = ["make_plan"]

EXPLORATIONS = ("sphere", "frames", "designs")
_PAIRING = 1.5  # what pairing is worth against a bound that does not know of it
_LOPSIDED = 1.5  # by how much rounding must improve outer over inner radius to be worth its coordinates
_ROUNDING_UP_TO = 400  # dimensions: a design costs the cube of them


def make_plan(problem: Problem, plan: str | Plan = "auto", **overrides: Any) -> Plan:
    """Return a plan for a problem; single choices can be overridden by name (see `PrivateBandit`).

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem(sv.domains.Ball(3), 10_000, (0.0, 2.0), sv.NoPrivacy(), play="around")
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
        fields = {name: value for name, value in chosen.items() if name in _SPHERE_FIELDS}
        best = replace(paper_draft(problem, chosen.get("batch_size")), **fields).finish()
        return replace(best, notes=_notes(problem, best))
    return _best(problem, chosen)


def _best(problem: Problem, chosen: dict[str, Any]) -> Plan:
    families = [_cheapest(drafts, chosen) for drafts in _families(problem, chosen)]
    plans = sorted((plan for plan in families if plan is not None), key=_rank)
    if not plans:
        raise ValueError(
            f"no plan fits {', '.join(f'{name}={value!r}' for name, value in chosen.items())}; leave some out"
        )
    best = plans[0]
    others = tuple(
        Alternative(plan.what, plan.bound / plan.horizon, plan.bound_without_privacy / plan.horizon) for plan in plans
    )
    return replace(best, alternatives=others if len(others) > 1 else (), notes=_notes(problem, best))


def _rank(plan: Plan) -> tuple[bool, float]:
    """Order of preference: by the bound, but for what the bounds do not see.

    Designs are the method for linear losses, whose worst case is of another kind. Frames cancel the mean of the losses,
    for which spheres pay in full; the bounds, made for the worst mean and the worst spread, show nothing of it.
    """
    return plan.exploration != "designs", plan.bound / (_PAIRING if plan.exploration == "frames" else 1.0)


def _families(problem: Problem, chosen: dict[str, Any]) -> Iterable[Iterable[Any]]:
    """One iterable of drafts for each way of exploring, mechanism and position that is allowed."""
    exploration, mechanism, position = (chosen.get(name) for name in ("exploration", "mechanism", "position"))
    positions = [position] if position else _positions(problem)
    if (
        exploration in (None, "designs")
        and problem.losses == "linear"
        and mechanism in (None, "probe-sums", "none", "local")
    ):
        yield design_plans(problem, chosen.get("rate"), chosen.get("probe_events"))
    for place in positions:
        if exploration in (None, "frames") and mechanism in (None, "probe-sums", "none", "local"):
            yield frame_plans(problem, place, chosen.get("batch_size"), chosen.get("directions"))
        if exploration in (None, "sphere") and mechanism != "probe-sums":
            for name in [mechanism] if mechanism else _running_sums(problem):
                yield sphere_plans(problem, place, name, chosen.get("batch_size"))


def _running_sums(problem: Problem) -> tuple[str, ...]:
    """Mechanisms for the sums of spheres; Toeplitz has Gaussian noise only."""
    if not problem.privacy.private or isinstance(problem.privacy, LocalDP):
        return ("fresh",)  # the name does not matter: no noise is added here
    return tuple(name for name in MECHANISMS if name != "toeplitz" or not isinstance(problem.privacy, PureDP))


def _positions(problem: Problem) -> list[str]:
    """The rounded position where it makes the set rounder by enough."""
    domain = problem.domain
    plain = domain.outer_radius / domain.inner_radius
    if problem.play == "around" or plain <= 2.0 or domain.affine_dimension > _ROUNDING_UP_TO:
        return ["plain"]
    rounded = problem.stage("rounded")
    better = rounded.reach / rounded.working.inner_radius * _LOPSIDED < plain
    return ["plain", "rounded"] if better else ["plain"]


_DRAFT_FIELDS = (
    "radius",
    "batch_size",
    "step",
    "delay",
    "method",
    "padding",
    "directions",
    "rate",
    "probe_events",
    "step_multiplier",
    "decay",
    "growth",
    "control_variate",
    "reuse",
    "memory",
)
_SPHERE_FIELDS = ("radius", "batch_size", "step", "delay", "method", "padding", "mechanism")


def _cheapest(drafts: Iterable[Any], chosen: dict[str, Any]) -> Plan | None:
    best: Plan | None = None
    best_draft: Any = None
    for draft in drafts:
        fields = {name: value for name, value in chosen.items() if name in _DRAFT_FIELDS and hasattr(draft, name)}
        draft = replace(draft, **fields)
        plan = draft.finish()
        if best is None or plan.bound < best.bound:
            best, best_draft = plan, draft
    if isinstance(best_draft, FrameDraft) and "step_multiplier" not in chosen:  # after the search, not within it
        return replace(best_draft, step_multiplier=FRAME_MULTIPLIER).finish()
    return best


def _checked(problem: Problem, overrides: dict[str, Any]) -> dict[str, Any]:
    checks: dict[str, Callable[[Any], Any]] = {
        "radius": lambda value: number("radius", value, above=0),
        "batch_size": lambda value: whole("batch_size", value, most=problem.horizon),
        "step": lambda value: number("step", value, above=0),
        "step_multiplier": lambda value: number("step_multiplier", value, above=0),
        "delay": lambda value: whole("delay", value, least=0),
        "method": lambda value: choice("method", value, METHODS),
        "padding": bool,
        "exploration": lambda value: choice("exploration", value, EXPLORATIONS),
        "mechanism": lambda value: choice("mechanism", value, ("probe-sums", *MECHANISMS)),
        "position": lambda value: choice("position", value, ("plain", "rounded")),
        "directions": lambda value: whole("directions", value, most=problem.domain.affine_dimension),
        "rate": lambda value: number("rate", value, above=0, at_most=1),
        "probe_events": lambda value: whole("probe_events", value, most=problem.horizon),
        "decay": lambda value: number("decay", value, above=-1e-12, at_most=0.9),
        "growth": lambda value: number("growth", value, above=-1e-12, at_most=0.9),
        "control_variate": bool,
        "reuse": bool,
        "memory": lambda value: float(value) if value == float("inf") else number("memory", value, above=1),
    }
    given = {name: value for name, value in overrides.items() if value is not None}
    unknown = set(given) - set(checks)
    if unknown:
        raise TypeError(f"unknown choice {', '.join(sorted(unknown))}; known are {', '.join(checks)}")
    if given.get("exploration") == "designs" and problem.losses != "linear":
        raise ValueError("exploration='designs' needs losses='linear': probes say nothing about the point otherwise")
    return {name: checks[name](value) for name, value in given.items()}


def _notes(problem: Problem, plan: Plan) -> tuple[str, ...]:
    notes = []
    if plan.name == "paper" and (plan.radius or 0.0) >= largest_radius(problem, problem.stage("plain")):
        notes.append("the paper's radius does not fit into the set at this horizon: it was cut, and its bound is void")
    if plan.vacuous:
        notes.append("the bound is above the cost of never learning: expect little or nothing to be learned")
    if plan.name == "paper" and problem.privacy.private:
        notes.append("the paper's noise scales are far above what privacy needs; plan='auto' uses what it needs")
    return tuple(notes)
