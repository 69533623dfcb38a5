"""Bounds before anything is run: plans for the asking, over ranges of budgets or horizons too."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.options import OptimizerOptions, separate, spelled_out
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Guarantee, NoPrivacy

Progress = Callable[[int, int], None]
LONGEST = 10**15
"""Horizons that are considered at most: nobody has as many events."""
_POINTS, _DECADES = 9, 2.0  # of a curve: how many, and how far to either side
_CLOSE = 1.04  # by how much the horizon that is needed may be overstated, before it is rounded up


@spelled_out
def plan(
    domain: Domain,
    horizon: int,
    loss_range: tuple[float, float],
    privacy: Guarantee,
    **options: Unpack[OptimizerOptions],
) -> Plan:
    """Return the plan that `PrivateBandit` would follow, without running anything; `sv.plan` rehearses it as well.

    Where the horizon is too short for its bound to say anything, the plan's notes say how long it would have to be.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, **options
        As for `PrivateBandit`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.plans.outlook import plan
    >>> chosen = plan(sv.domains.Ball(3), 1_000_000, (0.0, 1.0), sv.PureDP(epsilon=1.0))
    >>> chosen.exploration, chosen.vacuous, round(chosen.price_of_privacy, 1)
    ('posterior', False, 1.0)
    >>> print(plan(sv.domains.Ball(3), 100, (0.0, 1.0), sv.PureDP(epsilon=1.0), plan="worst-case").notes[-1][:66])
    too few events for this bound to say anything: it would take about
    """
    arguments, choices = separate(options)
    wanted = arguments.pop("plan", "auto")
    problem = Problem(domain, horizon, loss_range, privacy, **arguments)
    made = make_plan(problem, wanted, **choices)
    if not made.vacuous or made.options.order_only:
        return made
    return replace(made, notes=(*made.notes, too_short(horizon_needed(problem, wanted, **choices))))


def too_short(needed: int | None) -> str:
    """Say in words that the horizon is too short for a bound, and how long it would have to be."""
    enough = f"not even {LONGEST:.0e} would do" if needed is None else f"it would take about {needed:,}"
    return f"too few events for this bound to say anything: {enough}"


def horizon_needed(problem: Problem, plan: str = "auto", **choices: Any) -> int | None:
    """Return the least horizon, to two digits, at which the plan promises more than never learning; None if none does.

    Parameters
    ----------
    problem
        Its own horizon is where the search starts, and does not matter otherwise.
    plan, **choices
        As for `make_plan`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> needed = horizon_needed(Problem(sv.domains.Ball(3), 100, (0.0, 1.0), sv.PureDP(epsilon=1.0)))
    >>> plan(sv.domains.Ball(3), needed, (0.0, 1.0), sv.PureDP(epsilon=1.0)).vacuous
    False
    """
    least = max(1, *(choices.get(name) or 1 for name in ("batch_size", "probe_events")))
    return horizon_that_learns(lambda one: make_plan(one, plan, **choices), problem, least)


def horizon_that_learns(plan_for: Callable[[Problem], Plan], problem: Problem, least: int = 1) -> int | None:
    """Return the least horizon, to two digits and `least` or more, at which plans promise more than never learning."""

    def excess(horizon: int) -> float:
        made = plan_for(replace(problem, horizon=horizon))
        return made.bound / made.no_learning

    horizon = max(least, problem.horizon)
    if excess(horizon) == math.inf:
        return None
    while (over := excess(horizon)) < 1 and horizon > least:  # begin where nothing is learned
        horizon = max(least, int(horizon * min(0.5, over**4)))
    while over >= 1:
        # A bound per event falls no faster than the root of the horizon, so this does not step over the answer.
        horizon = math.ceil(horizon * max(_CLOSE, over**2))
        if horizon > LONGEST:
            return None
        over = excess(horizon)
    return _two_digits(horizon)


def _two_digits(count: int) -> int:
    """Round up to two digits."""
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit


@dataclass(frozen=True, eq=False)
class Outlook:
    """How the bound changes with the budget, at the plan's horizon, and with the horizon, at the plan's budget.

    All values are per event, and none is above the range of the losses: nothing can cost more.

    Attributes
    ----------
    plan, privacy
        The plan itself and the guarantee.
    budget_name, budgets, by_budget
        "epsilon" or "rho", its values, and the bounds; these never rise with the budget, because less may be used.
    horizons, by_horizon
        Horizons, and the bounds.
    without_privacy
        Bounds without privacy, at these horizons: of the best plan that was found, the private one included.
    never_learning
        What never learning costs at most.
    """

    plan: Plan
    privacy: Guarantee
    budget_name: str
    budgets: Floats
    by_budget: Floats
    horizons: Integers
    by_horizon: Floats
    without_privacy: Floats
    never_learning: float

    @property
    def bound(self) -> float:
        """The plan's own bound, per event."""
        return float(self.by_horizon[self.horizons == self.plan.horizon][0])

    @property
    def without_privacy_here(self) -> float:
        """The bound without privacy at the plan's own horizon."""
        return float(self.without_privacy[self.horizons == self.plan.horizon][0])

    @property
    def budget(self) -> float:
        """The plan's own budget."""
        return float(getattr(self.privacy, self.budget_name))


