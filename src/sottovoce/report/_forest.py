"""Intervals below one another, on one scale: a forest plot. Names stand above their intervals, numbers below."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from sottovoce.report._canvas import note, sized, to_svg
from sottovoce.report._charts import WIDTH, Axis
from sottovoce.report.numbers import short, significant

_ROW, _TOP, _SIDE, _BOTTOM = 74, 6, 20, 56
_LETTERS = 30  # of a name, at the size that phones get


@dataclass(frozen=True, slots=True)
class Interval:
    """One interval of a forest plot.

    Parameters
    ----------
    name
        What it is of.
    estimate, low, high
        The mark, and the ends of the line.
    colour
        Of the palette.
    shown
        Whether it stands out; others are drawn in grey.
    """

    name: str
    estimate: float
    low: float
    high: float
    colour: int = 0
    shown: bool = True


def forest(intervals: Sequence[Interval], label: str, title: str, *, zero: bool = True) -> Markup:
    """Return a forest plot; with `zero`, a line stands where there is no difference.

    Examples
    --------
    >>> "B less A: −0.100" in forest([Interval("B less A", -0.1, -0.2, 0.0)], "difference", "Differences")
    True
    """
    tall = _ROW * len(intervals)
    axes = sized(WIDTH, _TOP + tall + _BOTTOM, _SIDE, _SIDE, _TOP, _BOTTOM)
    Axis(label, zero=zero).set_up(axes.xaxis, [np.array([[one.low, one.high] for one in intervals])])
    axes.set_xticks(axes.get_xticks(), [short(tick).replace("-", "−") for tick in axes.get_xticks()])
    axes.set(ylim=(tall, 0), yticks=[])
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0, pad=10)
    axes.xaxis.set_label_coords(0.5, (20 - _BOTTOM) / tall)
    if zero:
        axes.axvline(0.0, gid=".axis")
    for place, one in enumerate(intervals):
        _row(axes, one, _ROW * place)
    return to_svg(axes, title)


def _row(axes: Axes, one: Interval, top: float) -> None:
    least, most = axes.get_xlim()
    mark = min(max(one.estimate, least), most)  # noise may carry it out of the plot
    line, style = top + 33, f"c{one.colour % 8}" if one.shown else "cgrey"
    name = one.name if len(one.name) <= _LETTERS else f"{one.name[: _LETTERS - 1]}…"
    ends = f"{significant(one.low)} to {significant(one.high)}"
    said = f"{one.name}: {significant(one.estimate)}, between {ends.replace(' to ', ' and ')}"
    axes.text(least, top + 20, name, gid=note(axes, "name over", said))
    axes.text(least, top + 58, f"{significant(one.estimate)} ({ends})", gid=note(axes, "tick over", said))
    axes.plot([one.low, one.high], [line, line], gid=note(axes, f"line {style}", said))
    axes.plot([one.low, one.high], [line, line], "|", markersize=10, markeredgewidth=2, gid=f".error {style}")
    axes.plot([mark], [line], "D", markersize=8.5, gid=note(axes, f"mark {style}", said))
