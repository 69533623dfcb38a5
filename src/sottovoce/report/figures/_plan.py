"""The picture of a plan: what to expect of it, or, if it was not rehearsed, its bounds by budget and by horizon."""

import os
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from sottovoce._arrays import Floats, Vector
from sottovoce.plans.forecast import Curve, Forecast, Spread, percent
from sottovoce.plans.outlook import Outlook
from sottovoce.rehearsal import Prices
from sottovoce.report import _palette
from sottovoce.report._canvas import GREY, NEVER, canvas, plain, short_ticks

_SIDE = "bound on the regret, per event"
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
    name, own, events = outlook.budget_name, outlook.budget, outlook.plan.horizon
    free = np.full(len(outlook.budgets), outlook.without_privacy_here)
    dress(left, _said(outlook, f"{name} = {own:g}"), f"privacy budget {name} (smaller is more private)", _SIDE)
    _bounds(left, outlook, outlook.budgets, outlook.by_budget, free, own)
    dress(right, _said(outlook, f"{events:,} events"), f"events, at {outlook.privacy}", "")
    _bounds(right, outlook, outlook.horizons.astype(float), outlook.by_horizon, outlook.without_privacy, events)
    headline = "Bounds, not forecasts" + (f": {title}" if title else "")
    figure.suptitle(headline, x=0.01, horizontalalignment="left", fontsize=15, fontweight="bold")
    return figure


def _said(outlook: Outlook, where: str) -> str:
    return f"{where}: at most {outlook.bound:.2g} per event"


def _bounds(axes: Axes, outlook: Outlook, x: Vector, private: Vector, free: Vector, own: float) -> None:
    """Draw bounds beside the line of never learning; how far above it they are says nothing."""
    level, lowest = outlook.never_learning, min(outlook.by_horizon.min(), outlook.without_privacy.min())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(min(lowest, level) / 2.5, float(np.clip(1.6 * outlook.bound, 3 * level, _FAR * level)))
    axes.xaxis.set_major_formatter(short_ticks())
    axes.yaxis.set_major_formatter(short_ticks())
    axes.axhspan(level, axes.get_ylim()[1], color="#f1f1f1", zorder=0)
    axes.axhline(level, label=f"never learning, {level:.2g}: bounds above say nothing", **NEVER)
    axes.plot(x, free, color=FREE, label="no privacy", **EXPECTED)
    axes.plot(x, private, color=PRIVATE, label="private", marker="o", markersize=4, **EXPECTED)
    mark(axes, own, outlook.bound)
    legend(axes)


# ----------------------------------------------------------------------
# A picture of what to expect of a plan: what is learned by runs of any length, and what privacy costs at any budget.
#
# The two panels stand one above the other, so that they can be read on a telephone.


PRIVATE, FREE = _palette.colour(_palette.PRIVATE), _palette.colour(_palette.NO_PRIVACY)
_STEPS = 200  # points of a curve
_TIMES = (1, 1.5, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000)
_BAND = 0.16  # how much of its colour a spread has
EXPECTED: dict[str, Any] = {"linewidth": 2.4, "solid_capstyle": "round"}
_BOUND: dict[str, Any] = {"color": GREY, "linewidth": 1.0}
_GUESSED = (0, (2, 1.5))  # dashes of what was extrapolated


def draw_forecast(outlook: Outlook, forecast: Forecast, prices: Prices | None, title: str = "") -> Figure:
    """Return the figure; bounds are thin lines beside what is expected."""
    figure = canvas(6.6, 4.6 if prices is None else 8.8, dpi=200)
    panels = figure.subplots(1 if prices is None else 2, 1, squeeze=False)[:, 0]
    _learning(panels[0], outlook, forecast)
    if prices is not None:
        _paying(panels[1], outlook, forecast, prices)
    headline = "What to expect" + (f": {title}" if title else "")
    figure.suptitle(textwrap.fill(headline, 62), x=0.01, horizontalalignment="left", fontsize=13, fontweight="bold")
    return figure


def _learning(axes: Axes, outlook: Outlook, forecast: Forecast) -> None:
    """What is learned, against the length of the run."""
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    if len(forecast.curve.horizons) == 1:
        axes.set_xlim(forecast.horizon / 2, 2 * forecast.horizon)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    guessed = "; dashes: extrapolated" if forecast.longest < forecast.horizon else ""
    dress(
        axes,
        f"{forecast.horizon:,} events: {forecast.learned.words(percent)} learned{_given(forecast)}",
        f"events of a run (bands: four worlds of five{guessed})",
        "learned, of what can be learned",
    )
    if forecast.curve_without_privacy is not None:
        _expected(axes, forecast.curve_without_privacy, forecast, FREE, "no privacy")
    _expected(axes, forecast.curve, forecast, PRIVATE, str(outlook.privacy).split(",")[0])
    if not outlook.plan.options.order_only:
        first, last = forecast.curve.horizons[0], forecast.curve.horizons[-1]
        seen = (outlook.horizons >= first) & (outlook.horizons <= last)
        sure = np.clip(1 - outlook.by_horizon / outlook.never_learning, 0, 1)
        axes.plot(outlook.horizons[seen], sure[seen], label="at least, by the bound", **_BOUND)
    mark(axes, float(forecast.horizon), forecast.learned.central)
    legend(axes)


