"""What plans predicted against what happened, over all cells of a sweep."""

import math
from typing import Any

import numpy as np

from sottovoce.experiments.summary import Summary
from sottovoce.report.html._charts import Axis, Curve, line_chart
from sottovoce.report.html._pieces import Chart
from sottovoce.report.html._tables import Table, epsilon_cell, heads, number, text

__all__ = ["predictions"]


def predictions(groups: list[Summary], colours: dict[str, int]) -> dict[str, Any] | None:
    """Return words, a chart and a table; None if no algorithm predicts anything."""
    told = [one for one in groups if math.isfinite(one.predicted) and one.predicted > 0]
    if not told:
        return None
    kept = sum(one.regret <= one.predicted for one in told)
    words = (
        "Before the first event a plan states a bound on the regret, for the worst losses it was told to expect (for "
        f"linear losses its order). In {kept} of {len(told)} settings the mean regret stayed below it."
    )
    return {"words": words, "chart": _chart(told, colours), "table": _table(told)}


def _table(told: list[Summary]) -> Table:
    names = [
        "problem",
        "algorithm",
        "epsilon",
        "events",
        "predicted per event",
        "happened per event",
        "happened / predicted",
    ]
    rows = tuple(
        (
            text(one.problem),
            text(one.algorithm),
            epsilon_cell(one.epsilon),
            number(one.horizon),
            number(one.predicted),
            number(one.regret, error=one.regret_error),
            number(one.regret / one.predicted, times=True),
        )
        for one in told
    )
    return Table(
        "predictions", "Predicted regret per event, and the mean of what happened", heads(names, 2), rows, True
    )


def _chart(told: list[Summary], colours: dict[str, int]) -> Chart | None:
    shown = [one for one in told if one.regret > 0]
    if not shown:
        return None
    happened = [one.regret for one in shown]
    ends = np.array([min(happened) / 1.3, 2 * max(happened)])
    series = [Curve("as predicted", ends, ends, colour=-1)]
    for name in dict.fromkeys(one.algorithm for one in shown):
        mine = sorted((one for one in shown if one.algorithm == name), key=lambda one: one.predicted)
        across, up = np.array([one.predicted for one in mine]), np.array([one.regret for one in mine])
        errors = np.array([one.regret_error for one in mine])
        series.append(Curve(name, across, up, errors, colours[name], line=False, markers=True))
    title = "Predicted and measured regret per event"
    chart = line_chart(series, Axis("predicted per event", log=True), Axis("happened per event", log=True), title)
    return Chart(title, chart, "Below the dashed line less was lost than the plan had said.")
