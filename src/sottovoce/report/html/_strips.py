"""Rows of cells that show how decisions differ from the first of them."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from sottovoce._arrays import Floats
from sottovoce.report._numbers import significant

__all__ = ["strips"]

_WIDTH, _ROW, _NAMES, _TOP, _BOTTOM = 520, 26, 140, 6, 8
_LETTER = 9.4  # pixels of a letter of a column's name, which stands upright below, at the size that phones get
_ROOM = 14.0  # pixels that a cell must have for its name below
_LETTERS = 14  # of a name, at the size that phones get
_MARKED = 9.0  # pixels that a cell must have for a sign in it
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
    wide = (_WIDTH - _NAMES) / len(columns)
    below = [_shortened(one) for one in columns] if wide >= _ROOM else []
    base = _TOP + _ROW * len(rows) + _BOTTOM
    height = base + round(_LETTER * max(map(len, below), default=0))
    largest = max(1e-12, float(abs(values).max()))
    parts = []
    for number, (name, row) in enumerate(zip(rows, values, strict=True)):
        top = _TOP + _ROW * number
        style = "name" if number == 0 else "tick"
        parts.append(
            f'<text class="{style}" x="{_NAMES - 8}" y="{top + 17}" text-anchor="end">{escape(_shortened(name))}'
            f"<title>{escape(name)}</title></text>"
        )
        for place, (column, value, first) in enumerate(zip(columns, row, values[0], strict=True)):
            left = _NAMES + wide * place
            parts.append(_cell(f"{name}, {column}", float(value), float(first), largest, left, top, wide))
    for place, name in enumerate(below):
        at = f"translate({_NAMES + wide * (place + 0.5) + 4:.1f} {base - 2}) rotate(-90)"
        parts.append(f'<text class="tick" transform="{at}" text-anchor="end">{escape(name)}</text>')
    head = f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    return Markup(head + "".join(parts) + "</svg>")


def _shortened(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _cell(name: str, value: float, first: float, largest: float, left: float, top: float, wide: float) -> Markup:
    """A cell, darker the larger its value; with a sign where it differs, so that colours are not needed."""
    gap = min(2.0, wide / 8)
    said, style, sign = f"{name}: {significant(value)}", "c0", ""
    if value > first + _SAME:
        said, style, sign = f"{said}, more than {significant(first)}", "c2", "+"
    elif value < first - _SAME:
        said, style, sign = f"{said}, less than {significant(first)}", "c1", "−"
    strength = max(abs(value), abs(value - first)) / largest if sign else abs(value) / largest
    box = f'x="{left + gap / 2:.1f}" y="{top + 2}" width="{wide - gap:.1f}" height="{_ROW - 4}" rx="3"'
    drawn = f'<rect class="cell" {box}/>'
    if strength > _SAME:
        drawn += f'<rect class="bar {style}{" hollow" if sign == "−" else ""}" {box} fill-opacity="{strength:.2f}"/>'
    if sign and wide >= _MARKED:
        ink = "sign" if sign == "+" else "sign minus"
        middle = left + wide / 2
        drawn += f'<text class="{ink}" x="{middle:.1f}" y="{top + 17}" text-anchor="middle">{sign}</text>'
    return Markup(f"<g><title>{escape(said)}</title>{drawn}</g>")
