"""Charts of one problem in a sweep: regret as events pass, against epsilon and horizon; the price of privacy."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab import Sweep
from sottovoce.lab.grouping import gather
from sottovoce.lab.simulation import Run
from sottovoce.lab.summary import Summary, price_of
from sottovoce.report._charts import Axis, Curve, line_chart
from sottovoce.report._numbers import epsilon_name, short
from sottovoce.report._per_event import per_event
from sottovoce.report.html._pieces import Chart

__all__ = ["curves", "in_figures"]

_POINTS = 80  # of a curve: more cannot be told apart at this size
_MOST_CURVES = 6


def curves(sweep: Sweep, groups: list[Summary], colours: dict[str, int]) -> list[Chart]:
    """Return regret per event as events pass, at the longest horizon: one chart per epsilon, all on the same axes."""
    longest = max(one.horizon for one in groups)
    here = [one for one in groups if one.horizon == longest]
    lines = {id(one): _mean_curve(sweep, one, colours) for one in here}
    never = _never_learning(sweep, here)
    reach = tuple(float(top) for line in [*lines.values(), never] for top in (np.max(line.y), np.min(line.y)))
    return [
        _curve_figure([lines[id(one)] for one in here if _belongs(one, epsilon)], never, epsilon, longest, reach)
        for epsilon in _spread(_worth_a_chart(here))
    ]


def _worth_a_chart(here: list[Summary]) -> list[float]:
    """Return the epsilons, least first; without privacy by itself only if that is not in all other charts already."""
    free = [one for one in here if math.isinf(one.epsilon)]
    shown_anyway = len(free) < len(here) and all(one.algorithm == "no-privacy" for one in free)
    return sorted({one.epsilon for one in here if not (shown_anyway and math.isinf(one.epsilon))})


def _belongs(one: Summary, epsilon: float) -> bool:
    """Say whether a line is drawn: what has this epsilon, and this library without privacy for comparison."""
    return one.epsilon == epsilon or one.algorithm == "no-privacy"


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


def _spread(values: list[float]) -> list[float]:
    """Return at most a few of the values: the ends, and some between."""
    if len(values) <= _MOST_CURVES:
        return values
    kept = np.unique(np.linspace(0, len(values) - 1, _MOST_CURVES).round().astype(int))
    return [values[i] for i in kept]


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


def in_figures(groups: list[Summary], colours: dict[str, int]) -> list[Chart]:
    """Return regret against epsilon, the price of privacy, and regret against the horizon; those that have points."""
    longest = max(one.horizon for one in groups)
    here = [one for one in groups if one.horizon == longest]
    finite = sorted({one.epsilon for one in here if math.isfinite(one.epsilon)})
    figures = []
    if finite:
        figures.append(_against_epsilon(here, finite, colours, longest))
        prices = _price_series(here, colours)
        if prices:
            figures.append(_price_figure(prices, finite, longest))
    horizons = sorted({one.horizon for one in groups})
    if len(horizons) > 1:
        figures.append(_against_horizon(groups, colours))
    return figures


def _epsilon_axis(finite: list[float], *, none: bool) -> tuple[Axis, float]:
    """Return an axis, and where "none" stands on it: one step to the right of the largest epsilon."""
    step = finite[-1] / finite[-2] if len(finite) > 1 else 10.0
    place = finite[-1] * step
    ticks = [(value, f"{value:g}") for value in finite]
    if none:
        ticks.append((place, "none"))
    return Axis("epsilon (smaller is more private)", log=True, ticks=tuple(ticks)), place


def _against_epsilon(here: list[Summary], finite: list[float], colours: dict[str, int], horizon: int) -> Chart:
    none = any(math.isinf(one.epsilon) for one in here)
    axis, place = _epsilon_axis(finite, none=none)
    lines = [
        _line(
            name,
            [(place if math.isinf(one.epsilon) else one.epsilon, one.regret, one.regret_error) for one in mine],
            colours,
        )
        for name, mine in _by_algorithm(here, lambda one: one.epsilon)
    ]
    title = f"Regret per event against epsilon, over {horizon:,} events"
    chart = line_chart(lines, axis, Axis("regret per event", log=_positive(lines)), title)
    caption = "Mean regret per event at the end." + (" The rightmost points are without privacy." if none else "")
    return Chart("Regret against epsilon", chart, caption)


def _price_series(here: list[Summary], colours: dict[str, int]) -> list[Curve]:
    found = []
    for name, mine in _by_algorithm(here, lambda one: one.epsilon):
        costs = [(one.epsilon, price_of(one, here)) for one in mine]
        points = [(epsilon, cost.ratio, cost.error) for epsilon, cost in costs if cost is not None]
        if points:
            found.append(_line(name, points, colours))
    return found


def _price_figure(prices: list[Curve], finite: list[float], horizon: int) -> Chart:
    axis, _ = _epsilon_axis(finite, none=False)
    ends = np.array([finite[0], finite[-1]])
    level = Curve("no price", ends, np.ones(2), colour=-1)
    log = _positive(prices) and max(float(line.y.max()) for line in prices) > 5
    title = f"Price of privacy against epsilon, over {horizon:,} events"
    chart = line_chart([level, *prices], axis, Axis("price of privacy (×)", log=log), title)
    return Chart(
        "Price of privacy",
        chart,
        "Regret relative to that of the same algorithm without privacy: 1 is free. An algorithm that learns nothing "
        "pays nothing, so read it beside the regret.",
    )


def _against_horizon(groups: list[Summary], colours: dict[str, int]) -> Chart:
    """At the featured epsilon of each algorithm: the one that most of its cells have, next to 1."""
    finite = {one.epsilon for one in groups if math.isfinite(one.epsilon)}
    epsilon = min(finite, key=lambda value: abs(math.log(value))) if finite else math.inf
    private = {one.algorithm for one in groups if one.epsilon == epsilon}
    mine = [one for one in groups if one.epsilon == epsilon or one.algorithm not in private]
    lines = [
        _line(name, [(float(one.horizon), one.regret, one.regret_error) for one in members], colours)
        for name, members in _by_algorithm(mine, lambda one: one.horizon)
    ]
    ticks = tuple((float(value), short(value)) for value in sorted({one.horizon for one in groups}))
    title = f"Regret per event against the horizon, at {epsilon_name(epsilon)}"
    chart = line_chart(
        lines, Axis("events", log=True, ticks=ticks), Axis("regret per event", log=_positive(lines)), title
    )
    return Chart(
        "Regret against the horizon", chart, f"At {epsilon_name(epsilon)}; algorithms without privacy as they are."
    )


def _by_algorithm(groups: list[Summary], order: Callable[[Summary], float]) -> list[tuple[str, list[Summary]]]:
    return [(name, sorted(mine, key=order)) for name, mine in gather(groups, lambda one: one.algorithm).items()]


def _line(name: str, points: Sequence[tuple[float, float, float]], colours: dict[str, int]) -> Curve:
    x, y, error = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    return Curve(name, x, y, error, colours[name], markers=True)


def _positive(lines: Sequence[Curve]) -> bool:
    return all(bool(np.all(line.y > 0)) for line in lines)
