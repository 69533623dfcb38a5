"""Tables of shaded tiles, which several problems draw their decisions with."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BLUE", "GREY", "INK", "bar_below", "font_size", "percent", "tile"]

BLUE, INK, GREY = "#0072b2", "#1d2129", "#555555"  # the decision; what it is made for, and words: no algorithm's colour
_PALE, _DARK = np.array([0.93, 0.95, 0.97]), np.array([0.0, 0.447, 0.698])


def font_size(axes: "Axes", columns: float, rows: float, *, most: float = 12.0) -> float:
    """Return a font size that fits into one cell of a table that fills the axes; below 4.5 nothing can be read."""
    corners = axes.get_position()
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    cell = min(0.26 * corners.width * width / columns, 0.38 * corners.height * height / rows)
    return float(min(most, 72.0 * cell))


def tile(axes: "Axes", left: float, top: float, share: float, *, size: float, text: str | None = None) -> None:
    """Draw the tile of a cell (column `left`, row `top`, downwards), darker the larger its share, with a text."""
    from matplotlib.patches import FancyBboxPatch

    share = min(1.0, max(0.0, share))
    colour = tuple(_PALE + share * (_DARK - _PALE))
    box = FancyBboxPatch(
        (left + 0.06, top + 0.06), 0.88, 0.88, boxstyle="round,pad=0,rounding_size=0.08", facecolor=colour, linewidth=0
    )
    axes.add_patch(box)
    if size >= 4.5:
        ink = "white" if share > 0.45 else GREY
        label = percent(share) if text is None else text
        axes.text(left + 0.5, top + 0.5, label, ha="center", va="center", fontsize=size, color=ink)


def bar_below(axes: "Axes", left: float, top: float, share: float, *, size: float) -> None:
    """Draw a bar below the tile of a cell, as long as a share of it."""
    axes.plot([left + 0.08, left + 0.92], [top + 1.05] * 2, color="#e4e4e4", linewidth=size / 2)
    ends = [left + 0.08, left + 0.08 + 0.84 * share]
    axes.plot(ends, [top + 1.05] * 2, color=INK, linewidth=size / 2, solid_capstyle="butt")


def percent(share: float) -> str:
    """Write 0.4 as 40%, and what rounds to nothing as nothing."""
    return f"{share:.0%}" if share >= 0.005 else ""
