"""Rows of a file: JSON lines, or CSV with a header. An error names the line, never what it holds."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

Rows = Iterator[tuple[int, dict[str, Any]]]


class LineError(ValueError):
    """A line that cannot be read, or whose loss is refused: its number (0 for none), and why."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"line {number}: {why}" if number else why)


def read_rows(source: Iterable[str], columns: Sequence[str], *, unless: str = "") -> Rows:
    """Yield the number of each line, from 1, and what it holds by name.

    Parameters
    ----------
    source
        Lines of text: JSON objects if the first one begins with a brace, otherwise CSV.
    columns
        What a header of CSV must name, each once; what stands elsewhere is handed on as well.
    unless
        A column beside which the last of them may be missing.

    Examples
    --------
    >>> list(read_rows(["id,loss", "1.0.0.ab,0.5"], ("id", "loss")))
    [(2, {'id': '1.0.0.ab', 'loss': '0.5'})]
    """
    lines = iter(source)
    for number, first in enumerate(lines, start=1):
        if first.strip():
            rest = chain((first,), lines)
            yield from _json(rest, number) if first.lstrip()[0] == "{" else _csv(rest, number, columns, unless)


def _json(lines: Iterator[str], start: int) -> Rows:
    for number, line in enumerate(lines, start=start):
        fields = None
        with suppress(ValueError, RecursionError):
            fields = json.loads(line) if line.strip() else {}
        if not isinstance(fields, dict):
            raise LineError(number, "it is not a JSON object")
        if fields:
            yield number, fields


def _csv(lines: Iterator[str], start: int, columns: Sequence[str], unless: str) -> Rows:
    reader = csv.reader(lines, skipinitialspace=True)
    names = [name.strip().lower() for name in next(reader)]
    for name in columns:
        if names.count(name) != 1 and not (unless in names and name == columns[-1] and name not in names):
            said = f"with one {name}, such as {','.join(columns)}; there are {_shown(names)}"
            raise LineError(start, f"the first line must name the columns, {said}")
    try:
        for row in filter(None, reader):
            number = start + reader.line_num - 1
            if len(row) != len(names):
                raise LineError(number, f"it has {len(row)} fields, and the first line {len(names)}")
            yield number, dict(zip(names, row, strict=True))
    except csv.Error:
        raise LineError(start + reader.line_num - 1, "it is not CSV") from None


def _shown(names: list[str]) -> str:
    """Show names of columns; what does not look like a name may be a loss, and is not shown."""
    return ", ".join(name if re.fullmatch(r"[a-z_][a-z_ ]*[0-9]{0,2}", name) else "(not a name)" for name in names)


def number_in(value: Any) -> float | None:
    """Return the number that a field holds; None if it holds none."""
    if not isinstance(value, bool | list | dict):
        with suppress(ValueError, OverflowError, TypeError):
            return float(value)
    return None


def is_empty(value: Any) -> bool:
    """Whether a field holds nothing."""
    return value is None or (isinstance(value, str) and not value.strip())