def _given(forecast: Forecast) -> str:
    """Say which of several worlds is drawn."""
    return f",\nif decisions differ by {forecast.contrasts[0]:.0%} of the range" if forecast.cases else ""


def _expected(axes: Axes, curve: Curve, forecast: Forecast, colour: str, words: str) -> None:
    x, low, central, high = _learned(curve)
    axes.fill_between(x, low, high, color=colour, alpha=_BAND, linewidth=0)
    guessed = (x > forecast.longest * 1.001) & (forecast.longest < forecast.horizon)
    axes.plot(x[~guessed], central[~guessed], color=colour, label=words, **EXPECTED)
    axes.plot(x[guessed], central[guessed], color=colour, linewidth=2.4, linestyle=_GUESSED)


def _learned(curve: Curve) -> tuple[Floats, Floats, Floats, Floats]:
    """Return lengths, and what is learned there: least, central, most; as the forecast interpolates."""
    knots = np.log(np.array(curve.horizons, dtype=np.float64))
    x = np.linspace(knots[0], knots[-1], _STEPS) if len(knots) > 1 else knots

    def between(values: list[float]) -> Floats:
        return np.asarray(np.clip(1 - np.exp(np.interp(x, knots, np.log(values))), 0.0, 1.0))

    worst, usual, best = (between([getattr(one, end) for one in curve.shares]) for end in ("high", "central", "low"))
    return np.exp(x), worst, usual, best


def _paying(axes: Axes, outlook: Outlook, forecast: Forecast, prices: Prices) -> None:
    """What privacy multiplies the regret by, against the budget."""
    assert forecast.price is not None
    name, budgets = prices.budget_name, np.array(prices.budgets)
    low, central, high = (np.array([getattr(one, end) for one in prices.prices]) for end in ("low", "central", "high"))
    own, top = float(getattr(outlook.privacy, name)), 1.15 * float(max(high.max(), 2.0))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.93, top)
    axes.yaxis.set_major_locator(FixedLocator([one for one in _TIMES if one <= top and (one != 1.5 or top < 10)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} ×"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    dress(
        axes,
        f"{name} = {own:g}: {_times(forecast.price)} the regret without privacy",
        f"privacy budget {name} (smaller is more private)",
        f"regret over {forecast.horizon:,} events",
    )
    axes.axhline(1.0, color=FREE, linewidth=2.4, label="no privacy")
    axes.fill_between(budgets, low, high, color=PRIVATE, alpha=_BAND, linewidth=0)
    axes.plot(budgets, central, color=PRIVATE, marker="o", markersize=4, label="private", **EXPECTED)
    mark(axes, own, forecast.price.central)
    if not outlook.plan.options.order_only:
        inside = (outlook.budgets >= 0.99 * budgets[0]) & (outlook.budgets <= 1.01 * budgets[-1])
        ratio = np.clip(outlook.by_budget[inside] / outlook.without_privacy_here, 1.0, top)
        axes.plot(outlook.budgets[inside], ratio, label="of the bounds", **_BOUND)
    legend(axes)


def _times(price: Spread) -> str:
    """Say a price.

    Examples
    --------
    >>> _times(Spread(2.5, 1.2, 4.0))
    '2.5 times (1.2 to 4)'
    """
    return price.words("{:.2g}".format).replace(" (", " times (", 1)


def dress(axes: Axes, title: str, below: str, beside: str) -> None:
    """Name a panel and its axes."""
    plain(axes)
    axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold", color=PRIVATE)
    axes.set_xlabel(below, fontsize=10.5)
    axes.set_ylabel(beside, fontsize=10.5)
    axes.xaxis.set_major_formatter(short_ticks())
    axes.xaxis.set_minor_formatter(NullFormatter())


def legend(axes: Axes) -> None:
    """Name the lines, each in its colour, where they leave most room."""
    axes.legend(loc="best", frameon=False, labelcolor="linecolor", fontsize=11)


def mark(axes: Axes, x: float, y: float) -> None:
    """Show the plan itself."""
    axes.axvline(x, color=GREY, linewidth=0.9, linestyle=":")
    axes.plot([x], [y], marker="o", markersize=9, markerfacecolor="white", color=PRIVATE, markeredgewidth=2.2)
