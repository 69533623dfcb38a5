"""What people print: headings, each with names and texts below it. In a notebook the same parts are tables.

Tests: tests/test_printed.py.
"""

from collections.abc import Iterable, Sequence
from html import escape

Part = tuple[str, Sequence[tuple[str, str]]]
"""A heading, and rows of names and texts; a text that needs no name has an empty one."""

_CELL = ' style="text-align: left; vertical-align: top"'  # notebooks set tables flush right


class Printed:
    """A value that prints itself in parts; a class says what these are, and how wide their names."""

    __slots__ = ()
    _name_width = 8

    def _parts(self) -> Iterable[Part]:
        """Return what it says, part by part."""
        raise TypeError(f"{type(self).__name__} does not say what is printed of it")

    def __str__(self) -> str:
        return "\n".join(line for heading, rows in self._parts() for line in (heading, *map(self._line, rows)) if line)

    def _line(self, row: tuple[str, str]) -> str:
        name, text = row
        return f"  {name:<{self._name_width}} {text}" if name else f"  {text}"

    def _repr_html_(self) -> str:
        """Return the same parts as tables, for notebooks."""
        return "".join(_table(heading, rows) for heading, rows in self._parts())


def _table(heading: str, rows: Sequence[tuple[str, str]]) -> str:
    if not rows:
        return f"<p>{escape(heading)}</p>"
    caption = f"<caption{_CELL}>{escape(heading)}</caption>" if heading else ""
    return f"<table>{caption}<tbody>{''.join(map(_row, rows))}</tbody></table>"


def _row(row: tuple[str, str]) -> str:
    name, text = row
    if not name:
        return f'<tr><td colspan="2"{_CELL}>{escape(text)}</td></tr>'
    return f'<tr><th scope="row"{_CELL}>{escape(name)}</th><td{_CELL}>{escape(text)}</td></tr>'
