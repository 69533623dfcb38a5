"""Figures for people: few lines, named where they end."""

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sottovoce.report._palette import colour, linestyle, run_colours
from sottovoce.report.figures._canvas import GREY, NEVER, apart, canvas, plain, short_ticks
from sottovoce.simulation import Run

__all__ = ["regret_figure"]

End = tuple[float, float, str, str]  # where a line ends, and its name and colour


def regret_figure(
    runs: Run | Sequence[Run],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
    beside: Sequence[Run] | None = None,
) -> Path:
    """Draw the regret of one or several runs over time, with the line of never learning, and write it as an image.

    Parameters
    ----------
    runs : Run or sequence of Run
        Of one environment: the line of never learning is that of the first.
    path : path
        The kind of image follows from its ending, such as ``.png``.
    labels : sequence of str, optional
        One per run; by default its privacy.
    beside : sequence of Run, optional
        The same runs in another environment, drawn to the right of them.

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
    figure = canvas(10, 5.6) if beside is None else canvas(17, 6.2)
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    ends = [
        _panel(axes, group, labels, width=120 if beside is None else 84)
        for axes, group in zip(panels, groups, strict=True)
    ]
    for axes, names in zip(panels, ends, strict=True):  # when all is drawn, and the axes have their limits
        _name_lines(axes, names)
    for axes in panels[1:]:
        axes.set_ylabel("")
        axes.tick_params(labelleft=True)
    return figure


def _panel(axes: Axes, runs: Sequence[Run], labels: Sequence[str], *, width: int) -> list[End]:
    """Draw the runs of one environment, and return where their lines end; captions have `width` letters a line."""
    longest = max(runs, key=lambda run: run.events_finished)
    ends = [_never_learning(axes, longest)]
    ends += [_line(axes, *one) for one in zip(runs, labels, run_colours(runs), strict=True)]
    _dress(axes, runs, longest.events_finished, width=width)
    return ends


def _line(axes: Axes, run: Run, label: str, number: int) -> End:
    x, y = np.append(0, run.events), np.append(0.0, run.regret)
    axes.plot(x, y, color=colour(number), linestyle=linestyle(number), linewidth=2.2, solid_capstyle="round")
    return run.events_finished, run.final_regret, _name(label, run.regret_per_event), colour(number)


def _never_learning(axes: Axes, run: Run) -> End:
    x, y = np.append(0, run.events), np.append(0.0, run.no_learning)
    axes.plot(x, y, zorder=3, **NEVER)
    return run.events_finished, run.final_no_learning, _name("never learning", run.no_learning_per_event), GREY


def _name(label: str, per_event: float) -> str:
    return textwrap.fill(label, 30) + f"\n{per_event:.3g} per event"


def _name_lines(axes: Axes, ends: list[End]) -> None:
    """Write each line's name to the right of its end, moved apart where ends are close; in shares of the axes."""
    axes.autoscale_view()  # limits are otherwise set when the figure is drawn
    shares = axes.transData + axes.transAxes.inverted()
    tall = [0.02 + 0.045 * (name.count("\n") + 1) for _, _, name, _ in ends]
    places = [shares.transform((x, y)) for x, y, _, _ in ends]
    heights = apart([float(y) for _, y in places], tall, 1.0)
    placed: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    for (x, y), (_, _, name, shade), height in zip(places, ends, heights, strict=True):
        axes.plot([x, 1.035], [y, height], color=shade, linewidth=0.8, **placed)
        axes.text(
            1.045, height, name, color=shade, fontsize=10.5, verticalalignment="center", linespacing=1.2, **placed
        )


def _dress(axes: Axes, runs: Sequence[Run], events: int, *, width: int) -> None:
    headlines = dict.fromkeys(run.details.privacy_headline for run in runs)
    caption = f"{runs[0].details.environment}\nPrivacy: {'; '.join(headlines)}"
    lines = [part for line in caption.split("\n") for part in textwrap.wrap(line, width)]
    axes.set_title(
        f"Regret over {events:,} events", loc="left", fontsize=15, fontweight="bold", pad=10 + 14 * len(lines)
    )
    axes.text(0, 1.02, "\n".join(lines), transform=axes.transAxes, fontsize=9.5, color=GREY, verticalalignment="bottom")
    axes.set_xlabel("events", fontsize=11)
    axes.set_ylabel("cumulative regret against the best fixed point", fontsize=11)
    axes.set_xlim(0, events)
    axes.xaxis.set_major_formatter(short_ticks())
    axes.yaxis.set_major_formatter(short_ticks())
    axes.xaxis.set_major_locator(MaxNLocator(6))
    plain(axes)
