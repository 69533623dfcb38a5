"""Regret against the horizon, the dimension and epsilon, on logarithmic scales."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from sottovoce._checks import Vector
from sottovoce.experiments.cell import Result
from sottovoce.experiments.claims import WORDS, along
from sottovoce.experiments.evidence import Series
from sottovoce.experiments.reproduce import Scale
from sottovoce.report.figures import COLOURS, GREY

__all__ = ["reproduction_figures"]

_STYLES = {
    "default": (COLOURS[0], "o"),
    "no-privacy": (COLOURS[5], "o"),
    "paper-laplace": (COLOURS[1], "s"),
    "paper-gaussian": (COLOURS[4], "s"),
    "paper-no-noise": (COLOURS[3], "s"),
    "garber-kretzu": (COLOURS[2], "^"),
    "smith-thakurta": ("#7a4f2b", "v"),
    "smith-thakurta:delta=1e-06": ("#b08a5e", "v"),
}
_TITLES = {
    "horizon": ("Regret against the number of events", "events"),
    "dimension": ("Regret against the dimension", "dimension"),
    "1/epsilon": ("Regret against epsilon", "epsilon (to the left: more private)"),
}


def reproduction_figures(results: Sequence[Result], scale: Scale, folder: Path) -> list[Path]:
    """Draw and write all figures, and return their paths."""
    paths = []
    for axis in _TITLES:
        path = folder / f"reproduction-{axis.replace('1/', '')}.png"
        draw(results, scale, axis).savefig(path)
        paths.append(path)
    return paths


def draw(results: Sequence[Result], scale: Scale, axis: str) -> Figure:
    """Return one figure: a line per algorithm, named where it ends, and one for never learning."""
    figure = Figure(figsize=(10, 5.6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)  # drawn in memory: no window, and nothing shared with the caller's own figures
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends: list[tuple[float, float, str, str]] = []
    found = {name: along(results, name, axis, scale.base) for name in _STYLES if name in WORDS}
    found = {name: one for name, one in found.items() if len(one.values) > 1 and one.regrets.size}
    for name, one in found.items():
        colour, marker = _STYLES[name]
        ends.append(_line(axes, one, scale, colour, marker))
    if found:
        longest = max(found.values(), key=lambda one: len(one.values))
        x, mean, _ = _per_event(longest, longest.never, scale)
        axes.plot(x, mean, color=GREY, linewidth=1.6, linestyle=(0, (5, 3)), zorder=1)
        ends.append((float(x[-1]), float(mean[-1]), "never learning", GREY))
    _dress(axes, scale, axis)
    _name_lines(axes, ends)
    return figure


def _per_event(one: Series, regrets: Vector, scale: Scale) -> tuple[Vector, Vector, Vector]:
    """Return places, means and standard errors, from left to right."""
    events = one.values if one.axis == "horizon" else float(scale.base.horizon)
    per_event = regrets / events
    spread = per_event.std(axis=0, ddof=1) / np.sqrt(len(per_event)) if len(per_event) > 1 else 0 * per_event[0]
    x = 1 / one.values if one.axis == "1/epsilon" else one.values
    order = np.argsort(x)
    return x[order], per_event.mean(axis=0)[order], spread[order]


def _line(axes: Axes, one: Series, scale: Scale, colour: str, marker: str) -> tuple[float, float, str, str]:
    x, mean, spread = _per_event(one, one.regrets, scale)
    axes.errorbar(
        x, mean, yerr=spread, color=colour, marker=marker, markersize=5, linewidth=2, capsize=2, elinewidth=1, zorder=2
    )
    return float(x[-1]), float(mean[-1]), one.who, colour


def _name_lines(axes: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write each line's name at the right edge, moved apart where ends are close."""
    axes.autoscale_view()
    bottom, top = np.log(axes.get_ylim())
    left, right = np.log(axes.get_xlim())
    gap = 0.055 * (top - bottom)
    ends = sorted(ends, key=lambda end: end[1])
    heights = [float(np.log(end[1])) for end in ends]
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + gap)
    heights[-1:] = [min(heights[-1], top)] if heights else []
    for i in range(len(heights) - 2, -1, -1):
        heights[i] = min(heights[i], heights[i + 1] - gap)
    edge, text = np.exp(right + 0.03 * (right - left)), np.exp(right + 0.04 * (right - left))
    for (x, y, name, colour), height in zip(ends, heights, strict=True):
        axes.plot([x, edge], [y, np.exp(height)], color=colour, linewidth=0.8, clip_on=False)
        axes.text(text, np.exp(height), name, color=colour, fontsize=10, verticalalignment="center")
    axes.set_xlim(np.exp(left), np.exp(right))
    axes.set_ylim(np.exp(bottom), np.exp(top))


def _dress(axes: Axes, scale: Scale, axis: str) -> None:
    title, label = _TITLES[axis]
    base = scale.base
    fixed = {
        "horizon": f"T = {base.horizon:,}",
        "dimension": f"n = {base.dimension}",
        "1/epsilon": f"epsilon = {base.epsilon:g}",
    }
    caption = ", ".join(words for name, words in fixed.items() if name != axis)
    axes.set_title(title, loc="left", fontsize=15, fontweight="bold", pad=26)
    words = f"{caption}; {scale.seeds} seeds, mean ± standard error; simulated noise: NOT PRIVATE"
    axes.text(0, 1.02, words, transform=axes.transAxes, fontsize=9.5, color=GREY, verticalalignment="bottom")
    axes.set_xlabel(label, fontsize=11)
    axes.set_ylabel("regret per event", fontsize=11)
    for side in (axes.xaxis, axes.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:.1e}"[0] in "25" else ""))
    if axis == "dimension":
        axes.set_xticks(scale.dimensions, labels=[str(n) for n in scale.dimensions])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", which="both", color="#e8e8e8", linewidth=0.8)
    axes.set_axisbelow(True)
