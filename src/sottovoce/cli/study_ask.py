"""`sottovoce study ask`: actions, of which none is lost between the study and whoever reads them."""

import json
import shlex
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console

from sottovoce.cli.study_output import Output, Written
from sottovoce.cli.study_segments import OneSegment, PeopleLines, SegmentLines, ask_lines, segment_of
from sottovoce.cli.study_shared import AsJson, Name, Url, storage_url
from sottovoce.domains.naming import as_plain, in_words
from sottovoce.errors import SottovoceError
from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.studies import Study


def ask_command(
    name: Name,
    storage: Url = None,
    size: Annotated[int | None, typer.Option(help="How many actions; 1 by default.")] = None,
    whole_round: Annotated[bool, typer.Option("--round", help="The rest of the current round.")] = False,
    lines: Annotated[bool, typer.Option("--lines", help="One JSON object per line, for each action.")] = False,
    segment: OneSegment = None,
    segments: SegmentLines = None,
    people: PeopleLines = None,
    as_json: AsJson = None,
) -> None:
    """Hand out actions: carry them out, and tell the loss of those that want one.

    Lines are asked for as they are read: a reader that goes away leaves the rest unasked. Actions that could not be
    printed are forgotten.
    """
    if whole_round and size is not None:
        raise ValueError("--size and --round exclude each other")
    if segments is not None and (segment is not None or whole_round or size is not None):
        raise ValueError("--segments asks for an action for each line: leave --segment, --size and --round out")
    if people is not None and (segments is not None or whole_round or size is not None):
        raise ValueError("--people asks for an action for each line: leave --segments, --size and --round out")
    with Study.open(storage_url(storage), name=name) as study, Output() as out:
        count = 1 if size is None else size
        named = study.domain.labels is not None
        printed = not lines and (as_json is False or (as_json is None and sys.stdout.isatty()))
        line = partial(_words if printed else _line, named=named)
        whom = segment_of(study, segment)
        if segments is not None or people is not None:
            _print_lines(study, ask_lines(study, segments, people, whom), None, out, line)
        elif not lines and not printed:
            _print_document(
                study, study.ask_round(segment=whom) if whole_round else study.ask(count, segment=whom), out
            )
        elif whole_round:
            actions = study.ask_round(segment=whom)
            _print_lines(study, [actions], len(actions), out, line)
        else:
            _print_lines(study, study.ask_in_parts(count, segment=whom), count, out, line)


def _print_lines(
    study: Study, parts: Iterable[Actions], total: int | None, out: Output, line: Callable[[Action], str]
) -> None:
    printed = 0
    for actions in parts:
        written = out.write([line(one) for one in actions])
        printed += written.begun
        if written.problem is not None:
            _give_back(study, actions.ids[written.begun :], printed, written)
        if total is None or printed < total:  # more is asked when this is taken
            taken = out.wait_until_taken()
            if taken.problem is not None:
                _give_back(study, [], printed, taken)


def _print_document(study: Study, actions: Actions, out: Output) -> None:
    """Print one JSON object; half of one is of no use to anybody, so all of its actions are forgotten then."""
    named = study.domain.labels is not None
    document = json.dumps({"study": study.name, "actions": [_plain(one, named) for one in actions]})
    written = out.write([document])
    if written.problem is not None and not written.finished:
        _give_back(study, actions.ids, 0, written)


def _give_back(study: Study, ids: Any, printed: int, stopped: Written) -> None:
    """Forget actions that reached nobody, say what is outstanding, and end."""
    try:
        study.forget(ids)
        fate = f"{len(ids):,} that were not are forgotten" if len(ids) else "none is asked beyond them"
    except SottovoceError as problem:
        fate = f"{len(ids):,} that were not could not be forgotten: {problem}"
    list_them = f"sottovoce study outstanding {shlex.quote(study.name)}"
    words = f"{stopped.reason}: {printed:,} actions were printed, {fate}."
    try:
        words += f" {study.status().outstanding:,} losses are outstanding in all: list them with `{list_them}`"
    except SottovoceError:
        words += f" List what is outstanding with `{list_them}`"
    Console(stderr=True, soft_wrap=True, highlight=False).print(words, markup=False)
    raise typer.Exit(stopped.code)


def _plain(action: Action, named: bool) -> dict[str, Any]:
    chosen = {"chosen": as_plain(action.chosen)} if named else {}
    return {"id": action.id, **chosen, "x": action.x.tolist(), "wants_loss": bool(action.wants_loss)}


def _line(action: Action, named: bool) -> str:
    return json.dumps(_plain(action, named))


def _words(action: Action, named: bool) -> str:
    decision = in_words(action.chosen, most=None) if named else action.x.tolist()
    return f"{action.id}  {decision}{'' if action.wants_loss else '  (no loss wanted)'}"
