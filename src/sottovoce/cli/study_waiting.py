"""`sottovoce study outstanding`, `forget` and `change`: what waits for its loss, what will not come, what changes."""

import json
from contextlib import suppress
from typing import Annotated

import typer

from sottovoce.cli.options import Options, with_options
from sottovoce.cli.shared import AsJson, Name, Url, look_at, opened, show, storage_url
from sottovoce.options import OPTIONS
from sottovoce.studies import Study


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
    if lines:
        print("\n".join(map(json.dumps, actions)))
        return
    words = [f"{one['id']}  round {one['round']}, {one['age']:,} asked since" for one in actions]
    show(as_json, {"study": name, "outstanding": total, "actions": actions}, "\n".join([*words, str(found)]))


def forget_command(
    name: Name,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Actions without a loss.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="Ids: one per line, or JSON lines with id; - reads stdin.")
    ] = None,
    storage: Url = None,
    as_json: AsJson = None,
) -> None:
    """Close actions whose loss will never come, all or none: each counts as the middle of the range."""
    if bool(ids) == (file is not None):
        raise ValueError("pass ID..., or --file: one of them")
    with Study.open(storage_url(storage), name=name) as study:
        chosen = ids or []
        if file is not None:
            with opened(file) as source:
                chosen = [_id(line) for line in source if line.strip()]
        closed = study.forget(chosen)
    skipped = len(chosen) - closed
    words = f"{closed:,} actions are closed without their loss; {skipped:,} skipped: told, forgotten or not wanted"
    show(as_json, {"study": name, "closed": closed, "skipped": skipped}, words)


def _id(line: str) -> str:
    """Return the id that a line holds, by itself or in JSON; what is none is refused by the study, and not shown."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        return str(json.loads(line)["id"])
    return line.strip()


_CHANGED = ("domain", "domain_json", "labels", "features", "patience", "deadline")


@with_options(without=tuple(one for one in OPTIONS if one not in _CHANGED))
def change_command(name: Name, options: Options, storage: Url = None, as_json: AsJson = None) -> None:
    """Change the set of decisions, from the next round on, or how long rounds wait: all processes follow."""
    changes = options.waiting
    if options.domain is not None or options.domain_json is not None:
        changes |= {"domain": options.feasible_set, "features": options.arguments.get("features")}
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
