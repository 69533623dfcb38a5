"""What a sweep writes: one record per cell, one tidy table, and never half a file."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from sottovoce._disk import write_atomically
from sottovoce.lab.sweeps.cell import Cell, Result

_CELL = {one.name: one.type for one in fields(Cell)}
_RESULT = {one.name: one.type for one in fields(Result) if one.name != "cell"}
_BESIDE = {"regret": "regret_per_event", "never_learning": "never_learning_per_event"}  # what follows from another
COLUMNS: dict[str, Any] = dict(_CELL)
"""Of the table, in order, with what they hold."""
for _name, _kind in _RESULT.items():
    COLUMNS[_name] = _kind
    if _name in _BESIDE:
        COLUMNS[_BESIDE[_name]] = float


def row_of(result: Result) -> dict[str, str]:
    """Return a result as text, by column; floats so that they read back the same, bit for bit.

    Examples
    --------
    >>> result = Result(Cell("ball", "default", 0.1, 1_000, 0), "done", regret=1 / 3)
    >>> row_of(result)["regret"], result_of(row_of(result)).regret == 1 / 3
    ('0.3333333333333333', True)
    """
    return {name: text for name, (_, text) in columns_of(result).items()}


def columns_of(result: Result) -> dict[str, tuple[Any, str]]:
    """Return what a result has in each column, as a value and as text."""
    values = {name: getattr(result.cell if name in _CELL else result, name) for name in COLUMNS}
    return {name: (value, value if isinstance(value, str) else repr(value)) for name, value in values.items()}


def result_of(row: dict[str, str]) -> Result:
    """Return the result that `row_of` made a row of."""
    cell = Cell(**{name: kind(row[name]) for name, kind in _CELL.items()})  # type: ignore[operator]
    return Result(cell, **{name: kind(row[name]) for name, kind in _RESULT.items()})  # type: ignore[operator]


def write_record(path: Path, result: Result) -> None:
    """Write one cell's result."""
    write_atomically(path, json.dumps(row_of(result), indent=1).encode())


def read_record(path: Path) -> Result | None:
    """Return what `write_record` wrote, or None if there is no such file."""
    try:
        return result_of(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(
            f"{path} is not a cell's record, or is damaged ({problem}): delete it to run it again"
        ) from None


def write_table(path: Path, results: Iterable[Result]) -> None:
    """Write the tidy table."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(row_of(result) for result in results)
    write_atomically(path, text.getvalue().encode())
