"""Regret per event for people: few lines, named where they end, on axes that leave each its room."""

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from sottovoce.lab import Run
from sottovoce.report._canvas import GREY, canvas, headed
from sottovoce.report._charts import Axis, Curve, draw_lines, name_lines
from sottovoce.report._per_event import per_event


def regret_figure(
    runs: Run | Sequence[Run],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
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

    Returns
    -------
    Path
        Where the image is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sottovoce as sv
    >>> from sottovoce.report import regret_figure
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3))
    >>> optimizer = sv.PrivateBandit(
    ...     environment.domain, horizon=1_000, loss_range=environment.loss_range, privacy=sv.NoPrivacy(), seed=1
    ... )
    >>> run = sv.lab.simulate(optimizer, environment)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     regret_figure(run, pathlib.Path(folder) / "regret.png").name
    'regret.png'
    """
    runs, labels = labelled_runs(runs, labels)
    path = Path(path)
    draw(runs, labels).savefig(path)
    return path


def labelled_runs(runs: Run | Sequence[Run], labels: Sequence[str] | None) -> tuple[list[Run], list[str]]:
    """Return runs, each with what it is called; refuse those of which nothing can be shown."""
    every = [runs] if isinstance(runs, Run) else list(runs)
    if not every:
        raise ValueError("runs must hold at least one run")
    if not all(run.events_finished for run in every):
        raise ValueError("runs must hold runs of at least one event: nothing is known of a run that never began")
    names = [run.details.privacy_headline for run in every] if labels is None else list(labels)
    if len(names) != len(every):
        raise ValueError(f"labels must be as many as runs, got {len(names)} for {len(every)}")
    return every, names


def draw(runs: Sequence[Run], labels: Sequence[str]) -> Figure:
    """Return the figure that `regret_figure` writes: never learning, of the longest run, and then the runs."""
    longest = max(runs, key=lambda run: run.events_finished)
    never = _name("never learning", longest.no_learning_per_event)
    lines = [Curve(never, *per_event(longest.events, longest.no_learning), colour=-1)]
    for number, (run, label) in enumerate(zip(runs, labels, strict=True)):
        lines.append(Curve(_name(label, run.regret_per_event), *per_event(run.events, run.regret), colour=number))
    figure = canvas(9, 5.6)
    axes = figure.add_subplot()
    x = Axis("events so far", log=True)
    draw_lines(axes, lines, x, Axis("lost per event beyond the best fixed decision", signed=True))
    if axes.get_yscale() == "asinh":
        axes.axhline(0.0, color=GREY, linewidth=0.9)
    headlines = dict.fromkeys(run.details.privacy_headline for run in runs)
    caption = f"{longest.details.environment}\nPrivacy: {'; '.join(headlines)}"
    headed(axes, f"Regret per event, over {longest.events_finished:,} events", caption)
    axes.set_xlim(right=longest.events_finished)
    name_lines(axes, lines)
    return figure


def _name(label: str, value: float) -> str:
    """Return what is written at the end of a line."""
    return textwrap.fill(label, 30) + f"\n{value:.3g} per event"
