"""Decisions side by side, each drawn the way its problem draws it."""

import textwrap
from collections.abc import Mapping

from matplotlib.figure import Figure

from sottovoce._arrays import Vector
from sottovoce._checks import number
from sottovoce.lab.problems import DecisionProblem
from sottovoce.report._canvas import canvas

__all__ = ["decision_figure"]

INK = "#222222"


def decision_figure(
    problem: DecisionProblem, points: Mapping[str, Vector], *, width: float = 3.8, height: float = 3.9
) -> Figure:
    """Draw decisions of one problem in panels side by side.

    Parameters
    ----------
    problem : DecisionProblem
    points : mapping of str to array
        A title for each decision; panels are in this order.
    width, height : float
        Of a panel, in inches.

    Returns
    -------
    Figure
        Save it with `figure.savefig(path)`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.report import decision_figure
    >>> problem = sv.lab.problems.Pricing()
    >>> best = problem.environment.comparator(1_000).point
    >>> figure = decision_figure(problem, {"at the start": problem.domain.center, "best": best})
    >>> [axes.get_title(loc="center") for axes in figure.axes]
    ['at the start', 'best']
    """
    if not points:
        raise ValueError("points must hold at least one decision, with its title")
    size = (number("width", width, above=0.0) * len(points), number("height", height, above=0.0))
    figure = canvas(*size, dpi=100, facecolor="white")
    panels = figure.subplots(1, len(points), squeeze=False)[0]
    for axes, title in zip(panels, points, strict=True):
        axes.set_title("\n".join([*textwrap.wrap(title, int(9 * width)), ""]), fontsize=10)
    figure.suptitle(problem.title, fontsize=11, fontweight="bold", color=INK)
    figure.draw_without_rendering()  # problems measure the room that titles leave
    for axes, (title, point) in zip(panels, points.items(), strict=True):
        problem.draw(axes, point)
        own = axes.get_title(loc="left") or axes.get_title(loc="right")
        lines = [*textwrap.wrap(title, int(9 * width)), *([""] if own else [])]  # a line for what the problem wrote
        axes.set_title("\n".join(lines), fontsize=10, color=INK)
    return figure
