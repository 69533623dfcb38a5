"""The picture of what to expect of a plan: what is learned by runs of any length, what privacy costs at any budget.

The two panels stand one above the other, so that they can be read on a telephone.
"""

import os
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from sottovoce._arrays import Floats
from sottovoce.plans.forecast import Curve, Forecast, Spread, percent
from sottovoce.privacy import Guarantee
from sottovoce.rehearsal import Prices
from sottovoce.report import _palette
from sottovoce.report._canvas import GREY, canvas, plain, short_ticks


def plan_figure(
    forecast: Forecast,
    privacy: Guarantee,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    prices: Prices | None = None,
) -> Path:
    """Draw what to expect of a plan by length and budget; write it as an image.

    Parameters
    ----------
    forecast
        What to draw, such as `sv.plan(...).forecast`.
    privacy
        The guarantee of the plan.
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
    >>> one = sv.PureDP(epsilon=1.0)
    >>> made = sv.plan(sv.domains.Simplex(3), 1000, (0.0, 1.0), one, losses="linear", integral=True, rehearse=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan_figure(made.forecast, one, pathlib.Path(folder) / "plan.png").name
    'plan.png'
    """
    path = Path(path)
    draw_forecast(forecast, privacy, title, prices).savefig(path)
    return path


PRIVATE, FREE = _palette.colour(_palette.PRIVATE), _palette.colour(_palette.NO_PRIVACY)
_STEPS = 200  # points of a curve
_TIMES = (1, 1.5, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000)
_BAND = 0.16  # how much of its colour a spread has
EXPECTED: dict[str, Any] = {"linewidth": 2.4, "solid_capstyle": "round"}
_GUESSED = (0, (2, 1.5))  # dashes of what was extrapolated


def draw_forecast(forecast: Forecast, privacy: Guarantee, title: str = "", prices: Prices | None = None) -> Figure:
    """Return the figure that `plan_figure` writes."""
    figure = canvas(6.6, 4.6 if prices is None else 8.8, dpi=200)
    panels = figure.subplots(1 if prices is None else 2, 1, squeeze=False)[:, 0]
    _learning(panels[0], forecast, privacy)
    if prices is not None:
        _paying(panels[1], forecast, privacy, prices)
    headline = "What to expect" + (f": {title}" if title else "")
    figure.suptitle(textwrap.fill(headline, 62), x=0.01, horizontalalignment="left", fontsize=13, fontweight="bold")
    return figure


def _learning(axes: Axes, forecast: Forecast, privacy: Guarantee) -> None:
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
    _expected(axes, forecast.curve, forecast, PRIVATE, str(privacy).split(",")[0])
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


def _paying(axes: Axes, forecast: Forecast, privacy: Guarantee, prices: Prices) -> None:
    """What privacy multiplies the regret by, against the budget."""
    assert forecast.price is not None
    name, budgets = prices.budget_name, np.array(prices.budgets)
    low, central, high = (np.array([getattr(one, end) for one in prices.prices]) for end in ("low", "central", "high"))
    own, top = float(getattr(privacy, name)), 1.15 * float(max(high.max(), 2.0))
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
