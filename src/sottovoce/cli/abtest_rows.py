"""Rows of an A/B test from a file: CSV or JSON lines with an arm and a loss. An error names the line, never its values.

The file is read twice, a row at a time: first every row is looked at, so that a bad one is refused before a budget is
charged or a number released; then losses are told.
"""

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from sottovoce.cli.study_stream import LineError

_MISSING = ("refuse", "middle")


class Row(NamedTuple):
    """One event: its arm, and its loss or report; None if that never came."""

    arm: int
    value: float | None

    def __repr__(self) -> str:
        return f"Row(arm={self.arm}, <withheld>)"


class Rows:
    """The rows of a file.

    Parameters
    ----------
    file
        CSV with a header, or JSON lines if its first line begins with a brace.
    arms
        Names of the arms; a row of any other arm is refused.
    column
        "loss" or "report".
    missing
        What an empty loss is: "refuse", or "middle" for a person whose loss never came.
    valid
        Whether a value is one that there can be, besides being finite; for reports.
    """

    def __init__(
        self,
        file: Path,
        arms: Sequence[str],
        *,
        column: str = "loss",
        missing: str = "refuse",
        valid: Callable[[float], bool] | None = None,
    ) -> None:
        if not file.is_file():
            raise ValueError(
                f"{file} is no file; it is read twice, so that nothing is released if a row is bad: a pipe will not do"
                if file.exists()
                else f"there is no file {file}"
            )
        if missing not in _MISSING:
            raise ValueError(f"missing must be refuse or middle, got {missing!r}")
        self._file, self._column, self._missing, self._valid = file, column, missing, valid
        self._places = {name: place for place, name in enumerate(arms)}

    def read(self, skip: Sequence[int] = (), see: Callable[[int, dict[str, Any]], None] | None = None) -> Iterator[Row]:
        """Yield the rows; of each arm the first few, which were released before, are passed over.

        Parameters
        ----------
        skip
            How many, for each arm.
        see
            Called with the arm and the fields of every row, of those that are passed over, too.
        """
        left = list(skip) or [0] * len(self._places)
        for number, fields in self._fields():
            arm = self._arm(number, fields)
            if see is not None:
                see(arm, fields)
            if left[arm]:
                left[arm] -= 1
                continue
            yield Row(arm, self._value(number, fields))

    def _arm(self, number: int, fields: dict[str, Any]) -> int:
        named = fields.get("arm")
        place = self._places.get(str(named).strip()) if isinstance(named, str | int) else None
        if place is None:  # it is not shown: columns may have been confused
            raise LineError(f"line {number}", f"its arm is none of {', '.join(self._places)}")
        return place

    def _value(self, number: int, fields: dict[str, Any]) -> float | None:
        found = fields.get(self._column)
        if found is None or (isinstance(found, str) and not found.strip()):
            if self._missing == "middle":
                return None
            raise LineError(
                f"line {number}",
                f"it has no {self._column}; with --missing middle it counts as the middle of the range",
            )
        value = math.nan
        if not isinstance(found, bool | list | dict):
            with suppress(ValueError, OverflowError):
                value = float(found)
        if not math.isfinite(value) or (self._valid is not None and not self._valid(value)):
            what = "a finite number" if self._valid is None else "a report that the channel sends"
            raise LineError(f"line {number}", f"its {self._column} is not {what}")
        return value

    def _fields(self) -> Iterator[tuple[int, dict[str, Any]]]:
        # Errors are raised outside `except`: what was caught holds the line, and would travel along as their context.
        why, number = "", 0
        with self._file.open(encoding="utf-8-sig", newline="") as lines:
            try:
                for number, first in enumerate(lines, start=1):
                    if first.strip():
                        read = self._json if first.lstrip().startswith("{") else self._csv
                        for at, fields in read(chain((first,), lines), number):
                            number = at
                            yield at, fields
                        break
            except UnicodeDecodeError:
                why = "it is not text in UTF-8"
            except csv.Error:
                why = "it is not CSV"
        if why:
            raise LineError(f"after line {number}", why)

    @staticmethod
    def _json(lines: Iterator[str], start: int) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(lines, start=start):
            if not line.strip():
                continue
            fields = None
            with suppress(ValueError, RecursionError):
                fields = json.loads(line)
            if not isinstance(fields, dict):
                raise LineError(f"line {number}", 'it is not a JSON object such as {"arm": "A", "loss": 0.5}')
            yield number, fields

    def _csv(self, lines: Iterator[str], start: int) -> Iterator[tuple[int, dict[str, Any]]]:
        reader = csv.reader(lines, skipinitialspace=True)
        names = [name.strip().lower() for name in next(reader)]
        for name in ("arm", self._column):
            if names.count(name) != 1:
                raise LineError(
                    f"line {start}", f"it must name the columns, with one {name}, such as arm,{self._column}"
                )
        for row in reader:
            if not row:
                continue
            number = start + reader.line_num - 1
            if len(row) != len(names):
                raise LineError(f"line {number}", f"it has {len(row)} fields, and the first line {len(names)}")
            yield number, dict(zip(names, row, strict=True))
