"""Choosing the parameters of a run.

`plan="auto"` takes posterior probes, which learn fastest where the world stays or drifts. `plan="worst-case"` minimises
explicit bounds, against any sequence of losses, over ways of exploring, mechanisms, positions and their
parameters. Both have the noise that the sensitivity argument of each mechanism requires and no more. `plan="paper"` is
Algorithm 1 to the letter, with its errors mended.
"""

import math
from collections.abc import Iterable
from dataclasses import fields, replace
from itertools import groupby
from typing import Any

from sottovoce._checks import choice, number, whole
from sottovoce.domains.oracles import watched_calls
from sottovoce.models import check_item_room, check_room
from sottovoce.oco.noisy_oco import METHODS
from sottovoce.plans import EXPLORATIONS, ExplorationKind, exploration_named
from sottovoce.plans.draft import ProbeDraft, largest_radius
from sottovoce.plans.kind import Check, Chosen
from sottovoce.plans.options import meant
from sottovoce.plans.paper import PAPER_CHOICES, paper_draft
from sottovoce.plans.plan import PLANS, Alternative, Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import most_bits, needed_noise
from sottovoce.plans.sphere import SPHERE
from sottovoce.privacy import MECHANISMS, PROBE_SUMS, Mechanism, mechanism_for, mechanism_named

_WANTED = {
    "features": "a linear model alone can use them: losses='linear' or integral=True, with exploration='posterior'",
    "prior": "posterior probes alone begin with it: exploration='posterior'",
    "segments": "posterior probes alone let segments inform each other: plan='auto', or exploration='posterior'",
}
_COMMON: dict[str, Check] = {
    "exploration": lambda problem, value: exploration_named(value).name,
    "mechanism": lambda problem, value: mechanism_named(value).name,
    "step": lambda problem, value: number("step", value, above=0),
    "delay": lambda problem, value: whole("delay", value, least=0),
    "method": lambda problem, value: choice("method", value, METHODS),
}


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
    choice("plan", plan, PLANS)
    with watched_calls(f"planning for {problem.domain!r}"):
        return _made(problem, plan, **overrides)


def _made(problem: Problem, plan: str, **overrides: Any) -> Plan:
    chosen = _checked(problem, overrides)
    if problem.feedback == "items" and plan != "auto":
        raise ValueError(
            f"plan={plan!r} knows one loss for each decision, and feedback='items' tells more: take plan='auto', or "
            "tell one loss for each decision"
        )
    if plan == "worst-case" and "exploration" in chosen and not EXPLORATIONS[chosen["exploration"]].bounded:
        raise ValueError(
            f"exploration={chosen['exploration']!r} has no bound for any sequence of losses, and plan='worst-case' is "
            "for these: take plan='auto', or leave exploration out"
        )
    best = _papers(problem, chosen) if plan == "paper" else _best(problem, plan, chosen)
    _refuse_foreign_options(best, chosen)
    check_knowledge(problem, best)
    return replace(best, name=plan, notes=(*best.notes, *_notes(problem, best)))


def _papers(problem: Problem, chosen: Chosen) -> Plan:
    if chosen.get("exploration") not in (None, SPHERE.name):
        raise ValueError(f"plan='paper' explores by {SPHERE.name}, got exploration={chosen['exploration']!r}")
    _refuse_others("plan='paper'", chosen, ("exploration", *PAPER_CHOICES))
    draft = paper_draft(problem, chosen.get("batch_size"))
    if "mechanism" in chosen:
        draft = replace(draft, mechanism=_fitting(SPHERE, mechanism_named(chosen["mechanism"])))
    return _cheapest(SPHERE, [draft], chosen)


def _best(problem: Problem, plan: str, chosen: Chosen) -> Plan:
    families = [
        _cheapest(kind, drafts, chosen)
        for kind, mechanism in _pairs(problem, plan, chosen)
        for _, drafts in groupby(kind.drafts(problem, mechanism, chosen), lambda one: one.placement.position)
    ]
    plans = sorted(families, key=_rank)
    if not plans:
        raise ValueError(
            f"no plan fits {', '.join(f'{name}={value!r}' for name, value in chosen.items())}; leave some out"
        )
    best = plans[0]
    common = _COMMON if best.options.steps else ("exploration", "mechanism")
    _refuse_others(f"exploration {best.exploration!r}", chosen, (*common, *EXPLORATIONS[best.exploration].choices))
    others = tuple(
        Alternative(one.what, one.bound / one.horizon, one.bound_without_privacy / one.horizon) for one in plans
    )
    return replace(best, alternatives=others if len(others) > 1 else ())


