"""What a run that is under way should come to: rehearsed in worlds like the one that its released numbers show."""

from dataclasses import replace
from typing import Any

from sottovoce.learning.seen_world import SeenWorld
from sottovoce.plans.forecast import Forecast
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.rehearsal.rehearsing import OPEN_ENDED, rehearsed

_UNKNOWN = "what was released so far does not tell good decisions from bad ones: any of these worlds may be yours"
_LEAST, _MOST, _MOST_SCATTER = 1e-3, 0.9, 0.5


def forecast_under_way(
    problem: Problem,
    plan: str | Plan,
    choices: dict[str, Any],
    seen: SeenWorld | None,
    *,
    horizon: int | None,
    times: float = 1.0,
) -> Forecast:
    """Return what to expect of a whole run, as far as its released numbers say which world it is in.

    Parameters
    ----------
    problem, plan, choices
        What the optimizer was made with.
    seen
        What released numbers say of the world; None if nothing was released.
    horizon
        Events of the run; None if that is not known.
    times
        What the work that it may take is multiplied by.
    """
    wanted = plan if isinstance(plan, str) else plan.name
    contrast = scatter = None
    note = _UNKNOWN
    if seen is not None and seen.told_apart:
        contrast = min(_MOST, max(_LEAST, seen.contrast))
        scatter = None if seen.scatter is None else min(_MOST_SCATTER, max(_LEAST, seen.scatter))
        low, high = (max(0.0, seen.contrast + sign * 1.96 * seen.deviation) for sign in (-1, 1))
        note = (
            f"by what was released, the best decision gains {contrast:.2g} ({low:.2g} to {high:.2g}) of the loss range"
        )
        note += "" if scatter is None else f", and losses scatter by {scatter:.2g}"
    problem = replace(problem, horizon=OPEN_ENDED if horizon is None else horizon)
    known: dict[str, Any] = {"contrast": contrast, "scatter": scatter, "endless": horizon is None, "times": times}
    _, found = rehearsed(problem, wanted, choices, **known)
    return replace(found, notes=(*found.notes, note))
