"""The picture of a plan: what to expect of it, or, if it was not rehearsed, its bounds by budget and by horizon."""

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from sottovoce._arrays import Floats
from sottovoce.plans.outlook import Outlook
from sottovoce.rehearsal import Prices
from sottovoce.report import _palette
from sottovoce.report._canvas import GREY, NEVER, canvas, plain, short_ticks
from sottovoce.report.figures._forecast import draw_forecast

__all__ = ["draw_plan", "plan_figure"]

PRIVATE, FREE = _palette.colour(_palette.PRIVATE), _palette.colour(_palette.NO_PRIVACY)
_LETTER = 1.12  # the ratio that the height of a letter makes on the axis, about
_FAR = 30.0  # times never learning: what is higher is out of the picture


def plan_figure(
    outlook: Outlook, path: str | os.PathLike[str], *, title: str = "", prices: Prices | None = None
) -> Path:
    """Draw what to expect of a plan by length and budget, or its bounds if it has no forecast; write it as an image.

    Parameters
    ----------
    outlook
        What to draw (see `sottovoce.plans.outlook.outlook`).
    path
        The kind of image follows from its ending, such as ``.png``.
    title
        The decision, in words.
    prices
        What privacy is forecast to cost at other budgets.

    Returns
    -------
    Path
        Where the image is.

    Examples
    --------
    >>> import pathlib, tempfile, sottovoce as sv
    >>> from sottovoce.plans.outlook import outlook
    >>> from sottovoce.plans.problem import Problem
    >>> found = outlook(Problem(sv.domains.Ball(3), 100_000, (0.0, 1.0), sv.PureDP(epsilon=1.0)), points=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan_figure(found, pathlib.Path(folder) / "plan.png").name
    'plan.png'
    """
    path = Path(path)
    draw_plan(outlook, title, prices).savefig(path)
    return path


def draw_plan(outlook: Outlook, title: str = "", prices: Prices | None = None) -> Figure:
    """Return the figure that `plan_figure` writes."""
    if outlook.plan.forecast is not None:
        return draw_forecast(outlook, outlook.plan.forecast, prices, title)
    figure = canvas(11, 5.6)
    left, right = figure.subplots(1, 2, sharey=True)
    low, high = _limits(outlook)
    for axes in (left, right):
        axes.set_ylim(low, high)
    _against_budget(left, outlook)
    _against_horizon(right, outlook)
    headline = "Bounds, not forecasts" + (f": {title}" if title else "")
    figure.suptitle(headline, x=0.01, horizontalalignment="left", fontsize=15, fontweight="bold")
    return figure


def _limits(outlook: Outlook) -> tuple[float, float]:
    """From the lowest curve to the plan itself; but how far above never learning a bound is says nothing."""
    level = outlook.never_learning
    values = np.concatenate([outlook.by_budget, outlook.by_horizon, outlook.without_privacy, [level]])
    return float(values.min()) / 2.5, float(np.clip(1.6 * outlook.bound, 3 * level, _FAR * level))


def _against_budget(axes: Axes, outlook: Outlook) -> None:
    name, budgets = outlook.budget_name, outlook.budgets
    free = np.full(len(budgets), outlook.without_privacy_here)
    _dress(axes, f"privacy budget {name} (smaller is more private)", f"over {outlook.plan.horizon:,} events", outlook)
    _line(axes, budgets, free, FREE, marker="")
    _line(axes, budgets, outlook.by_budget, PRIVATE)
    _name(axes, budgets, free, "no privacy", FREE, (0, -6), point=0)
    _name(axes, budgets, outlook.by_budget, "private", PRIVATE, (8, 3), point=1)
    _name_level(axes, outlook.never_learning, [free, free / _LETTER, outlook.by_budget])
    _mark(axes, outlook.budget, outlook, f"{name} = {outlook.budget:g}")
    axes.xaxis.set_major_formatter(short_ticks())
    axes.set_ylabel("bound on the regret, per event", fontsize=11)