def outlook(
    problem: Problem, plan: str = "auto", *, points: int = _POINTS, progress: Progress | None = None, **choices: Any
) -> Outlook:
    """Plan for budgets and horizons up to a hundred times as large and as small.

    Parameters
    ----------
    problem, plan, **choices
        As for `make_plan`.
    points
        Of each curve; the problem's own horizon is always among them.
    progress
        Called with the number of plans that are made, and of all.

    Returns
    -------
    Outlook
        Without the budgets and horizons for which there is no plan.

    Examples
    --------
    >>> import sottovoce as sv
    >>> found = outlook(Problem(sv.domains.Ball(3), 100_000, (0.0, 1.0), sv.PureDP(epsilon=1.0)), points=3)
    >>> found.budgets.tolist(), found.horizons.tolist()
    ([0.01, 1.0, 100.0], [1000, 100000, 10000000])
    >>> bool((np.diff(found.by_budget) < 0).all() and (np.diff(found.by_horizon) < 0).all())
    True
    """
    name = budget_name(problem.privacy)
    factors = 10.0 ** np.linspace(-_DECADES, _DECADES, whole("points", points))
    budgets = getattr(problem.privacy, name) * factors
    lengths = np.clip(np.rint(problem.horizon * factors), 1, LONGEST).astype(np.int64)
    lengths = np.unique(np.append(lengths, problem.horizon))
    own = make_plan(problem, plan, **choices)
    wanted = [
        *(replace(problem, privacy=with_budget(problem.privacy, name, float(budget))) for budget in budgets),
        *(replace(problem, horizon=int(length)) for length in lengths),
        *(replace(problem, privacy=NoPrivacy(), horizon=int(length)) for length in lengths),
    ]
    bounds = np.empty(len(wanted))
    for done, one in enumerate(wanted):
        bounds[done] = _bound(one, plan, choices)
        if progress is not None:
            progress(done + 1, len(wanted))
    bounds = np.minimum(bounds, problem.width)  # nothing can cost more
    by_budget, by_horizon, free = np.split(bounds, [len(budgets), len(budgets) + len(lengths)])
    # Designs explore as little as does well in simulation, less than the bound would ask for, and the less the larger
    # the budget: their bound has its least value at some budget, and a plan for that one serves all larger ones.
    by_budget = np.where(np.isnan(by_budget), np.nan, np.fmin.accumulate(by_budget))
    here = lengths == problem.horizon
    free = np.minimum(free, by_horizon)  # what can be done in private can be done without
    free[here] = np.nanmin([*free[here], *by_budget])
    made, known = ~np.isnan(by_budget), ~np.isnan(free)
    return Outlook(
        own,
        problem.privacy,
        name,
        budgets[made],
        by_budget[made],
        lengths[known],
        by_horizon[known],
        free[known],
        min(own.no_learning / own.horizon, problem.width),
    )


def _bound(problem: Problem, plan: str, choices: dict[str, Any]) -> float:
    """Return the bound per event, or NaN where no plan can be made: budgets to either side may be out of reach."""
    try:
        return make_plan(problem, plan, **choices).bound / problem.horizon
    except ValueError:
        return math.nan


def with_budget(privacy: Any, name: str, budget: float) -> Guarantee:
    """Return the guarantee with another budget, and all else as it was."""
    changed: Guarantee = replace(privacy, **{name: budget})
    return changed


def budget_name(privacy: Guarantee) -> str:
    """Return what the budget of a guarantee is called."""
    for name in ("epsilon", "rho"):
        if hasattr(privacy, name):
            return name
    raise ValueError(f"privacy must have a budget that can be varied, such as PureDP(epsilon=1.0), got {privacy!r}")
