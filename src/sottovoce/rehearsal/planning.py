"""What to expect of a plan: beforehand (`sv.plan`), or once a run is under way."""

from dataclasses import replace
from typing import Any, Unpack

from sottovoce._checks import number
from sottovoce._wait_notice import watched
from sottovoce.domains import Domain
from sottovoce.learning import Plan
from sottovoce.learning.epoch import FIRST_EPOCH
from sottovoce.learning.seen_world import SeenWorld
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.forecast import Forecast
from sottovoce.plans.options import OptimizerOptions, separate, spelled_out
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Guarantee
from sottovoce.privacy.promise import cautions_of
from sottovoce.rehearsal.rehearsing import NotRehearsed, rehearsed

_UNKNOWN = "what was released so far does not tell good decisions from bad ones: any of these worlds may be yours"
_LEAST, _MOST, _MOST_SCATTER = 1e-3, 0.9, 0.5
_EPOCHS = "no horizon: this is the first epoch; each later one is about as long as all before it"


@spelled_out
def plan(
    domain: Domain,
    horizon: int | None,
    loss_range: tuple[float, float],
    privacy: Guarantee,
    *,
    rehearse: bool | float = True,
    contrast: float | None = None,
    scatter: float | None = None,
    **options: Unpack[OptimizerOptions],
) -> Plan:
    """Return the plan that `PrivateBandit` would follow, and what to expect of it, before anything is run; `print` it.

    The plan is rehearsed: played in a few invented worlds over the same set, with simulated noise, in private and
    without privacy. `plan.forecast` says what came of it, with its spread: how much is learned, what privacy costs, how
    long a run must be. That takes a few seconds, is the same on every call, reads no data and costs no privacy. A bound
    is something else: `plan.bound` holds for the worst losses there are.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, **options
        As for `PrivateBandit`.
    rehearse
        False leaves the rehearsal out. A number multiplies the work that it may take.
    contrast, scatter
        What you know of your world, as shares of the loss range; a forecast that knows it is surer. How much better
        the best decision is than an average one; and the standard deviation of people's losses at one decision.

    Returns
    -------
    Plan
        With `forecast`, unless that was left out or would take too long: then a note says so.

    Examples
    --------
    >>> import sottovoce as sv
    >>> arms = sv.domains.Simplex(4)
    >>> facts = {"losses": "linear", "integral": True}
    >>> chosen = sv.plan(arms, 3_000, (0.0, 1.0), sv.PureDP(epsilon=1.0), rehearse=0.1, **facts)
    >>> chosen.forecast.share.central < 0.5  # of the regret of never learning
    True
    >>> print(str(chosen).splitlines()[0])
    Forecast for 3,000 events, if the best decision is better than an average one by so much of the loss range
    """
    times = 1.0 if isinstance(rehearse, bool) else number("rehearse", rehearse, above=0.0, at_most=1000.0)
    arguments, choices = separate(options)
    wanted: Any = arguments.pop("plan", "auto")
    problem = Problem(domain, FIRST_EPOCH if horizon is None else horizon, loss_range, privacy, **arguments)
    made = make_plan(problem, wanted, **choices)
    notes = (*cautions_of(privacy, horizon), *made.notes, *((_EPOCHS,) if horizon is None else ()))
    made = replace(made, notes=notes)
    if not rehearse:
        return made
    endless = horizon is None
    try:
        with watched("rehearsing the plan in invented worlds; rehearse=False leaves it out"):
            found = rehearsed(problem, wanted, choices, contrast, scatter, endless=endless, times=times)
    except NotRehearsed as why:
        return replace(made, notes=(*made.notes, str(why)))
    return replace(made, forecast=found)


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
        scatter = min(_MOST_SCATTER, max(_LEAST, seen.scatter))
        low, high = (max(0.0, seen.contrast + sign * 1.96 * seen.deviation) for sign in (-1, 1))
        note = (
            f"by what was released, the best decision gains {contrast:.2g} ({low:.2g} to {high:.2g}) of the loss "
            f"range, and losses scatter by {scatter:.2g}"
        )
    found = rehearsed(problem, wanted, choices, contrast, scatter, endless=horizon is None, times=times)
    return replace(found, notes=(*found.notes, note))
