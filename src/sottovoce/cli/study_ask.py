"""`sottovoce study ask`: actions for whoever carries them out."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any

import typer

from sottovoce.cli.shared import AsJson, Name, OneSegment, Url, is_text, opened, segment_of, storage_url
from sottovoce.domains.naming import as_plain, in_words
from sottovoce.learning.actions import Action, Actions
from sottovoce.models import Segment
from sottovoce.studies import Study

_BLOCK = 64  # actions of one call, for lines of a file


def ask_command(
    name: Name,
    storage: Url = None,
    size: Annotated[int | None, typer.Option(help="How many actions; 1 by default.")] = None,
    whole_round: Annotated[bool, typer.Option("--round", help="The rest of the current round.")] = False,
    whom: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="FILE",
            help="An action for each line of a file, or of - (the standard input): JSON with a "
            '"segment", or a "person", so that people are counted, or both.',
        ),
    ] = None,
    segment: OneSegment = None,
    lines: Annotated[bool, typer.Option("--lines", help="One JSON object per line, for each action.")] = False,
    as_json: AsJson = None,
) -> None:
    """Hand out actions: carry them out, and tell the loss of those that want one.

    Actions that cannot be printed, since the reader has gone away or the disk is full, are forgotten.
    """
    if sum((size is not None, whole_round, whom is not None)) > 1:
        raise ValueError("--size, --round and --for exclude each other")
    if sys.stdout is None:
        raise OSError("there is no standard output to print to; nothing was asked")
    with Study.open(storage_url(storage), name=name) as study:
        chosen = segment_of(study, segment)
        if whom is not None:
            for actions in _for_each_line(study, whom, chosen):
                _print(study, actions, [_line(study, one, as_json) for one in actions])
            return
        actions = (
            study.ask_round(segment=chosen) if whole_round else study.ask(1 if size is None else size, segment=chosen)
        )
        if lines or is_text(as_json):
            _print(study, actions, [_line(study, one, as_json or lines) for one in actions])
        else:
            _print(study, actions, [json.dumps({"study": name, "actions": [_plain(study, one) for one in actions]})])


def _for_each_line(study: Study, file: str, segment: Segment | None) -> Iterator[Actions]:
    """Ask an action for each line: from a file some at a time, from the standard input one by one, as they come."""
    with opened(file) as source:
        wanted = (_whom(study, number, line, segment) for number, line in enumerate(source, start=1) if line.strip())
        while block := list(islice(wanted, 1 if file == "-" else _BLOCK)):
            segments, people = (list(column) for column in zip(*block, strict=True))
            yield study.ask(
                len(block),
                segment=None if study.segments is None else segments,
                person=None if set(people) == {None} else people,
            )


def _whom(study: Study, number: int, line: str, segment: Segment | None) -> tuple[Segment | None, str | None]:
    """Return the segment and the person that a line names. An error names the line, and no person."""
    given = None
    with suppress(ValueError, RecursionError):
        given = json.loads(line)
    if not isinstance(given, dict) or not isinstance(given.get("person", ""), str) or not given.keys() & _KEYS:
        raise ValueError(f'line {number}: it is not a JSON object such as {{"segment": "phone", "person": "7f3a"}}')
    if "segment" not in given:
        return segment, given.get("person")
    if study.segments is None:
        raise ValueError(f"line {number}: {study.name!r} has no segments")
    try:
        named = given["segment"]
        return study.segments.key(tuple(named) if isinstance(named, list) else named), given.get("person")
    except (LookupError, TypeError) as problem:
        raise ValueError(f"line {number}: {problem}") from None


_KEYS = {"segment", "person"}


def _print(study: Study, actions: Actions, texts: list[str]) -> None:
    """Print a text for each action, or one for all; actions whose text was not printed to its end are forgotten."""
    printed = 0
    try:
        for one in texts:
            print(one, flush=True)
            printed += 1
    except (OSError, KeyboardInterrupt):
        with suppress(OSError, ValueError):  # what is left in the buffer must not be tried again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        lost = study.forget(actions.ids[printed:])
        typer.echo(f"{lost:,} actions were not printed: they are forgotten", err=True)
        raise


def _plain(study: Study, action: Action) -> dict[str, Any]:
    chosen = {} if study.domain.labels is None else {"chosen": as_plain(action.chosen)}
    return {"id": action.id, **chosen, "x": action.x.tolist(), "wants_loss": bool(action.wants_loss)}


def _line(study: Study, action: Action, as_json: bool | None) -> str:
    if not is_text(as_json):
        return json.dumps(_plain(study, action))
    decision = action.x.tolist() if study.domain.labels is None else in_words(action.chosen, most=None)
    return f"{action.id}  {decision}{'' if action.wants_loss else '  (no loss wanted)'}"