def _rank(plan: Plan) -> tuple[bool, float]:
    """Order of preference: by the bound, but for what the bounds do not see, which each kind says itself."""
    kind = EXPLORATIONS[plan.exploration]
    return not kind.preferred, plan.bound / kind.worth


def _pairs(problem: Problem, plan: str, chosen: Chosen) -> list[tuple[ExplorationKind, Mechanism]]:
    """Return ways of exploring with mechanisms: what was chosen, or all that may be taken unasked and fit each other.

    Those of plan="auto" come first, and then nothing else is looked at: what others would need to know of the set can
    take longer than a run.
    """
    wanted = chosen.get("exploration")
    kinds = [one for one in EXPLORATIONS.values() if (one.unasked if wanted is None else one.name == wanted)]
    pairs = [
        (kind, mechanism)
        for kind in kinds
        if kind.feedback == problem.feedback
        and problem.losses in kind.losses
        and kind.serves(problem)
        and (kind.bounded or plan != "worst-case")
        for mechanism in _mechanisms(problem, kind, chosen.get("mechanism"))
    ]
    return [pair for pair in pairs if pair[0].unasked == "auto"] or pairs


def _mechanisms(problem: Problem, kind: ExplorationKind, wanted: str | None) -> list[Mechanism]:
    if wanted is not None:
        mechanism = MECHANISMS[wanted]
        if not mechanism_for(problem.privacy, mechanism).serves(problem.privacy):
            able = ", ".join(one.name for one in MECHANISMS.values() if one.serves(problem.privacy))
            raise ValueError(f"mechanism {wanted!r} does not give {problem.privacy}; these do: {able}")
        return [mechanism] if kind.fits(mechanism) else []
    fitting = [one for one in MECHANISMS.values() if one.unasked and one.noised and kind.fits(one)]
    if not mechanism_for(problem.privacy, PROBE_SUMS).noised:
        # No noise is added here, and the name does not matter: the simplest, which releases rounds one by one.
        return [one for one in fitting if one.releases == "rounds"][:1]
    return [one for one in fitting if one.serves(problem.privacy)]


def _fitting(kind: ExplorationKind, mechanism: Mechanism) -> Mechanism:
    if not kind.fits(mechanism):
        names = ", ".join(one.name for one in MECHANISMS.values() if kind.fits(one))
        raise ValueError(f"mechanism={mechanism.name!r} does not fit exploration {kind.name!r}; these do: {names}")
    return mechanism


def _cheapest(kind: ExplorationKind, drafts: Iterable[ProbeDraft], chosen: Chosen) -> Plan:
    best = min((_as_chosen(draft, chosen) for draft in drafts), key=lambda draft: draft.bound)
    late = {name: value for name, value in kind.settled.items() if name not in chosen}
    return _as_chosen(best, late).finish()


def _as_chosen(draft: ProbeDraft, chosen: Chosen) -> ProbeDraft:
    """Put choices where they belong: into the draft, or into its options."""
    mine = {one.name for one in fields(draft)} - {"mechanism"}
    own = {one.name for one in fields(draft.options)}
    options = replace(draft.options, **{name: value for name, value in chosen.items() if name in own})
    return replace(draft, options=options, **{name: value for name, value in chosen.items() if name in mine})


