"""Intervals below one another, on one scale: a forest plot. Names stand above their intervals, numbers below."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from sottovoce.report._numbers import short, significant
from sottovoce.report.html._charts import Scale, linear_scale

__all__ = ["Interval", "forest"]

_WIDTH, _ROW, _TOP, _SIDE, _BOTTOM = 520, 74, 6, 20, 56
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
    ends = np.array([[one.low, one.high] for one in intervals])
    across = linear_scale(ends, _SIDE, _WIDTH - _SIDE, zero=zero)
    height = _TOP + _ROW * len(intervals) + _BOTTOM
    parts = [_grid(across, height, label, zero=zero)]
    parts += [_row(one, across, _TOP + _ROW * place) for place, one in enumerate(intervals)]
    head = f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    return Markup(head + "".join(parts) + "</svg>")


def _grid(across: Scale, height: int, label: str, *, zero: bool) -> Markup:
    base = height - _BOTTOM
    parts = []
    for tick in across.ticks:
        at = float(across(tick))
        style = "axis" if zero and tick == 0 else "grid"
        parts.append(f'<path class="{style}" d="M{at:.1f} {_TOP}V{base}"/>')
        words = escape(short(tick).replace("-", "−"))
        parts.append(f'<text class="tick" x="{at:.1f}" y="{base + 20}" text-anchor="middle">{words}</text>')
    name = f'<text class="name" x="{_WIDTH / 2:.0f}" y="{height - 8}" text-anchor="middle">{escape(label)}</text>'
    return Markup("".join(parts) + f'<path class="axis" d="M{_SIDE} {base}H{_WIDTH - _SIDE}"/>' + name)


def _row(one: Interval, across: Scale, top: float) -> Markup:
    low, high = (float(across(value)) for value in (one.low, one.high))
    mark = float(across(min(max(one.estimate, across.low), across.high)))  # noise may carry it out of the plot
    line, style = top + 33, f"c{one.colour % 8}" if one.shown else "cgrey"
    name = one.name if len(one.name) <= _LETTERS else f"{one.name[: _LETTERS - 1]}…"
    numbers = f"{significant(one.estimate)} ({significant(one.low)} to {significant(one.high)})"
    said = escape(
        f"{one.name}: {significant(one.estimate)}, between {significant(one.low)} and {significant(one.high)}"
    )
    return Markup(
        f"<g><title>{said}</title>"
        f'<text class="name over" x="{_SIDE}" y="{top + 20:.0f}">{escape(name)}</text>'
        f'<text class="tick over" x="{_SIDE}" y="{top + 58:.0f}">{escape(numbers)}</text>'
        f'<path class="line {style}" d="M{low:.1f} {line - 5:.1f}v10M{low:.1f} {line:.1f}H{high:.1f}'
        f'M{high:.1f} {line - 5:.1f}v10"/>'
        f'<path class="mark {style}" transform="translate({mark:.1f} {line:.1f})" d="M0-6L6 0L0 6L-6 0z"/></g>'
    )
