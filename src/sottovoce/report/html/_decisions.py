"""The decision itself in a page: learned next to best."""

import base64
import io
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context

from sottovoce._arrays import Vector
from sottovoce.lab.problems import DecisionProblem
from sottovoce.report._canvas import canvas
from sottovoce.report._charts import bar_chart
from sottovoce.report._numbers import significant

__all__ = ["Decision", "Picture", "decide", "plain_point"]

_LARGE = 250_000  # bytes of an SVG: a large network is smaller as pixels
_MOST_BARS = 60
_STYLE: Any = {"svg.fonttype": "path", "svg.hashsalt": "sottovoce", "font.size": 11}


@dataclass(frozen=True, slots=True)
class Picture:
    """A decision: an image (`source`, a data address) or a chart (`svg`), and the decision in words."""

    title: str
    caption: str
    alt: str
    source: str = ""
    svg: Markup | str = ""
    explained: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Pictures that stand side by side, and what they show."""

    words: str
    pictures: tuple[Picture, ...]


def decide(problem: DecisionProblem, learned: Vector, best: Vector, *, who: str) -> Decision:
    """Draw what was learned next to what is best in hindsight."""
    distance = float(np.linalg.norm(learned - best))
    words = (
        f"The last decision of the run ({who}), and the best fixed one in hindsight. They are {significant(distance)} "
        f"apart; two feasible decisions are at most {significant(problem.domain.diameter)} apart."
    )
    pictures = (
        _picture(problem, learned, "Learned", f"Learned: {who}"),
        _picture(problem, best, "Best in hindsight", "The best fixed decision, which nobody knew beforehand"),
    )
    return Decision(words, pictures)


def _picture(problem: DecisionProblem, point: Vector, title: str, caption: str) -> Picture:
    explained = problem.explain(point)
    said = "; ".join(f"{what}: {much}" for what, much in explained)
    return Picture(title, caption, f"{problem.title}. {title}. {said}", _image(problem, point), explained=explained)


def _image(problem: DecisionProblem, point: Vector) -> str:
    """Return the drawing as a data address: an image, so that nothing in it can act on the page."""
    with rc_context(_STYLE):
        figure = canvas(4.4, 4.2, dpi=100)  # narrow, so that words can be read where a page is narrow
        axes = figure.add_subplot()
        figure.draw_without_rendering()  # problems measure the room that there is
        problem.draw(axes, point)
        content, kind = io.BytesIO(), "svg+xml"
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        if content.tell() > _LARGE:
            content, kind = io.BytesIO(), "png"
            figure.savefig(content, format="png", transparent=True, dpi=150)
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"


def plain_point(
    learned: Vector, best: Vector | None, *, who: str, said: str = "", names: Sequence[Hashable] | None = None
) -> Decision:
    """Show a point without a story: its coordinates as bars, and what it is in the names of the set, if it has any."""
    shown, ideal = learned[:_MOST_BARS], None if best is None else best[:_MOST_BARS]
    words = f"The last point of the run ({who}), coordinate by coordinate."
    if len(learned) > _MOST_BARS:
        words += f" The first {_MOST_BARS} of {len(learned)} are shown."
    if said:
        words += f" It is {said}."
    caption = "Bars: the learned point." + ("" if best is None else " Marks: the best fixed point in hindsight.")
    title = f"The learned point, {len(learned)} coordinates"
    return Decision(words, (Picture(title, caption, title, svg=bar_chart(shown, ideal, title, names)),))
