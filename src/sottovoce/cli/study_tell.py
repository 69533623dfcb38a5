"""`sottovoce study tell`: one loss, or a stream of them. An error names the line, never what it holds."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

import typer

from sottovoce._checks import choice
from sottovoce.cli.rows import LineError, is_empty, number_in, read_rows
from sottovoce.cli.shared import AsJson, Name, Url, opened, show, storage_url
from sottovoce.errors import InvalidLoss, RefusedCall, SottovoceError
from sottovoce.studies import Study

INTERRUPTED = 130
BLOCK = 1000  # lines of one transaction


class Line(NamedTuple):
    """One loss: the number of its line (from 1, 0 for none), its id, and the loss or report; or losses by item."""

    number: int
    id: str
    value: Any


def tell_command(
    name: Name,
    one: Annotated[
        list[str] | None, typer.Argument(metavar="[ID LOSS]", help="A single loss; of items, as JSON.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="CSV or JSON lines with id and loss; - reads stdin.")
    ] = None,
    storage: Url = None,
    report: Annotated[bool, typer.Option("--report", help="Local privacy: numbers are reports, not losses.")] = False,
    repeat: Annotated[str, typer.Option(help="What a second loss for one action does: error or ignore.")] = "error",
    refused: Annotated[str, typer.Option(help="What a refused line does: stop, or skip it.")] = "stop",
    as_json: AsJson = None,
) -> None:
    """Tell losses, durable when it returns: one, or a stream. A stream may be repeated with --repeat ignore.

    A loss among the arguments is seen by whoever lists processes, and kept by the shell: prefer --file -.
    """
    if (file is None) == (not one):
        raise ValueError("pass ID and LOSS, or --file")
    column, skip = "report" if report else "loss", choice("refused", refused, ("stop", "skip")) == "skip"
    counts = Counter(accepted=0, without_loss=0, refused=0)  # accepted: on record, now or before
    with Study.open(storage_url(storage), name=name, repeat=repeat) as study:
        try:
            if file is None:
                _tell(study, [_single(one or [], column)], column, counts, skip=skip)
            else:
                with opened(file) as source:
                    lines = read_lines(source, column, counts, items=study.plan.exploration == "items")
                    for block in _blocks(lines):
                        _tell(study, block, column, counts, skip=skip)
        except LineError as problem:
            raise ValueError(f"{problem}. Of what was passed, {counts['accepted']} losses are on record") from None
        except KeyboardInterrupt:
            show(as_json, {"study": name, **counts, "interrupted": True}, _told(counts))
            raise typer.Exit(INTERRUPTED) from None
    show(as_json, {"study": name, **counts}, _told(counts))


def _told(counts: Counter[str]) -> str:
    left_out = f", {counts['without_loss']:,} lines without one" if counts["without_loss"] else ""
    refused = f", {counts['refused']:,} refused" if counts["refused"] else ""
    return f"{counts['accepted']:,} losses on record{left_out}{refused}"


def _single(one: list[str], column: str) -> Line:
    if len(one) != 2:
        raise ValueError(f"pass ID and LOSS, two arguments, got {len(one)}")
    value = None
    with suppress(ValueError, RecursionError):  # whose words quote the loss
        value = json.loads(one[1]) if one[1].lstrip()[:1] in ("{", "[") else float(one[1])
    if value is None:
        raise ValueError(f"the {column} is not a number")
    return Line(0, one[0], value)


def read_lines(source: Iterable[str], column: str, counts: Counter[str], *, items: bool = False) -> Iterator[Line]:
    """Read ids and losses from JSON lines (if the first line begins with a brace) or CSV with a header.

    Parameters
    ----------
    source
        Lines of text.
    column
        "loss" or "report".
    counts
        Of lines without a loss that none was wanted of, under `without_loss`.
    items
        Whether a line of JSON may tell losses by item: an object, or a list.

    Examples
    --------
    >>> list(read_lines(["id,loss", "1.0.0.ab,0.5"], "loss", Counter()))
    [Line(number=2, id='1.0.0.ab', value=0.5)]
    """
    for number, fields in read_rows(source, ("id", column), unless="wants_loss"):
        name, value = fields.get("id"), fields.get(column)
        if not isinstance(name, str) or not name.strip():
            raise LineError(number, "it has no id")
        if is_empty(value):
            if str(fields.get("wants_loss")).strip().lower() not in ("false", "0"):
                raise LineError(number, f"it has no {column}")
            counts["without_loss"] += 1
            continue
        told = value if items and isinstance(value, list | dict) else number_in(value)
        if told is None:
            raise LineError(number, f"its {column} is not a number")
        yield Line(number, name.strip(), told)


def _blocks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Yield lines, many at a time; those in front of one that cannot be read come before its error."""
    block: list[Line] = []
    try:
        for line in lines:
            block.append(line)
            if len(block) == BLOCK:
                yield block
                block = []
    except LineError:
        yield block
        raise
    yield block


def _tell(study: Study, lines: list[Line], column: str, counts: Counter[str], *, skip: bool) -> None:
    """Tell lines in one transaction; if one of them is refused, one by one, so that it can be named."""
    if not lines:
        return
    ids, values = [one.id for one in lines], [one.value for one in lines]
    try:
        if column == "report":
            study.tell(ids, report=values)
        else:
            study.tell(ids, values)
        counts["accepted"] += len(lines)
    except (RefusedCall, InvalidLoss, ValueError) as problem:
        if len(lines) > 1:
            for one in lines:
                _tell(study, [one], column, counts, skip=skip)
        elif skip and isinstance(problem, SottovoceError):
            counts["refused"] += 1
        else:  # what holds for the single call only is left out: lines before this one are on record
            why = problem.fact if isinstance(problem, RefusedCall) else str(problem)
            raise LineError(lines[0].number, why) from None
