"""Rows of cells that show how decisions differ from the first of them."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from sottovoce._arrays import Floats
from sottovoce.report._canvas import note, sized, to_svg
from sottovoce.report._charts import WIDTH
from sottovoce.report._numbers import significant

__all__ = ["strips"]

_ROW, _NAMES, _TOP, _BOTTOM = 26, 140, 6, 8
_LETTER = 9.4  # units of a letter of a column's name, which stands upright below, at the size that phones get
_ROOM = 14.0  # units that a cell must have for its name below
_LETTERS = 14  # of a name, at the size that phones get
_MARKED = 9.0  # units that a cell must have for a sign in it
_SAME = 1e-9


def strips(rows: Sequence[str], columns: Sequence[str], values: Floats, title: str) -> Markup:
    """Return a row of cells for each decision; those after the first are marked where they differ from it.

    Parameters
    ----------
    rows, columns
        Their names.
    values
        Decisions, one in each row.
    title
        What a screen reader says.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = strips(["for all", "phone"], ["news", "sport"], np.array([[1.0, 0.0], [0.0, 1.0]]), "Differences")
    >>> "phone, sport: 1.00, more than 0.00" in drawn
    True
    """
    wide = (WIDTH - _NAMES) / len(columns)
    below = [_shortened(one) for one in columns] if wide >= _ROOM else []
    room = _BOTTOM + round(_LETTER * max(map(len, below), default=0))
    axes = sized(WIDTH, _TOP + _ROW * len(rows) + room, _NAMES, 0, _TOP, room)
    axes.spines["bottom"].set_visible(False)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), yticks=[])
    upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "right", "va": "center"}
    axes.set_xticks([place + 0.5 for place in range(len(below))], below, **upright)
    axes.tick_params(axis="x", length=0, pad=_BOTTOM - 2)
    largest = max(1e-12, float(abs(values).max()))
    for number, (name, row) in enumerate(zip(rows, values, strict=True)):
        words = note(axes, "tick" if number else "name", name)
        axes.text(-8 / wide, number + 0.65, _shortened(name), horizontalalignment="right", gid=words)
        for place, (column, value, first) in enumerate(zip(columns, row, values[0], strict=True)):
            _cell(axes, f"{name}, {column}", (float(value), float(first)), largest, (place, number), wide)
    return to_svg(axes, title)


def _shortened(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _cell(axes: Axes, name: str, values: tuple[float, float], largest: float, at: tuple[int, int], wide: float) -> None:
    """A cell, darker the larger its value; with a sign where it differs, so that colours are not needed."""
    value, first = values
    said, style, sign = f"{name}: {significant(value)}", "c0", ""
    if value > first + _SAME:
        said, style, sign = f"{said}, more than {significant(first)}", "c2", "+"
    elif value < first - _SAME:
        said, style, sign = f"{said}, less than {significant(first)}", "c1 hollow", "−"
    strength = max(abs(value), abs(value - first)) / largest if sign else abs(value) / largest
    gap = min(2.0, wide / 8) / wide
    box = (at[0] + gap / 2, at[1] + 2 / _ROW), 1 - gap, 1 - 4 / _ROW
    axes.add_patch(Rectangle(*box, gid=note(axes, "cell", said)))
    if strength > _SAME:
        axes.add_patch(Rectangle(*box, gid=note(axes, f"bar {style}", said, fill_opacity=f"{strength:.2f}")))
    if sign and wide >= _MARKED:
        ink = "sign" if sign == "+" else "sign minus"
        axes.text(at[0] + 0.5, at[1] + 0.68, sign, horizontalalignment="center", gid=f".{ink}")
