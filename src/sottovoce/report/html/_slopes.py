"""How regret grows with the horizon, the dimension and 1/epsilon: fitted slopes of a sweep."""

from collections.abc import Sequence
from typing import Any

from sottovoce.experiments import Result
from sottovoce.experiments.slopes import Slope, slopes
from sottovoce.report._numbers import epsilon_name, short
from sottovoce.report.html._tables import ColumnHead, Table, TableCell, heads, number, text

__all__ = ["slope_part"]


def slope_part(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return words and a table; None if nothing was varied."""
    found = slopes(results)
    if not found:
        return None
    words = (
        "Regret grows as the quantity to the power of the slope: over the events, 1 is not learning, 0.75 is the order "
        "of the paper's theorem, 0.5 is the best order that any algorithm can promise. Every seed has a slope of its "
        "own; the interval is Student's, at 95%, over the seeds."
    )
    names = ["regret grows with", "problem", "algorithm", "at", "slope", "from", "to", "seeds"]
    rows = tuple(_row(one) for one in found)
    return {
        "words": words,
        "table": Table(
            "slopes-table", "Slopes on logarithmic scales", (*heads(names, 4), ColumnHead("remark")), rows, True
        ),
    }


def _row(one: Slope) -> tuple[TableCell, ...]:
    fixed = [] if one.epsilon is None else [epsilon_name(one.epsilon)]
    fixed += [] if one.horizon is None else [f"{short(one.horizon)} events"]
    nan = float("nan")
    slope, low, high = (nan, nan, nan) if one.fit is None else (one.fit.slope, one.fit.low, one.fit.high)
    return (
        text("events" if one.against == "horizon" else one.against),
        text(one.problem),
        text(one.algorithm),
        text(", ".join(fixed)),
        number(slope),
        number(low),
        number(high),
        number(one.seeds),
        text(one.reason, long=True),
    )