def _checked(problem: Problem, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the choices that were made, checked; refuse names that nothing knows."""
    given = {name: value for name, value in overrides.items() if value is not None}
    known = _COMMON | {name: check for kind in EXPLORATIONS.values() for name, check in kind.choices.items()}
    unknown = sorted(set(given) - set(known))
    if unknown:
        question = meant(unknown[0], known)
        raise TypeError(f"unknown choice {', '.join(unknown)}{question or '; known are ' + ', '.join(known)}")
    chosen = {name: known[name](problem, value) for name, value in given.items()}
    if "exploration" in chosen:
        kind = EXPLORATIONS[chosen["exploration"]]
        if problem.feedback != kind.feedback:
            raise ValueError(f"exploration={kind.name!r} is for feedback={kind.feedback!r}, not {problem.feedback!r}")
        if problem.losses not in kind.losses:
            raise ValueError(f"exploration={kind.name!r} needs losses={kind.losses[0]!r}: {kind.why_not}")
        if not kind.serves(problem):
            raise ValueError(f"exploration={kind.name!r} does not serve here: {kind.why_not}")
        if "mechanism" in chosen:
            _fitting(kind, MECHANISMS[chosen["mechanism"]])
    return chosen


def _refuse_others(what: str, chosen: Chosen, known: Iterable[str]) -> None:
    """Refuse choices that do not apply, with the names of those that do, and of what they would apply to."""
    known = tuple(known)
    for name in chosen:
        if name not in known:
            others = [kind.name for kind in EXPLORATIONS.values() if name in kind.choices]
            elsewhere = f"; it is a choice of {' and '.join(f'exploration={one!r}' for one in others)}"
            takes = EXPLORATIONS[others[0]].unasked if others else None
            if takes is not None:
                elsewhere += (
                    ", which plan='auto' takes" if takes == "auto" else f", of which plan={takes!r} takes the best"
                )
            raise ValueError(f"{name} does not apply to {what}, which has {', '.join(known)}{elsewhere}")


def _refuse_foreign_options(made: Plan, chosen: Chosen) -> None:
    """Refuse options of a mechanism that is not in use; where no noise is added at all, none of them matters."""
    mechanism = mechanism_named(made.mechanism)
    for name in chosen if mechanism.noised else ():
        owners = [one.name for one in MECHANISMS.values() if name in one.options]
        if owners and name not in mechanism.options:
            raise ValueError(f"{name} is an option of mechanism {' and '.join(owners)}, and this is {made.mechanism}")


def _notes(problem: Problem, plan: Plan) -> tuple[str, ...]:
    notes = []
    if plan.name == "paper" and plan.radius >= largest_radius(problem, problem.placement("plain")):
        notes.append("the paper's radius does not fit into the set at this horizon: it was cut, and its bound is void")
    if plan.vacuous and not plan.options.order_only:
        notes.append("a bound above the cost of never learning says nothing: a rehearsal says what to expect")
    if plan.name == "paper" and problem.privacy.private:
        notes.append("the paper's noise scales are far above what privacy needs; plan='auto' uses what it needs")
    return tuple(notes)


# ------------------------------------------------------------------ the last look at a plan before it runs


def check_knowledge(problem: Problem, plan: Plan) -> None:
    """Refuse what is known beforehand where the plan makes no use of it."""
    for name, wanted in _WANTED.items():
        if getattr(problem, name) is not None and name not in plan.options.begins_with:
            raise ValueError(f"{name} is of no use to this plan ({plan.what}): {wanted}; or leave {name} out")
    if problem.segments is not None:
        check = check_item_room if plan.exploration == "items" else check_room
        check(problem.segments, len(problem.names or ()) or problem.domain.dimension)


def check_plan(problem: Problem, plan: Plan) -> None:
    """Refuse a plan whose noise is less than its guarantee needs, or whose sums could overflow.

    Every optimizer passes through here, whoever made the plan.
    """
    mechanism, exploration = mechanism_named(plan.mechanism), exploration_named(plan.exploration)
    if exploration.feedback != problem.feedback:
        raise ValueError(f"the plan is for feedback={exploration.feedback!r}, not {problem.feedback!r}; make it anew")
    check_knowledge(problem, plan)
    if plan.bits > most_bits(problem, mechanism):
        raise ValueError(f"bits = {plan.bits} of the plan could overflow over {problem.horizon} events; use fewer")
    if not mechanism.serves(problem.privacy):
        raise ValueError(
            f"mechanism {plan.mechanism!r} of the plan does not give {problem.privacy}: the plan was made for another "
            "problem; make it anew"
        )
    if not exploration.fits(mechanism):
        raise ValueError(f"{plan.mechanism} releases {mechanism.takes[0]}, and {plan.exploration} has none of these")
    others = {name for one in MECHANISMS.values() for name in one.options} - set(mechanism.options)
    if any(getattr(plan.options, name, False) for name in others):
        raise ValueError(f"{' and '.join(sorted(others))} of the plan does not apply to {plan.mechanism}; make it anew")
    dimension = problem.placement(plan.position).working.dimension
    least = needed_noise(problem, mechanism, bits=plan.bits, rounds=plan.rounds, dimension=dimension)
    if least is None:
        return
    if plan.noise is None or plan.noise.family != least.family or not least.scale <= plan.noise.scale < math.inf:
        raise ValueError(
            f"the plan's noise is {plan.noise}, but {problem.privacy} needs at least {least} here: "
            "the plan was made for another problem; make it anew with the same arguments"
        )
