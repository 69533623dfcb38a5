"""What a sweep's page says about one problem."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._written import read
from sottovoce.lab import Cell, Run, Sweep
from sottovoce.lab.algorithms import streams
from sottovoce.lab.problems import DecisionProblem
from sottovoce.lab.problems.naming import make_problem
from sottovoce.lab.summary import Price, Summary, gather, price_of
from sottovoce.report._charts import Axis, Curve, line_chart, swatch
from sottovoce.report._per_event import per_event
from sottovoce.report.html.pieces import Chart, Table, Tile, epsilon_cell, number, table
from sottovoce.report.numbers import epsilon_name, significant

# ----------------------------------------------------------------------
# Charts of one problem in a sweep: regret as events pass, and against epsilon.


_POINTS = 80  # of a curve: more cannot be told apart at this size


def curves(sweep: Sweep, groups: list[Summary], colours: dict[str, int]) -> list[Chart]:
    """Return regret per event as events pass, at the longest horizon: one chart per epsilon, all on the same axes.

    Beside what has that epsilon, each chart has this library without privacy, for comparison.
    """
    longest = max(one.horizon for one in groups)
    here = [one for one in groups if one.horizon == longest]
    lines = [(one, _mean_curve(sweep, one, colours)) for one in here]
    never = _never_learning(sweep, here)
    reach = tuple(float(end) for line in (*(line for _, line in lines), never) for end in (line.y.min(), line.y.max()))
    compared = [one.epsilon for one in here if one.algorithm != "no-privacy"]
    return [
        _curve_figure(
            [line for one, line in lines if one.epsilon == epsilon or one.algorithm == "no-privacy"],
            never,
            epsilon,
            longest,
            reach,
        )
        for epsilon in sorted({*compared}) or [math.inf]
    ]


def _curve_figure(shown: list[Curve], never: Curve, epsilon: float, horizon: int, reach: tuple[float, ...]) -> Chart:
    title = "Without privacy" if math.isinf(epsilon) else f"At {epsilon_name(epsilon)}"
    chart = line_chart(
        [*shown, never],
        Axis("events", log=True),
        Axis("regret per event", holds=reach, signed=True),
        f"Regret per event so far, over {horizon:,} events. {title}.",
    )
    below = " Below zero less was lost than by any fixed decision." if min(reach) <= 0 else ""
    return Chart(title, chart, f"Lost per event so far, over {horizon:,} events. Grey: never learning.{below}")


def _mean_curve(sweep: Sweep, one: Summary, colours: dict[str, int]) -> Curve:
    events, values = _stacked(sweep, one, lambda run: run.regret)
    error = values.std(axis=0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else None
    return Curve(one.algorithm, events, values.mean(axis=0), error, colours[one.algorithm])


def _never_learning(sweep: Sweep, groups: Sequence[Summary]) -> Curve:
    """Return the line of never learning: the same for all; from where rounds are shortest, without noise."""
    most = max(groups, key=lambda one: (len(one.done), one.epsilon))
    events, values = _stacked(sweep, most, lambda run: run.no_learning)
    return Curve("never learning", events, values.mean(axis=0), colour=-1)


def _stacked(sweep: Sweep, one: Summary, curve: Callable[[Run], Floats]) -> tuple[Floats, Floats]:
    """Return a grid of events, and each seed's loss per event on it: from where all seeds have something."""
    found = [per_event(run.events, curve(run)) for run in (sweep.run_of(result.cell) for result in one.done)]
    start = max(events[0] for events, _ in found)
    grid = np.geomspace(min(start, one.horizon), one.horizon, _POINTS)
    return grid, np.array([np.interp(grid, events, values) for events, values in found])


def against_epsilon(groups: list[Summary], colours: dict[str, int]) -> list[Chart]:
    """Return regret against epsilon, over the longest horizon; nothing where there is no epsilon."""
    longest = max(one.horizon for one in groups)
    here = [one for one in groups if one.horizon == longest]
    finite = sorted({one.epsilon for one in here if math.isfinite(one.epsilon)})
    if not finite:
        return []
    step = finite[-1] / finite[-2] if len(finite) > 1 else 10.0
    ticks, place = [(value, f"{value:g}") for value in finite], finite[-1] * step
    none = any(math.isinf(one.epsilon) for one in here)
    if none:  # one step to the right of the largest
        ticks.append((place, "none"))
    lines = []
    for name, mine in gather(sorted(here, key=lambda one: one.epsilon), lambda one: one.algorithm).items():
        x, y, error = np.array([(min(one.epsilon, place), one.regret, one.regret_error) for one in mine]).T
        lines.append(Curve(name, x, y, error, colours[name], markers=True))
    axis = Axis("epsilon (smaller is more private)", log=True, ticks=tuple(ticks))
    title = f"Regret per event against epsilon, over {longest:,} events"
    chart = line_chart(
        lines, axis, Axis("regret per event", log=all(bool(np.all(line.y > 0)) for line in lines)), title
    )
    caption = "Mean regret per event at the end." + (" The rightmost points are without privacy." if none else "")
    return [Chart("Regret against epsilon", chart, caption)]


