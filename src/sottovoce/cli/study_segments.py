"""Segments on a command line: what a study is made with, and whom an action or a recommendation is for."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce.cli.making import labels_of
from sottovoce.learning.segmented.requests import segment_in_words
from sottovoce.models import Segment, Segments
from sottovoce.studies import Study

__all__ = ["Factors", "Limit", "Names", "OneSegment", "SegmentLines", "segment_blocks", "segment_of", "segments_of"]

_BLOCK = 64  # actions of one call, for lines of a file

Names = Annotated[
    str | None,
    typer.Option("--segments", help="Whom decisions are for, such as phone,desktop; or a file with one a line."),
]
Factors = Annotated[
    list[str] | None,
    typer.Option("--factor", metavar="NAME=LEVELS", help="Segments by factor: device=phone,desktop. Repeatable."),
]
Limit = Annotated[
    int | None, typer.Option("--segment-limit", help="Segments that are not named open on first use, up to so many.")
]
OneSegment = Annotated[
    str | None,
    typer.Option("--segment", help="Of a study with segments, for whom: phone; phone,it; device=phone,country=it."),
]
SegmentLines = Annotated[
    str | None,
    typer.Option(
        "--segments",
        metavar="FILE",
        help='An action for each line of a file, or of - (the standard input): a segment, or JSON with a "segment".',
    ),
]


def segments_of(names: str | None, factors: list[str] | None, limit: int | None) -> Segments | None:
    """Return the segments that options ask for; None if they ask for none.

    Examples
    --------
    >>> segments_of(None, ["device=phone,desktop", "hour=8,20"], None)
    Segments(factors={'device': ['phone', 'desktop'], 'hour': ['8', '20']})
    """
    if names is None and not factors and limit is None:
        return None
    levels: dict[str, list[str]] = {}
    for text in factors or ():
        name, mark, given = text.partition("=")
        if not mark or name.strip() in levels:
            raise ValueError(f"--factor must be like device=phone,desktop, each factor once, got {text!r}")
        levels[name.strip()] = [one.strip() for one in given.split(",")]
    return Segments(None if names is None else labels_of(names), factors=levels or None, limit=limit)


def segment_of(study: Study, said: str | None) -> Segment | None:
    """Return whom an option names, if it is given; of a study without segments it must not be."""
    if said is None:
        return None
    if study.segments is None:
        raise ValueError(f"--segment is for studies with segments, and {study.name!r} has none")
    return segment_in_words(study.segments, said, study.sizes)


def segment_blocks(study: Study, file: str) -> Iterator[list[Segment]]:
    """Yield the segments that lines name: from a file some at a time, from the standard input one by one, as they come.

    An error names the line.
    """
    waiting: list[Any] = []
    most = 1 if file == "-" else _BLOCK
    for number, text in enumerate(_lines(file), start=1):
        if text.strip():
            waiting.append(_segment_in(study, number, text.strip()))
        if len(waiting) == most:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _lines(file: str) -> Iterable[str]:
    if file == "-":
        return sys.stdin
    try:
        return Path(file).read_text(encoding="utf-8-sig").splitlines()
    except OSError as problem:
        raise ValueError(f"--segments: {file} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"--segments: {file} is not a text in UTF-8") from None


def _segment_in(study: Study, number: int, text: str) -> Any:
    if study.segments is None:
        raise ValueError(f"--segments is for studies with segments, and {study.name!r} has none")
    try:
        if not text.startswith("{"):
            return segment_in_words(study.segments, text, study.sizes)
        given = json.loads(text)["segment"]
        return study.segments.key(tuple(given) if isinstance(given, list) else given)
    except (KeyError, TypeError, json.JSONDecodeError):
        why = 'it is not a segment, nor a JSON object such as {"segment": "phone"}'
    except LookupError as problem:
        why = str(problem)
    raise ValueError(f"line {number}: {why}")
