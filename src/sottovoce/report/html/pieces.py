"""What pages are made of: headline numbers, charts with their words, and tables.

A table has words for people, and beside them the exact value, so that it can be checked.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from markupsafe import Markup, escape

from sottovoce.report.numbers import significant

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Mark:
    """A word on how something is: `level` is "bad", "note" or "good"."""

    level: str
    words: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A headline number, with the words before and after it."""

    say: str
    number: str
    fine: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its title and caption."""

    title: str
    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class TableCell:
    """One entry: words, something softer after it, and its exact value.

    Examples
    --------
    >>> number(1 / 3).words, number(1 / 3).attributes
    ('0.333', Markup(' class="n" data-value="0.3333333333333333"'))
    """

    words: str
    aside: str = ""
    value: str | None = None
    style: str = ""

    @property
    def attributes(self) -> Markup:
        """What stands in its tag."""
        style = f' class="{escape(self.style)}"' if self.style else ""
        value = "" if self.value is None else f' data-value="{escape(self.value)}"'
        return Markup(style + value)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a name, by which it is found in the page."""

    name: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    sortable: bool = False

    def holds_numbers(self, column: int) -> bool:
        """Whether a column is one of numbers, which stand on the right."""
        return any(row[column].style == "n" for row in self.rows)


def table(
    name: str,
    caption: str,
    items: Iterable[Item],
    columns: Mapping[str, Callable[[Item], Any]],
    *,
    sortable: bool = False,
) -> Table:
    """Return a table with a row for each item, and in each column what a function says of it: a text, a number, a cell.

    Examples
    --------
    >>> made = table("squares", "Squares", [2, 3], {"of": str, "square": lambda one: one**2})
    >>> [[cell.words for cell in row] for row in made.rows], [made.holds_numbers(column) for column in (0, 1)]
    ([['2', '4'], ['3', '9']], [False, True])
    """
    rows = tuple(tuple(_cell(read(one)) for read in columns.values()) for one in items)
    return Table(name, caption, tuple(columns), rows, sortable)


def _cell(said: Any) -> TableCell:
    if isinstance(said, TableCell):
        return said
    return text(said) if isinstance(said, str) else number(said)


def number(value: float, *, error: float | None = None, times: bool = False) -> TableCell:
    """Return a cell that holds a number; whole numbers are written in full."""
    words = f"{value:,}" if isinstance(value, int) else significant(value)
    aside = "" if error is None or not error > 0 else f"± {significant(error, 2)}"
    return TableCell(words + ("×" if times and words != "–" else ""), aside, repr(value), "n")


def epsilon_cell(epsilon: float) -> TableCell:
    """Return a cell that holds an epsilon as people write it."""
    return TableCell("none" if math.isinf(epsilon) else f"{epsilon:g}", value=repr(epsilon), style="n")


def text(words: str, *, long: bool = False) -> TableCell:
    """Return a cell that holds words."""
    return TableCell(words, style="long" if long else "")
