"""Regret against the horizon, the dimension and epsilon, on logarithmic scales."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from sottovoce._arrays import Vector
from sottovoce.experiments.reproduction.evidence import Series
from sottovoce.experiments.reproduction.extent import Extent
from sottovoce.experiments.reproduction.paper_claims import WORDS, along
from sottovoce.experiments.sweeps.cell import Result
from sottovoce.report._numbers import leading_digit, short
from sottovoce.report._palette import algorithm_colours, colour, linestyle
from sottovoce.report.figures._canvas import GREY, NEVER, apart, canvas, plain, short_ticks

__all__ = ["reproduction_figures"]

_MARKERS = {
    "here": "o",
    "paper": "s",
    "needed": "D",
    "": "^",
}  # this library, the paper's noise, the needed one, others
_TITLES = {
    "horizon": ("Regret against the number of events", "events"),
    "dimension": ("Regret against the dimension", "dimension"),
    "1/epsilon": ("Regret against epsilon", "epsilon (to the left: more private)"),
}


def reproduction_figures(results: Sequence[Result], scale: Extent, folder: Path) -> list[Path]:
    """Draw and write all figures, and return their paths."""
    paths = []
    for axis in _TITLES:
        path = folder / f"reproduction-{axis.replace('1/', '')}.png"
        draw(results, scale, axis).savefig(path)
        paths.append(path)
    return paths


def draw(results: Sequence[Result], scale: Extent, axis: str) -> Figure:
    """Return one figure: a line per algorithm, named where it ends, and one for never learning."""
    figure = canvas(10, 5.6, dpi=120)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends: list[tuple[float, float, str, str]] = []
    found = {name: along(results, name, axis, scale.base) for name in WORDS}
    found = {name: one for name, one in found.items() if len(one.values) > 1 and one.regrets.size}
    numbers = algorithm_colours(WORDS)
    for name, one in found.items():
        ends.append(_line(axes, one, along(results, name, axis, scale.base, every=True), scale, numbers[name]))
    if found:
        far = (along(results, name, axis, scale.base, every=True) for name in found)
        longest = max(far, key=lambda one: len(one.values) if one.regrets.size else 0)
        x, mean, _ = _per_event(longest, longest.never, scale)
        axes.plot(x, mean, zorder=1, **NEVER)
        ends.append((float(x[-1]), float(mean[-1]), "never learning", GREY))
    _dress(axes, scale, axis)
    _name_lines(axes, ends)
    return figure


def _per_event(one: Series, regrets: Vector, scale: Extent) -> tuple[Vector, Vector, Vector]:
    """Return places, means and standard errors, from left to right."""
    events = one.values if one.axis == "horizon" else float(scale.base.horizon)
    per_event = regrets / events
    spread = per_event.std(axis=0, ddof=1) / np.sqrt(len(per_event)) if len(per_event) > 1 else 0 * per_event[0]
    x = 1 / one.values if one.axis == "1/epsilon" else one.values
    order = np.argsort(x)
    return x[order], per_event.mean(axis=0)[order], spread[order]


def _line(axes: Axes, one: Series, far: Series, scale: Extent, number: int) -> tuple[float, float, str, str]:
    """Draw an algorithm; values that have fewer seeds than the others follow at the end, with what they have."""
    x, mean, spread = _per_event(one, one.regrets, scale)
    if one.axis == "horizon" and far.regrets.size:
        beyond = far.where([value > one.values[-1] for value in far.values.tolist()])
        more = _per_event(beyond, beyond.regrets, scale)
        x, mean, spread = (np.concatenate(pair) for pair in zip((x, mean, spread), more, strict=True))
    look = {"color": colour(number), "linestyle": linestyle(number), "marker": _MARKERS[one.group]}
    axes.errorbar(x, mean, yerr=spread, markersize=5, linewidth=2, capsize=2, elinewidth=1, zorder=2, **look)
    return float(x[-1]), float(mean[-1]), one.who, colour(number)


def _name_lines(axes: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write each line's name at the right edge, moved apart where ends are close."""
    axes.autoscale_view()
    bottom, top = np.log(axes.get_ylim())
    left, right = np.log(axes.get_xlim())
    heights = apart([float(np.log(end[1])) for end in ends], [0.055 * (top - bottom)] * len(ends), top)
    edge, text = np.exp(right + 0.03 * (right - left)), np.exp(right + 0.04 * (right - left))
    for (x, y, name, shade), height in zip(ends, heights, strict=True):
        leader = "-" if x > 0.8 * np.exp(right) or x >= max(end[0] for end in ends) else ":"  # no line of data
        axes.plot([x, edge], [y, np.exp(height)], color=shade, linewidth=0.8, linestyle=leader, clip_on=False)
        axes.text(text, np.exp(height), name, color=shade, fontsize=10, verticalalignment="center")
    axes.set_xlim(np.exp(left), np.exp(right))
    axes.set_ylim(np.exp(bottom), np.exp(top))


def _dress(axes: Axes, scale: Extent, axis: str) -> None:
    title, label = _TITLES[axis]
    base = scale.base
    fixed = {
        "horizon": f"T = {base.horizon:,}",
        "dimension": f"n = {base.dimension}",
        "1/epsilon": f"epsilon = {base.epsilon:g}",
    }
    caption = ", ".join(words for name, words in fixed.items() if name != axis)
    axes.set_title(title, loc="left", fontsize=15, fontweight="bold", pad=26)
    fewer = (
        f" ({scale.longest_seeds} at {short(scale.longest[0])} events)" if axis == "horizon" and scale.longest else ""
    )
    words = f"{caption}; {scale.seeds} seeds{fewer}, mean ± standard error; simulated noise: NOT PRIVATE"
    axes.text(0, 1.02, words, transform=axes.transAxes, fontsize=9.5, color=GREY, verticalalignment="bottom")
    axes.set_xlabel(label, fontsize=11)
    axes.set_ylabel("regret per event", fontsize=11)
    for side in (axes.xaxis, axes.yaxis):
        side.set_major_formatter(short_ticks())
    axes.xaxis.set_minor_formatter(NullFormatter())
    few = FuncFormatter(lambda value, _: short(value) if leading_digit(value) in (2, 5) else "")
    axes.yaxis.set_minor_formatter(few)
    if axis == "dimension":
        axes.set_xticks(scale.dimensions, labels=[str(n) for n in scale.dimensions])
        axes.xaxis.set_minor_locator(NullLocator())
    plain(axes, which="both")
