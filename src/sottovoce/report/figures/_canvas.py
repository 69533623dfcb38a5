"""What all figures share: a canvas in memory, plain axes, names that do not overlap."""

import itertools
from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sottovoce.report._numbers import short
from sottovoce.report._palette import GREY as _GREY

__all__ = ["BELOW", "GREY", "NEVER", "REFUTED", "apart", "canvas", "plain", "short_ticks"]

GREY = _GREY.light
REFUTED = "#b00020"
BELOW = "#e4e4e4"  # lines behind the curves
NEVER: dict[str, Any] = {"color": GREY, "linewidth": 1.6, "linestyle": (0, (5, 3))}  # the line of never learning


def canvas(width: float, height: float, *, dpi: int = 150, **options: Any) -> Figure:
    """Return an empty figure, drawn in memory: no window, and nothing shared with the caller's own figures."""
    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained", **options)
    FigureCanvasAgg(figure)
    return figure


def plain(axes: Axes, *, which: Literal["major", "both"] = "major") -> None:
    """Leave out what is not needed: two sides of the frame, and all but faint lines across."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", which=which, color=BELOW, linewidth=0.8)
    axes.set_axisbelow(True)


def short_ticks() -> FuncFormatter:
    """Return a formatter that writes 250000 as 250k, as all pages do."""
    return FuncFormatter(lambda value, _: short(value))


def apart(centres: Sequence[float], tall: Sequence[float], top: float) -> list[float]:
    """Return the centres of boxes of these heights, moved so that none overlaps another or passes the top.

    Examples
    --------
    >>> apart([0.0, 0.5, 5.0], [1.0, 1.0, 1.0], top=5.0)
    [0.0, 1.0, 5.0]
    """
    order = sorted(range(len(centres)), key=lambda i: centres[i])
    placed = list(centres)
    for below, above in itertools.pairwise(order):
        placed[above] = max(placed[above], placed[below] + (tall[below] + tall[above]) / 2)
    for last in order[-1:]:
        placed[last] = min(placed[last], top)
    for above, below in itertools.pairwise(reversed(order)):
        placed[below] = min(placed[below], placed[above] - (tall[below] + tall[above]) / 2)
    return placed