def _against_horizon(axes: Axes, outlook: Outlook) -> None:
    horizons = outlook.horizons.astype(np.float64)
    _dress(axes, "horizon (events)", f"at {outlook.privacy}", outlook)
    _line(axes, horizons, outlook.without_privacy, FREE)
    _line(axes, horizons, outlook.by_horizon, PRIVATE)
    _name(axes, horizons, outlook.without_privacy, "no privacy", FREE, (-8, -3), point=3)
    _name(axes, horizons, outlook.by_horizon, "private", PRIVATE, (8, 3), point=1)
    _name_level(axes, outlook.never_learning, [outlook.without_privacy, outlook.by_horizon])
    _mark(axes, float(outlook.plan.horizon), outlook, f"{outlook.plan.horizon:,} events")
    axes.xaxis.set_major_formatter(short_ticks())


def _dress(axes: Axes, label: str, title: str, outlook: Outlook) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, loc="left", fontsize=11, color=GREY)
    axes.set_xlabel(label, fontsize=11)
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(short_ticks())
    axes.yaxis.set_minor_formatter(NullFormatter())
    plain(axes)
    level = outlook.never_learning
    axes.axhspan(level, axes.get_ylim()[1], color="#f1f1f1", zorder=0)
    axes.axhline(level, **NEVER)
    _write(axes, "bounds here say nothing", (0.99, 0.99), (0, -4), "axes fraction", "right", vertical="top")


def _name_level(axes: Axes, level: float, curves: list[Floats]) -> None:
    """Name the line of never learning at the end, and on the side, where most room is left between the curves."""
    places = itertools.product((True, False), (True, False))

    def room(place: tuple[bool, bool]) -> float:
        right, above = place
        height = level * (_LETTER if above else 1 / _LETTER)
        near = np.concatenate([curve[-3:] if right else curve[:3] for curve in curves])
        return float(np.abs(np.log(near / height)).min())

    right, above = max(places, key=room)
    corner, offset = (0.99 if right else 0.01, level), (0, 4 if above else -4)
    side, vertical = "right" if right else "left", "bottom" if above else "top"
    _write(axes, f"never learning, {level:.2g}", corner, offset, ("axes fraction", "data"), side, GREY, vertical)


def _line(axes: Axes, x: Floats, y: Floats, colour: str, marker: str = "o") -> None:
    axes.plot(x, y, color=colour, linewidth=2.2, marker=marker, markersize=4, solid_capstyle="round")


def _name(axes: Axes, x: Floats, y: Floats, words: str, colour: str, offset: tuple[int, int], point: int) -> None:
    """Name a curve at one of its points that are seen; or say that none is."""
    seen = np.flatnonzero(y < axes.get_ylim()[1])
    if not len(seen):
        _write(
            axes, f"{words}: {y.min():.2g} and more", (0.99, 0.99), (0, -20), "axes fraction", "right", colour, "top"
        )
        return
    place = seen[min(point, len(seen) - 1)]
    side, vertical = ("left" if offset[0] >= 0 else "right"), ("bottom" if offset[1] > 0 else "top")
    _write(axes, words, (x[place], y[place]), offset, "data", side, colour, vertical, bold=True)


def _mark(axes: Axes, x: float, outlook: Outlook, words: str) -> None:
    """Show the plan itself."""
    y = outlook.bound
    axes.axvline(x, color=GREY, linewidth=0.9, linestyle=":")
    _write(axes, f"{words}:\n{y:.2g}", (x, 0.0), (5, 5), ("data", "axes fraction"), "left", PRIVATE, bold=True)
    if y < axes.get_ylim()[1]:
        axes.plot([x], [y], marker="o", markersize=9, markerfacecolor="white", color=PRIVATE, markeredgewidth=2.2)


def _write(
    axes: Axes,
    words: str,
    place: tuple[float, float],
    offset: tuple[int, int],
    coordinates: Any,
    side: str,
    colour: str = GREY,
    vertical: str = "bottom",
    bold: bool = False,
) -> None:
    axes.annotate(
        words,
        place,
        offset,
        xycoords=coordinates,
        textcoords="offset points",
        color=colour,
        fontsize=11 if bold else 9.5,
        fontweight="bold" if bold else "normal",
        horizontalalignment=side,
        verticalalignment=vertical,
    )
