"""`sottovoce study outstanding`, `forget` and `change`: what waits for its loss, what will not come, what changes."""

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from sottovoce.cli import parsing
from sottovoce.cli.options import Deadline, Options, Patience, with_options
from sottovoce.cli.rows import LineError
from sottovoce.cli.study_output import Output
from sottovoce.cli.study_shared import AsJson, Name, Url, look_at, show, storage_url
from sottovoce.cli.study_stream import opened, read_ids
from sottovoce.errors import UnknownAction
from sottovoce.options import OPTIONS
from sottovoce.studies import Study

_BLOCK = 10_000  # ids of one transaction


def outstanding_command(
    name: Name,
    storage: Url = None,
    limit: Annotated[int | None, typer.Option(help="The oldest so many; all by default.")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="One JSON object per line, for each action.")] = False,
    as_json: AsJson = None,
) -> None:
    """List actions that were asked and have no loss: id, round, and how many were asked since (age)."""
    with look_at(storage, name) as study:
        found, total = study.outstanding(limit), study.status().outstanding
    actions = [{"id": one, "round": number, "age": age} for one, number, age in found]
    if not lines:
        words = [f"{one['id']}  round {one['round']}, {one['age']:,} asked since" for one in actions]
        facts = {"study": name, "outstanding": total, "actions": actions}
        show(as_json, facts, "\n".join([*words, str(found)]))
        return
    with Output() as out:
        written = out.write([json.dumps(one) for one in actions])
    if written.problem is not None:
        raise typer.Exit(written.code)


def forget_command(
    name: Name,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Actions without a loss.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="Ids: one per line, or CSV or JSON lines with id; - reads stdin.")
    ] = None,
    older_than: Annotated[
        str | None, typer.Option(help="All that are outstanding after which at least so many were asked.")
    ] = None,
    storage: Url = None,
    as_json: AsJson = None,
) -> None:
    """Close actions whose loss will never come: each counts as the middle of the range. What is told is skipped."""
    if sum((bool(ids), file is not None, older_than is not None)) != 1:
        raise ValueError("pass ID..., --file or --older-than: one of them")
    age = None if older_than is None else parsing.whole("older-than", older_than)
    with Study.open(storage_url(storage), name=name) as study:
        if age is not None:
            found = study.outstanding()
            numbered = list(enumerate(found.ids[found.ages >= age].tolist(), start=1))
            closed, skipped = _forget(study, numbered)
        elif file is None:
            closed = study.forget(ids or [])
            skipped = len(ids or []) - closed
        else:
            with opened(file) as source:
                closed, skipped = _forget(study, read_ids(source))
    words = f"{closed:,} actions are closed without their loss; {skipped:,} skipped: told, forgotten or not wanted"
    show(as_json, {"study": name, "closed": closed, "skipped": skipped}, words)


def _forget(study: Study, ids: Iterable[tuple[int, str]]) -> tuple[int, int]:
    """Forget numbered ids, many at a time; return how many were closed and skipped."""
    closed = skipped = 0
    for block in _blocks(ids):
        try:
            done = study.forget([one for _, one in block])
        except UnknownAction:
            done = _one_by_one(study, block)
        closed, skipped = closed + done, skipped + len(block) - done
    return closed, skipped


def _one_by_one(study: Study, block: list[tuple[int, str]]) -> int:
    done = 0
    for number, one in block:
        try:
            done += study.forget(one)
        except UnknownAction as problem:
            raise ValueError(f"line {number}: {problem.fact}. Those before it are forgotten") from None
    return done


def _blocks(ids: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    try:
        for one in ids:
            block.append(one)
            if len(block) == _BLOCK:
                yield block
                block = []
    except LineError as problem:
        if block:
            yield block
        raise ValueError(f"{problem}. Those before it are forgotten") from None
    if block:
        yield block


@with_options(without=tuple(one for one in OPTIONS if one not in ("domain", "domain_json", "labels", "features")))
def change_command(
    name: Name,
    options: Options,
    storage: Url = None,
    patience: Patience = None,
    deadline: Deadline = None,
    as_json: AsJson = None,
) -> None:
    """Change the set of decisions, from the next round on, or how long rounds wait: all processes follow."""
    changes: dict[str, Any] = {}
    if options.domain is not None or options.domain_json is not None:
        changes |= {"domain": options.feasible_set, "features": options.arguments.get("features")}
    if patience is not None:
        changes["patience"] = parsing.patience(patience)
    if deadline is not None:
        changes["deadline"] = deadline_of(deadline)
    if not changes:
        raise ValueError("pass --domain (with --labels), --patience or --deadline")
    with Study.open(storage_url(storage), name=name) as study:
        study.change(**changes)
        found = study.status()
        domain = repr(study.domain)
    facts = {"study": name, "domain": domain, "patience": found.patience, "deadline": found.deadline}
    waiting = f"patience {_or_none(found.patience, 'events')}, deadline {_or_none(found.deadline, 'seconds')}"
    show(as_json, facts, f"{domain}; {waiting}")


def _or_none(value: float | None, unit: str) -> str:
    return "none" if value is None else f"{value:,} {unit}"


def deadline_of(text: str) -> float | None:
    """Read a deadline: seconds, or none."""
    if text.strip().lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"deadline must be a number of seconds, or none, got {text!r}") from None
