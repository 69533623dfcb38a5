"""What pages are made of: headline numbers, charts with their words, and tables.

A table has words for people, and beside them the exact value, so that it can be checked.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from sottovoce.report._numbers import significant

__all__ = ["Chart", "ColumnHead", "Mark", "Table", "TableCell", "Tile", "epsilon_cell", "heads", "number", "text"]


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
class ColumnHead:
    """The head of a column."""

    words: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a name, by which it is found in the page."""

    name: str
    caption: str
    heads: tuple[ColumnHead, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    sortable: bool = False


def number(value: float, *, error: float | None = None, times: bool = False, exact: str | None = None) -> TableCell:
    """Return a cell that holds a number; whole numbers are written in full."""
    words = f"{value:,}" if isinstance(value, int) else significant(value)
    aside = "" if error is None or not error > 0 else f"± {significant(error, 2)}"
    return TableCell(
        words + ("×" if times and words != "–" else ""), aside, repr(value) if exact is None else exact, "n"
    )


def epsilon_cell(epsilon: float) -> TableCell:
    """Return a cell that holds an epsilon as people write it."""
    return TableCell("none" if math.isinf(epsilon) else f"{epsilon:g}", value=repr(epsilon), style="n")


def text(words: str, *, long: bool = False) -> TableCell:
    """Return a cell that holds words."""
    return TableCell(words, style="long" if long else "")


def heads(words: Sequence[str], texts: int) -> tuple[ColumnHead, ...]:
    """Return heads of which the first few stand over texts, the others over numbers."""
    return tuple(ColumnHead(word, number=i >= texts) for i, word in enumerate(words))
