"""The table of an A/B test: CSV or JSON lines with an arm and a loss. An error names the line, never its values.

All of it is read, and every row looked at, before a budget is charged or a number released.
"""

import hashlib
import json
import math
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sottovoce.cli.rows import LineError, Rows, is_empty, number_in, read_rows


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
        with file.open(encoding="utf-8-sig", newline="") as source:
            self._read(read_rows(source, ("arm", column)), running, ends)

    def _read(self, rows: Rows, running: dict[str, Any], ends: Sequence[int]) -> None:
        for number, fields in rows:
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
            raise LineError(number, f"its arm is none of {', '.join(self.values)}")
        return named

    def _value(self, number: int, fields: dict[str, Any]) -> float:
        found, why = fields.get(self._column), ""
        value = number_in(found)
        if is_empty(found):
            if self._missing == "middle":
                return math.nan
            why = f"it has no {self._column}; with --missing middle it counts as the middle of the range"
        if value is None or not math.isfinite(value) or (self._valid is not None and not self._valid(value)):
            what = "a finite number" if self._valid is None else "a report that the channel sends"
            raise LineError(number, why or f"its {self._column} is not {what}")
        return value
