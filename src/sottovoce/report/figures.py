"""Figures for people: few lines, named where they end."""

import itertools
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sottovoce.simulation import Run

__all__ = ["regret_figure"]

# Okabe and Ito's palette, which stays distinct for colour-blind readers; without its yellow, which fades on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#555555"


def regret_figure(
    runs: Run | Sequence[Run], path: str | os.PathLike[str], *, labels: Sequence[str] | None = None
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
    path = Path(path)
    draw(runs, labels).savefig(path)
    return path


def draw(runs: Sequence[Run], labels: Sequence[str]) -> Figure:
    """Return the figure that `regret_figure` writes."""
    figure = Figure(figsize=(10, 5.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)  # drawn in memory: no window, and nothing shared with the caller's own figures
    axes = figure.add_subplot()
    longest = max(runs, key=lambda run: run.events_finished)
    ends = [_never_learning(axes, longest)]
    for i, (run, label) in enumerate(zip(runs, labels, strict=True)):
        ends.append(_line(axes, run, label, COLOURS[i % len(COLOURS)]))
    _dress(axes, runs, longest.events_finished)
    _name_lines(axes, ends, longest.events_finished)
    return figure


End = tuple[float, float, str, str]  # where a line ends, and its name and colour


def _line(axes: Axes, run: Run, label: str, colour: str) -> End:
    axes.plot(np.append(0, run.events), np.append(0.0, run.regret), color=colour, linewidth=2.2, solid_capstyle="round")
    return run.events_finished, run.final_regret, _name(label, run.regret_per_event), colour


def _never_learning(axes: Axes, run: Run) -> End:
    x, y = np.append(0, run.events), np.append(0.0, run.no_learning)
    axes.plot(x, y, color=GREY, linewidth=1.6, linestyle=(0, (5, 3)), zorder=3)
    return run.events_finished, run.final_no_learning, _name("never learning", run.no_learning_per_event), GREY


def _name(label: str, per_event: float) -> str:
    return textwrap.fill(label, 30) + f"\n{per_event:.3g} per event"


def _name_lines(axes: Axes, ends: list[End], right: float) -> None:
    """Write each line's name to the right of its end, moved apart where ends are close."""
    low, high = axes.get_ylim()
    tall = [(0.02 + 0.045 * (name.count("\n") + 1)) * (high - low) for _, _, name, _ in ends]
    heights = _apart([end[1] for end in ends], tall, high)
    for (x, y, name, colour), height in zip(ends, heights, strict=True):
        axes.plot([x, right * 1.035], [y, height], color=colour, linewidth=0.8, clip_on=False)
        axes.text(right * 1.045, height, name, color=colour, fontsize=10.5, verticalalignment="center", linespacing=1.2)
    axes.set_ylim(low, high)


def _apart(centres: Sequence[float], tall: Sequence[float], top: float) -> list[float]:
    """Return the centres of boxes of these heights, moved so that none overlaps another or passes the top."""
    order = sorted(range(len(centres)), key=lambda i: centres[i])
    placed = list(centres)
    for below, above in itertools.pairwise(order):
        placed[above] = max(placed[above], placed[below] + (tall[below] + tall[above]) / 2)
    placed[order[-1]] = min(placed[order[-1]], top)
    for above, below in itertools.pairwise(reversed(order)):
        placed[below] = min(placed[below], placed[above] - (tall[below] + tall[above]) / 2)
    return placed


def _dress(axes: Axes, runs: Sequence[Run], events: int) -> None:
    headlines = dict.fromkeys(run.details.privacy_headline for run in runs)
    caption = f"{runs[0].details.environment}\nPrivacy: {'; '.join(headlines)}"
    lines = [part for line in caption.split("\n") for part in textwrap.wrap(line, 120)]
    axes.set_title(
        f"Regret over {events:,} events", loc="left", fontsize=15, fontweight="bold", pad=10 + 14 * len(lines)
    )
    axes.text(0, 1.02, "\n".join(lines), transform=axes.transAxes, fontsize=9.5, color=GREY, verticalalignment="bottom")
    axes.set_xlabel("events", fontsize=11)
    axes.set_ylabel("cumulative regret against the best fixed point", fontsize=11)
    axes.set_xlim(0, events)
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    axes.yaxis.set_major_formatter(FuncFormatter(_short))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)


def _short(value: float, _position: object = None) -> str:
    """Write 250000 as 250k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
