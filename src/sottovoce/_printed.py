"""What people print: headings, each with names and texts below it.

Tests: tests/test_printed.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["Part", "Printed"]

Part = tuple[str, Sequence[tuple[str, str]]]
"""A heading, and rows of names and texts; a text that needs no name has an empty one."""


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

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the same in notebooks."""
        printer.text(str(self))
