"""Regret per event for people: few lines, named where they end, on axes that leave each its room."""

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from sottovoce._arrays import Floats
from sottovoce.report._numbers import leading_digit, short
from sottovoce.report._palette import colour, linestyle, run_colours
from sottovoce.report._per_event import around_zero, asinh_ticks, per_event
from sottovoce.report.figures._canvas import GREY, NEVER, apart, canvas, plain, short_ticks
from sottovoce.simulation import Run

__all__ = ["regret_figure"]

_LETTERS = 104  # of a line of the caption


def regret_figure(
    runs: Run | Sequence[Run],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
    beside: Sequence[Run] | None = None,
) -> Path:
    """Draw the regret per event of one or several runs, with the line of never learning, and write it as an image.

    Both axes are logarithmic: in all, a run that never learns would leave no room between those that do. Regret below
    zero, where a run does better than any fixed decision, makes the axis linear around zero. The page that `run_report`
    writes has the regret in all as well.

    Parameters
    ----------
    runs : Run or sequence of Run
        Of one environment: the line of never learning is that of the first.
    path : path
        The kind of image follows from its ending, such as ``.png``.
    labels : sequence of str, optional
        One per run; by default its privacy.
    beside : sequence of Run, optional
        The same runs in another environment, drawn below them, over the same events.

    Returns
    -------
    Path
        Where the image is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sottovoce as sv
    >>> from sottovoce.report import regret_figure
    >>> environment = sv.simulation.MovingTarget(sv.domains.Ball(3))
    >>> optimizer = sv.PrivateBandit(
    ...     environment.domain, horizon=1_000, loss_range=environment.loss_range, privacy=sv.NoPrivacy(), seed=1
    ... )
    >>> run = sv.simulate(optimizer, environment)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     regret_figure(run, pathlib.Path(folder) / "regret.png").name
    'regret.png'
    """
    runs = [runs] if isinstance(runs, Run) else list(runs)
    if not runs:
        raise ValueError("runs must hold at least one run")
    if not all(run.events_finished for run in (*runs, *(beside or ()))):
        raise ValueError("runs must hold runs of at least one event: nothing is known of a run that never began")
    labels = [run.details.privacy_headline for run in runs] if labels is None else list(labels)
    if len(labels) != len(runs):
        raise ValueError(f"labels must be as many as runs, got {len(labels)} for {len(runs)}")
    if beside is not None and len(beside) != len(runs):
        raise ValueError(f"beside must hold as many runs as runs, got {len(beside)} for {len(runs)}")
    path = Path(path)
    draw(runs, labels, beside).savefig(path)
    return path


def draw(runs: Sequence[Run], labels: Sequence[str], beside: Sequence[Run] | None = None) -> Figure:
    """Return the figure that `regret_figure` writes."""
    groups = [runs] if beside is None else [runs, beside]
    figure = canvas(9, 5.6 * len(groups))  # one below the other: side by side, words are too small to read in a page
    panels: list[Axes] = list(figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0])
    curves = [_curves(group, labels) for group in groups]
    for axes, group, lines in zip(panels, groups, curves, strict=True):
        _set_scale(axes, [one.y for one in lines])
        for one in lines:
            axes.plot(one.x, one.y, **one.look)
        _dress(axes, group)
    for axes, lines in zip(panels, curves, strict=True):  # when all is drawn, and the axes have their limits
        _name_lines(axes, lines)
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=True)
    return figure


@dataclass(frozen=True, slots=True)
class _Curve:
    """A line, how it is drawn, and what is written at its end."""

    x: Floats
    y: Floats
    name: str
    look: dict[str, Any]


def _curves(runs: Sequence[Run], labels: Sequence[str]) -> list[_Curve]:
    """Return never learning, of the longest run, and then the runs."""
    longest = max(runs, key=lambda run: run.events_finished)
    never = _name("never learning", longest.no_learning_per_event)
    found = [_Curve(*per_event(longest.events, longest.no_learning), never, {"zorder": 3, **NEVER})]
    for run, label, number in zip(runs, labels, run_colours(runs), strict=True):
        look = {
            "color": colour(number),
            "linestyle": linestyle(number),
            "linewidth": 2.2,
            "solid_capstyle": "round",
        }
        found.append(_Curve(*per_event(run.events, run.regret), _name(label, run.regret_per_event), look))
    return found


def _name(label: str, value: float) -> str:
    return textwrap.fill(label, 30) + f"\n{value:.3g} per event"


def _set_scale(axes: Axes, curves: Sequence[Floats]) -> None:
    """Set logarithmic axes; a linear part around zero where anything lies below it."""
    width = around_zero(curves)
    axes.set_xscale("log")
    if not width:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: _between(value)))
        return
    axes.set_yscale("asinh", linear_width=width)
    low, high = float(min(map(np.min, curves))), float(max(map(np.max, curves)))
    axes.set_yticks(asinh_ticks(low - width, 1.2 * high, width))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.axhline(0.0, color=GREY, linewidth=0.9)


def _between(value: float) -> str:
    """Write few of the ticks between powers of ten: 0.03, not 0.04."""
    return short(value) if leading_digit(value) == 3 else ""


def _name_lines(axes: Axes, curves: Sequence[_Curve]) -> None:
    """Write each line's name to the right of its end, moved apart where ends are close; in shares of the axes."""
    axes.autoscale_view()  # limits are otherwise set when the figure is drawn
    shares = axes.transData + axes.transAxes.inverted()
    tall = [0.02 + 0.045 * (one.name.count("\n") + 1) for one in curves]
    places = [shares.transform((one.x[-1], one.y[-1])) for one in curves]
    heights = apart([float(y) for _, y in places], tall, 1.0)
    placed: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    for (x, y), one, height in zip(places, curves, heights, strict=True):
        shade = one.look["color"]
        axes.plot([x, 1.035], [y, height], color=shade, linewidth=0.8, **placed)
        axes.text(
            1.045, height, one.name, color=shade, fontsize=10.5, verticalalignment="center", linespacing=1.2, **placed
        )


def _dress(axes: Axes, runs: Sequence[Run]) -> None:
    events = max(run.events_finished for run in runs)
    headlines = dict.fromkeys(run.details.privacy_headline for run in runs)
    caption = f"{runs[0].details.environment}\nPrivacy: {'; '.join(headlines)}"
    lines = [part for line in caption.split("\n") for part in textwrap.wrap(line, _LETTERS)]
    axes.set_title(
        f"Regret per event, over {events:,} events",
        loc="left",
        fontsize=15,
        fontweight="bold",
        pad=10 + 14 * len(lines),
    )
    axes.text(0, 1.02, "\n".join(lines), transform=axes.transAxes, fontsize=9.5, color=GREY, verticalalignment="bottom")
    axes.set_xlabel("events so far", fontsize=11)
    axes.set_ylabel("lost per event beyond the best fixed decision", fontsize=11)
    axes.set_xlim(right=events)
    axes.xaxis.set_major_formatter(short_ticks())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(short_ticks())
    plain(axes)
