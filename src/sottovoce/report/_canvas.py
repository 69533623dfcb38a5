"""What all pictures share: a canvas in memory, plain axes, and SVG that follows the page it stands in.

Everything is drawn once, by matplotlib. Saved, it is an image. In a page it is SVG whose parts have classes in place of
colours and fonts (`set_gid(".line c0")`): the style sheet of the page gives both, in light, in dark, on paper and on
telephones.
"""

import io
import itertools
import re
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup, escape
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sottovoce.report._palette import GREY as _GREY

GREY = _GREY.light
_POINTS = 72  # to the inch: a unit of an SVG
_STYLE: Any = {"svg.fonttype": "none", "path.simplify": False, "font.size": 13.5}
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_settings = threading.Lock()  # matplotlib's are those of the whole process


def canvas(width: float, height: float, *, dpi: int = 150, layout: Any = "constrained") -> Figure:
    """Return an empty figure, drawn in memory: no window, and nothing shared with the caller's own figures."""
    figure = Figure(figsize=(width, height), dpi=dpi, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def sized(width: float, height: float, left: float, right: float, top: float, bottom: float) -> Axes:
    """Return empty axes in a figure for a page: sizes and margins are in units of its SVG."""
    figure = canvas(width / _POINTS, height / _POINTS, dpi=_POINTS, layout="none")
    box = (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    axes = figure.add_axes(box)
    axes.patch.set_visible(False)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_gid(".axis")
    axes.tick_params(axis="y", length=0)
    return axes


def note(axes: Axes, classes: str, title: str = "", **attributes: str) -> str:
    """Return the id of a part: its classes, and in a page its title and attributes as well."""
    notes: list[Any] = axes.figure.__dict__.setdefault("_notes", [])
    notes.append((title, attributes))
    return f".{classes}#{len(notes) - 1}"


def to_svg(axes: Axes, title: str, *, kind: str = "chart") -> Markup:
    """Return what is drawn, as SVG for a page; `title` is for screen readers. Parts without classes are left out.

    Examples
    --------
    >>> axes = sized(100, 50, 10, 10, 5, 20)
    >>> line, = axes.plot([0, 1], [0, 1], gid=".line c0")
    >>> '<path class="line c0" d="M' in to_svg(axes, "A line")
    True
    """
    for ticks in (axes.xaxis.get_major_ticks(), axes.yaxis.get_major_ticks()):
        for one in ticks:
            one.label1.set_gid(".tick")
            one.gridline.set_gid(".grid")
            one.tick1line.set_gid(".axis")
    axes.xaxis.label.set_gid(".name")
    axes.yaxis.label.set_gid(".name")
    figure, content = axes.get_figure(root=True), io.StringIO()
    assert figure is not None
    for artist in axes.get_children():
        artist.set_clip_on(False)
    with _settings, rc_context(_STYLE):
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(content.getvalue())
    shapes = {f"#{one.get('id')}": one for one in root.iter(f"{_SVG}path") if one.get("id")}
    parts = "".join(_part(group, shapes, figure.__dict__.get("_notes", [])) for group in _groups(root))
    head = f'<svg class="{kind}" viewBox="{root.get("viewBox")}" role="img" aria-label="{escape(title)}">'
    return Markup(f'{head}{parts}<line class="cursor" y1="0" y2="0" visibility="hidden"/></svg>')


def _groups(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (one for one in root.iter(f"{_SVG}g") if (one.get("id") or "").startswith("."))


def _part(group: ElementTree.Element, shapes: Mapping[str, ElementTree.Element], notes: Sequence[Any]) -> str:
    classes, _, number = str(group.get("id"))[1:].partition("#")
    drawn = "".join(_element(one, classes, shapes) for one in group.iter() if one.get("id") is None)
    if not number or not drawn:
        return drawn
    title, attributes = notes[int(number)]
    held = "".join(f' {name.replace("_", "-")}="{escape(value)}"' for name, value in attributes.items())
    return f"<g{held}><title>{escape(title)}</title>{drawn}</g>"


def _element(one: ElementTree.Element, classes: str, shapes: Mapping[str, ElementTree.Element]) -> str:
    if one.tag == f"{_SVG}use":  # a marker: its shape stands elsewhere
        place = f"translate({_rounded(one.get('x', '0'))} {_rounded(one.get('y', '0'))})"
        kind = re.sub(r"\bline\b", "mark", classes)
        return f'<path class="{kind}" transform="{place}" d="{_rounded(shapes[one.get(_LINK, "")].get("d", ""))}"/>'
    if one.tag == f"{_SVG}path":
        return f'<path class="{classes}" d="{_rounded(one.get("d", ""))}"/>'
    if one.tag != f"{_SVG}text":
        return ""
    anchor = re.search(r"text-anchor: (\w+)", one.get("style", ""))
    places = {"text-anchor": anchor and anchor[1]} | {name: one.get(name) for name in ("x", "y", "transform")}
    if str(places["transform"]).startswith("rotate(-0 "):
        del places["transform"]
    held = "".join(f' {name}="{_rounded(value)}"' for name, value in places.items() if value)
    return f'<text class="{classes}"{held}>{escape(one.text or "")}</text>'


def _rounded(drawn: str) -> str:
    """Write a path, or a place, with one digit after the point, which is less than anybody sees."""
    drawn = re.sub(r"-?\d+\.?\d*(?:e-?\d+)?", lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), drawn)
    return re.sub(r"\s*\b([MLCQVHz])\s*", r"\1", drawn).strip()


def headed(axes: Axes, title: str, caption: str, letters: int = 104) -> None:
    """Write a headline above axes and, below that, a caption; leave out what is not needed of the frame."""
    lines = [part for line in caption.split("\n") for part in textwrap.wrap(line, letters)]
    axes.set_title(title, loc="left", fontsize=15, fontweight="bold", pad=10 + 14 * len(lines))
    axes.text(0, 1.02, "\n".join(lines), transform=axes.transAxes, fontsize=9.5, color=GREY, verticalalignment="bottom")
    axes.spines[["top", "right"]].set_visible(False)


def apart(centres: Sequence[float], tall: Sequence[float], top: float) -> list[float]:
    """Return the centres of boxes of these heights, moved so that none overlaps another or passes the top.

    Examples
    --------
    >>> apart([0.0, 0.5, 5.0], [1.0, 1.0, 1.0], top=5.0)
    [0.0, 1.0, 5.0]
    """
    order = sorted(range(len(centres)), key=lambda i: centres[i])
    placed = list(centres)
    for below, above in itertools.pairwise(order):
        placed[above] = max(placed[above], placed[below] + (tall[below] + tall[above]) / 2)
    for last in order[-1:]:
        placed[last] = min(placed[last], top)
    for above, below in itertools.pairwise(reversed(order)):
        placed[below] = min(placed[below], placed[above] - (tall[below] + tall[above]) / 2)
    return placed
