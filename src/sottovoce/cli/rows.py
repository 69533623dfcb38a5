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
    """A line that cannot be read, or whose loss is refused: where, and why."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.why = why


def read_rows(source: Iterable[str], columns: Sequence[str], *, unless: str = "", bare: bool = False) -> Rows:
    """Yield the number of each line, from 1, and what it holds by name.

    Parameters
    ----------
    source
        Lines of text: JSON objects if the first one begins with a brace, otherwise CSV.
    columns
        What a header of CSV must name, each once; what stands elsewhere is handed on as well.
    unless
        A column beside which the last of them may be missing.
    bare
        Whether lines may be the first column and nothing else, without a header.

    Examples
    --------
    >>> list(read_rows(["id,loss", "1.0.0.ab,0.5"], ("id", "loss")))
    [(2, {'id': '1.0.0.ab', 'loss': '0.5'})]
    """
    # Errors are raised outside `except`: what was caught holds the line, and would travel along as their context.
    lines, number, why = iter(source), 0, ""
    try:
        for number, first in enumerate(lines, start=1):
            if not first.strip():
                continue
            rest, names = chain((first,), lines), [name.strip().lower() for name in first.split(",")]
            if first.lstrip().startswith("{"):
                found = _json(rest, number, columns)
            elif bare and columns[0] not in names:
                found = ((at, {columns[0]: line}) for at, line in enumerate(rest, start=number) if line.strip())
            else:
                found = _csv(rest, number, columns, unless)
            for at, fields in found:
                number = at
                yield at, fields
            return
    except UnicodeDecodeError:
        why = "it is not text in UTF-8"
    except csv.Error:
        why = "it is not CSV"
    if why:
        raise LineError(f"after line {number}", why)


def _json(lines: Iterator[str], start: int, columns: Sequence[str]) -> Rows:
    for number, line in enumerate(lines, start=start):
        fields = None
        with suppress(ValueError, RecursionError):
            fields = json.loads(line) if line.strip() else None
        if isinstance(fields, dict):
            yield number, fields
        elif line.strip():
            such = ", ".join(f'"{name}": ...' for name in columns)
            raise LineError(f"line {number}", f"it is not a JSON object such as {{{such}}}")


def _csv(lines: Iterator[str], start: int, columns: Sequence[str], unless: str) -> Rows:
    reader = csv.reader(lines, skipinitialspace=True)
    names = [name.strip().lower() for name in next(reader)]
    for name in columns:
        if names.count(name) != 1 and not (unless in names and name == columns[-1] and name not in names):
            said = f"with one {name}, such as {','.join(columns)}; there are {_shown(names)}"
            raise LineError(f"line {start}", f"the first line must name the columns, {said}")
    for row in filter(None, reader):
        number = start + reader.line_num - 1
        if len(row) != len(names):
            raise LineError(f"line {number}", f"it has {len(row)} fields, and the first line {len(names)}")
        yield number, dict(zip(names, row, strict=True))


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
