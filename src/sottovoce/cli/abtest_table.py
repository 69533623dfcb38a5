"""The table of an A/B test: CSV or JSON lines with an arm and a loss. An error names the line, never its values.

All of it is read, and every row looked at, before a budget is charged or a number released.
"""

import csv
import hashlib
import json
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from sottovoce.cli.study_stream import LineError

Fields = Iterator[tuple[int, dict[str, Any]]]


class Table:
    """The losses of each arm, in order, NaN for those that never came; and digests of its first rows.

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
    key, ends
        Of the digests, and after how many rows of an arm there is one: without the key they say nothing of the losses.
    """

    def __init__(
        self,
        file: Path,
        arms: Sequence[str],
        *,
        column: str = "loss",
        missing: str = "refuse",
        valid: Callable[[float], bool] | None = None,
        key: bytes = b"",
        ends: Sequence[int] = (),
    ) -> None:
        if not file.exists():
            raise ValueError(f"there is no file {file}")
        if missing not in ("refuse", "middle"):
            raise ValueError(f"missing must be refuse or middle, got {missing!r}")
        self._column, self._missing, self._valid = column, missing, valid
        self.values = {name: array("d") for name in arms}
        self.digests: dict[str, dict[str, str]] = {name: {} for name in arms}  # by how many rows: a text, as in a file
        running = {name: hashlib.blake2b(key=key, digest_size=32) for name in arms}
        for number, fields in self._rows(file):
            arm, value = self._arm(number, fields), self._value(number, fields)
            self.values[arm].append(value)
            if ends and len(self.values[arm]) <= ends[-1]:
                row = json.dumps(fields, sort_keys=True).encode()
                running[arm].update(len(row).to_bytes(8, "big") + row)
                if len(self.values[arm]) in ends:
                    self.digests[arm][str(len(self.values[arm]))] = running[arm].hexdigest()

    def _arm(self, number: int, fields: dict[str, Any]) -> str:
        named = str(fields.get("arm")).strip()
        if named not in self.values:  # it is not shown: columns may have been confused
            raise LineError(f"line {number}", f"its arm is none of {', '.join(self.values)}")
        return named

    def _value(self, number: int, fields: dict[str, Any]) -> float:
        found, value, why = fields.get(self._column), math.nan, ""
        if found is None or (isinstance(found, str) and not found.strip()):
            if self._missing == "middle":
                return value
            why = f"it has no {self._column}; with --missing middle it counts as the middle of the range"
        elif not isinstance(found, bool | list | dict):
            with suppress(ValueError, OverflowError):
                value = float(found)
        if why or not math.isfinite(value) or (self._valid is not None and not self._valid(value)):
            what = "a finite number" if self._valid is None else "a report that the channel sends"
            raise LineError(f"line {number}", why or f"its {self._column} is not {what}")
        return value

    def _rows(self, file: Path) -> Fields:
        # Errors are raised outside `except`: what was caught holds the line, and would travel along as their context.
        why, number = "", 0
        with file.open(encoding="utf-8-sig", newline="") as lines:
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
    def _json(lines: Iterator[str], start: int) -> Fields:
        for number, line in enumerate(lines, start=start):
            fields = None
            with suppress(ValueError, RecursionError):
                fields = json.loads(line) if line.strip() else None
            if isinstance(fields, dict):
                yield number, fields
            elif line.strip():
                raise LineError(f"line {number}", 'it is not a JSON object such as {"arm": "A", "loss": 0.5}')

    def _csv(self, lines: Iterator[str], start: int) -> Fields:
        reader = csv.reader(lines, skipinitialspace=True)
        names = [name.strip().lower() for name in next(reader)]
        for name in ("arm", self._column):
            if names.count(name) != 1:
                said = f"it must name the columns, with one {name}, such as arm,{self._column}"
                raise LineError(f"line {start}", said)
        for row in filter(None, reader):
            number = start + reader.line_num - 1
            if len(row) != len(names):
                raise LineError(f"line {number}", f"it has {len(row)} fields, and the first line {len(names)}")
            yield number, dict(zip(names, row, strict=True))
