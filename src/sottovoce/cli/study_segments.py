"""Segments on a command line: what a study is made with, and whom an action or a recommendation is for."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce.cli.making import labels_of
from sottovoce.learning.bandit.actions import Actions
from sottovoce.learning.segmented.requests import segment_in_words
from sottovoce.models import Segment, Segments
from sottovoce.studies import Study

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


PeopleLines = Annotated[
    str | None,
    typer.Option(
        "--people",
        metavar="FILE",
        help="An action for each line of a file, or of -: whose it is, so that people are counted; "
        'or JSON with a "person", and a "segment".',
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


def ask_lines(study: Study, segments: str | None, people: str | None, segment: Segment | None) -> Iterator[Actions]:
    """Ask an action for each line: from a file some at a time, from the standard input one by one, as they come.

    Lines name segments, or people; these may be all of one segment. An error names the line, and no person.
    """
    option, file = ("--segments", segments) if people is None else ("--people", people)
    assert file is not None
    lines = (_line_in(study, number, text, option, segment) for number, text in _lines(option, file))
    while block := list(islice(lines, 1 if file == "-" else _BLOCK)):
        whom, who = zip(*block, strict=True)
        several = None if study.segments is None else list(whom)
        yield study.ask(len(block), segment=several, person=None if people is None else list(who))


def _lines(option: str, file: str) -> Iterator[tuple[int, str]]:
    try:
        lines = sys.stdin if file == "-" else Path(file).read_text(encoding="utf-8-sig").splitlines()
    except OSError as problem:
        raise ValueError(f"{option}: {file} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{option}: {file} is not a text in UTF-8") from None
    return ((number, text.strip()) for number, text in enumerate(lines, start=1) if text.strip())


def _line_in(study: Study, number: int, text: str, option: str, segment: Segment | None) -> tuple[Any, str | None]:
    """Return the segment and the person that a line names."""
    if option == "--segments":
        return _segment_in(study, number, text), None
    if not text.startswith("{"):
        return segment, text
    try:
        given = json.loads(text)
        person = given.get("person")
    except (AttributeError, json.JSONDecodeError):
        person = None
    if not isinstance(person, str):
        raise ValueError(f'line {number}: it is not a person, nor a JSON object such as {{"person": "7f3a"}}') from None
    return (_segment_in(study, number, text) if "segment" in given else segment), person


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