_NO_PRICE = Price(math.nan, math.nan, "")


def problem_part(sweep: Sweep, groups: list[Summary], colours: dict[str, int], *, anchor: str) -> dict[str, Any]:
    """Put together what is known of one problem; a problem that cannot be built has no picture, the rest stays."""
    name, featured = groups[0].problem, _featured(groups)
    problem = _problem(featured.done[0].cell)
    title, dimension = _title(name, problem), f"{featured.dimension} dimensions."
    return {
        "anchor": anchor,
        "title": title,
        "story": problem.story if problem else "",
        "setting": f"{name}; {dimension}" if problem else dimension,
        "tile": _tile(title, featured, groups),
        "legend": _legend(groups, colours),
        "curves": curves(sweep, groups, colours),
        "charts": against_epsilon(groups, colours),
        "prices": _prices(groups, anchor),
    }


def _title(name: str, problem: DecisionProblem | None) -> str:
    """Return the headline; two settings of one problem must not share it."""
    if problem is None:
        return name
    written = read(name).written
    return f"{problem.title} ({written})" if written else problem.title


def _problem(cell: Cell) -> DecisionProblem | None:
    try:
        return make_problem(cell.problem, seed=streams(cell.seed).environment)
    except (ValueError, TypeError, ImportError):
        return None


def _legend(groups: Sequence[Summary], colours: dict[str, int]) -> list[tuple[str, str]]:
    """Return the keys of the lines that this problem has."""
    names = {one.algorithm for one in groups}
    mine = [(swatch(number, markers=True), name) for name, number in colours.items() if name in names]
    return [*mine, (swatch(-1), "never learning")]


def _featured(groups: Sequence[Summary]) -> Summary:
    """Return what the headline is about: the default algorithm, over the longest horizon, at an epsilon next to 1."""
    names = {one.algorithm for one in groups}
    pool = [one for one in groups if one.algorithm == "default"] if "default" in names else list(groups)
    longest = max(one.horizon for one in pool)
    return min(
        (one for one in pool if one.horizon == longest),
        key=lambda one: abs(math.log(one.epsilon)) if 0 < one.epsilon < math.inf else math.inf,
    )


def _tile(title: str, featured: Summary, groups: Sequence[Summary]) -> Tile:
    cost = price_of(featured, groups)
    where = f"{title}; {featured.algorithm}, {featured.horizon:,} events"
    if cost is not None:
        error = "" if math.isnan(cost.error) else f" Standard error {significant(cost.error, 2)}."
        say = f"At {epsilon_name(featured.epsilon)} the price of privacy is"
        return Tile(say, f"{cost.ratio:.2f}×", f"{where}. Regret relative to {cost.relative_to}.{error}")
    share = f" Never learning loses {significant(featured.never_learning)}." if featured.never_learning > 0 else ""
    say = f"At {epsilon_name(featured.epsilon)} the regret per event is"
    return Tile(say, significant(featured.regret), f"{where}.{share}")


def _prices(groups: Sequence[Summary], anchor: str) -> Table:
    ordered = sorted(groups, key=lambda one: (one.algorithm, one.horizon, one.epsilon))
    return table(
        f"prices-{anchor}",
        "Means over seeds ± one standard error. The price of privacy is the regret relative to that of the same "
        "algorithm without privacy, seed by seed; an algorithm that learns nothing pays nothing.",
        [(one, price_of(one, groups) or _NO_PRICE) for one in ordered],
        {
            "algorithm": lambda one: one[0].algorithm,
            "events": lambda one: one[0].horizon,
            "epsilon": lambda one: epsilon_cell(one[0].epsilon),
            "seeds": lambda one: len(one[0].done),
            "regret per event": lambda one: number(one[0].regret, error=one[0].regret_error),
            "of never learning": lambda one: number(one[0].ratio, times=True),
            "price of privacy": lambda one: number(one[1].ratio, error=one[1].error, times=True),
            "against": lambda one: one[1].relative_to,
        },
        sortable=True,
    )
