"""Losses from a stream: CSV or JSON lines, told to a study in blocks. An error names the line, never what it holds."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sottovoce.cli.rows import LineError, is_empty, number_in, read_rows
from sottovoce.errors import (
    AlreadyTold,
    InvalidLoss,
    RefusedCall,
    RoundClosed,
    SottovoceError,
    StorageError,
    StudyBehind,
    UnknownAction,
)
from sottovoce.studies import Study

_REFUSED = (AlreadyTold, RoundClosed, UnknownAction, InvalidLoss, ValueError)


class Line(NamedTuple):
    """One loss: the number of its line (from 1), its id, and the loss or report; or losses by item."""

    number: int
    id: str
    value: Any


class StreamReport:
    """How far a stream has come: lines that the study has accepted, and lines that were left out."""

    def __init__(self) -> None:
        self.accepted = 0  # on record: told now or, under repeat='ignore', before
        self.without_loss = 0
        self.refused = 0

    def to_dict(self) -> dict[str, int]:
        """Return plain data."""
        return {"accepted": self.accepted, "without_loss": self.without_loss, "refused": self.refused}


def read_lines(source: Iterable[str], column: str, report: StreamReport, *, items: bool = False) -> Iterator[Line]:
    """Read ids and losses from JSON lines (if the first line begins with a brace) or CSV with a header.

    Parameters
    ----------
    source
        Lines of text.
    column
        "loss" or "report".
    report
        Counts lines without a loss that none was wanted of.
    items
        Whether a line of JSON may tell losses by item: an object, or a list.

    Examples
    --------
    >>> list(read_lines(["id,loss", "1.0.0.ab,0.5"], "loss", StreamReport()))
    [Line(number=2, id='1.0.0.ab', value=0.5)]
    """
    for number, fields in read_rows(source, ("id", column), unless="wants_loss"):
        line = _line(number, fields, column, items)
        if line is None:
            report.without_loss += 1
        else:
            yield line


def _wants_none(fields: dict[str, Any]) -> bool:
    return str(fields.get("wants_loss")).strip().lower() in ("false", "0")


@contextmanager
def opened(file: str) -> Iterator[Any]:
    """Yield the lines of a file, or of the standard input."""
    if file == "-":
        yield sys.stdin
        return
    if not Path(file).exists():  # a pipe is no regular file, and will do
        raise ValueError(f"there is no file {file}")
    with open(file, encoding="utf-8-sig", newline="") as source:
        yield source


def read_ids(source: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Read ids with the numbers of their lines: JSON lines, CSV with a column id, or an id on each line.

    Examples
    --------
    >>> list(read_ids(["1.0.0.ab", "", "1.0.1.cd"]))
    [(1, '1.0.0.ab'), (3, '1.0.1.cd')]
    """
    for number, fields in read_rows(source, ("id",), bare=True):
        yield number, _id(number, fields)


def _id(number: int, fields: dict[str, Any]) -> str:
    name = fields.get("id")
    if not isinstance(name, str) or not name.strip():
        raise LineError(f"line {number}", "it has no id")
    return name.strip()


def _line(number: int, fields: dict[str, Any], column: str, items: bool) -> Line | None:
    """Return what a line says; None if it has no loss, and none is wanted."""
    name, value = _id(number, fields), fields.get(column)
    if is_empty(value):
        if _wants_none(fields):
            return None
        raise LineError(f"line {number}", f"it has no {column}")
    if items and isinstance(value, list | dict):
        return Line(number, name, value)
    told = number_in(value)
    if told is not None:
        return Line(number, name, told)
    raise LineError(f"line {number}", f"its {column} is not a number")


def tell_stream(
    study: Study,
    lines: Iterator[Line],
    report: StreamReport,
    *,
    as_report: bool,
    block: int,
    skip: bool,
    progress: Callable[[int], None],
) -> None:
    """Tell lines in blocks, each in one transaction; everything before a bad line is on record when it is named."""

    def tell(together: list[Line]) -> None:
        """Tell some lines; if one of them is refused, halve them until it is found."""
        ids, values = [one.id for one in together], [one.value for one in together]
        try:
            if as_report:
                study.tell(ids, report=values)
            else:
                study.tell(ids, values)
            report.accepted += len(together)
        except (StudyBehind, StorageError):
            raise
        except _REFUSED as problem:
            if len(together) > 1:
                middle = len(together) // 2
                tell(together[:middle])
                tell(together[middle:])
            elif skip and isinstance(problem, SottovoceError):
                report.refused += 1
            else:
                raise LineError(f"line {together[0].number}", _reason(problem)) from None

    waiting: list[Line] = []
    try:
        for line in lines:
            waiting.append(line)
            if len(waiting) == block:
                waiting = _emptied(waiting, tell)
                progress(report.accepted)
    finally:
        if waiting:  # also in front of a line that cannot be read
            tell(waiting)
    progress(report.accepted)


def _reason(problem: Exception) -> str:
    """Say why, without what holds for the single call only: lines before this one are on record."""
    return problem.fact if isinstance(problem, RefusedCall) else str(problem)


def _emptied(waiting: list[Line], tell: Callable[[list[Line]], None]) -> list[Line]:
    together = list(waiting)
    waiting.clear()  # whatever happens, these are not told again
    tell(together)
    return waiting
