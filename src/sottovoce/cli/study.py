"""`sottovoce study`: durable studies from a shell. JSON for scripts, words for people."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce._written import listed
from sottovoce.cli.making import labels_of
from sottovoce.cli.options import Options, with_options
from sottovoce.cli.shared import AsJson, Name, OneSegment, Url, Yes, look_at, segment_of, show, storage_url
from sottovoce.cli.study_ask import ask_command
from sottovoce.cli.study_tell import tell_command
from sottovoce.cli.study_waiting import change_command, forget_command, outstanding_command
from sottovoce.models import Segments
from sottovoce.plans.options import DecisionFacts
from sottovoce.studies import Study, delete_study, list_studies, move_study, rename_study, verify_stored

FAULTY = 1

study_command = typer.Typer(
    name="study",
    help="Durable studies: ask and tell that survive. Prints JSON, or words if the output is a terminal.",
    no_args_is_help=True,
)


@study_command.command("create")
@with_options()
def create(
    name: Name,
    options: Options,
    storage: Url = None,
    segments: Annotated[
        str | None, typer.Option(help="Whom decisions are for, such as phone,desktop; or a file with one a line.")
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LEVELS", help="Segments by factor: device=phone,desktop. Repeatable."),
    ] = None,
    as_json: AsJson = None,
) -> None:
    """Create a study; if it exists and was created alike, nothing changes."""
    url = storage_url(storage)
    # What is not given is as usual, and is compared with a study that exists.
    making: dict[str, Any] = {"plan": "auto", "exploration": None, "mechanism": None, **DecisionFacts().facts()}
    making |= {**options.arguments, **options.waiting, "segments": segments_of(segments, factor)}
    making |= {"domain": options.feasible_set, "horizon": options.events, "privacy": options.guarantee}
    making["loss_range"] = options.clipping
    with Study.open(url, name=name, seed=options.seed, **making) as study:
        made, promise = study.created, study.privacy.headline
        facts = {"study": name, "created": made, "privacy": promise, "remaining": study.remaining}
        words = f"{'Created' if made else 'There already is'} study {name!r}.\n{study.privacy}\n\n{study.plan}"
        show(as_json, facts, words)


def segments_of(names: str | None, factors: list[str] | None) -> Segments | None:
    """Return the segments that options ask for; None if they ask for none.

    Examples
    --------
    >>> segments_of(None, ["device=phone,desktop", "hour=8,20"])
    Segments(factors={'device': ['phone', 'desktop'], 'hour': ['8', '20']})
    """
    if names is None and not factors:
        return None
    levels: dict[str, list[str]] = {}
    for text in factors or ():
        name, mark, given = text.partition("=")
        if not mark or name.strip() in levels:
            raise ValueError(f"--factor must be like device=phone,desktop, each factor once, got {text!r}")
        levels[name.strip()] = listed(given)
    return Segments(None if names is None else labels_of(names), factors=levels or None)


study_command.command("ask")(ask_command)
study_command.command("outstanding")(outstanding_command)
study_command.command("forget")(forget_command)
study_command.command("change")(change_command)
# A negative loss looks like an option; and what is not understood must not be echoed, for it may be a loss.
study_command.command("tell", context_settings={"ignore_unknown_options": True})(tell_command)


@study_command.command("list")
def list_all(storage: Url = None, as_json: AsJson = None) -> None:
    """List the studies of a storage: how far each has come, and what it promises."""
    url = storage_url(storage)
    entries = list_studies(url)
    words = "\n".join(map(str, entries)) or "There are no studies yet; see `sottovoce study create`."
    show(as_json, {"studies": [one.to_dict() for one in entries]}, words)


@study_command.command("status")
def status(name: Name, storage: Url = None, as_json: AsJson = None) -> None:
    """Show where a study stands: counts and released values only."""
    _show_of(storage, name, as_json, Study.status)


@study_command.command("recommend")
def recommend(name: Name, storage: Url = None, segment: OneSegment = None, as_json: AsJson = None) -> None:
    """Show the decision to take home, how sure it is, and what it rests on: released values only."""
    _show_of(storage, name, as_json, lambda study: study.recommend(segment=segment_of(study, segment)))


@study_command.command("enough")
def enough(
    name: Name,
    storage: Url = None,
    certainty: Annotated[float, typer.Option(help="The probability that it is to be as good as that.")] = 0.95,
    within: Annotated[
        float, typer.Option(help="How much worse than the best it may be, per event, as a share of the loss range.")
    ] = 0.01,
    segment: OneSegment = None,
    as_json: AsJson = None,
) -> None:
    """Say whether the decision to take home is good enough to stop, or how many more events that should take."""
    _show_of(storage, name, as_json, lambda study: study.enough(certainty, within, segment=segment_of(study, segment)))


@study_command.command("forecast")
def forecast(name: Name, storage: Url = None, as_json: AsJson = None) -> None:
    """Say what to expect of the whole run, rehearsed in worlds like the one that released numbers show."""
    _show_of(storage, name, as_json, Study.forecast)


@study_command.command("export")
def export(
    name: Name,
    storage: Url = None,
    out: Annotated[Path | None, typer.Option(help="A file; the standard output by default.")] = None,
    posterior: Annotated[
        Path | None,
        typer.Option(help="A file for what is believed of the losses, and nothing else: for --prior of another study."),
    ] = None,
    segment: OneSegment = None,
    as_json: AsJson = None,
) -> None:
    """Write all released and public values as JSON; no loss is among them."""
    if (segment is not None and posterior is None) or (posterior is not None and out is not None):
        raise ValueError("--posterior writes a file of its own, of one --segment if there are any: leave --out out")
    with look_at(storage, name) as study:
        if posterior is not None:
            believed = study.posterior(segment=segment_of(study, segment))
            facts = {"study": name, "written": str(believed.save(posterior)), "rounds": believed.rounds}
            show(as_json, facts, f"wrote {posterior}\n{believed}")
            return
        found = study.export()
    text = json.dumps(found, indent=2, allow_nan=False)
    if out is None:
        print(text)
        return
    out.write_text(text + "\n", encoding="utf-8")
    facts = {"study": name, "written": str(out), "rounds": len(found["rounds"])}
    show(as_json, facts, f"wrote {out}: {len(found['rounds']):,} rounds")


@study_command.command("verify")
def verify(name: Name, storage: Url = None, as_json: AsJson = None) -> None:
    """Check every checksum and invariant, and compute the point again; ends with code 1 if something is wrong."""
    found = verify_stored(storage_url(storage), name)
    show(as_json, found.to_dict(), str(found))
    if not found.ok:
        raise typer.Exit(FAULTY)


@study_command.command("restore")
def restore(name: Name, storage: Url = None, yes: Yes = False, as_json: AsJson = None) -> None:
    """Say that the storage was restored from a backup, or copied: do this before anything else is asked or told.

    Losses that are not released are dropped, since they may have been released after the backup was made; the study
    goes on in a new incarnation, and refuses ids that were handed out before.
    """
    _confirm(yes, f"restore drops the unreleased losses of {name!r}, and refuses all ids handed out so far")
    with Study.open(storage_url(storage), name=name, restored=True) as study:
        found = study.status()
    words = f"Unreleased losses are dropped, ids handed out before are refused (incarnation {found.incarnation})."
    show(as_json, found.to_dict(), f"{words}\n{found}")


@study_command.command("erase-people")
def erase_people(name: Name, storage: Url = None, yes: Yes = False, as_json: AsJson = None) -> None:
    """Erase all that is kept of people who were counted, once a study has ended: it asks nobody any more."""
    _confirm(yes, f"erase-people erases whom {name!r} has counted, and it asks nobody any more")
    with Study.open(storage_url(storage), name=name) as study:
        erased = study.erase_people()
    show(as_json, {"study": name, "erased": erased}, f"Nothing is kept any more of {erased:,} people.")


@study_command.command("move")
def move(
    name: Name,
    to: Annotated[str, typer.Option(help="The storage to move it to, which need not exist; or the one it is in.")],
    storage: Url = None,
    as_json: AsJson = None,
) -> None:
    """Move a study to another storage, open rounds and all: whoever has it open is refused from then on.

    Ids that were handed out are good there, and only there. If this is cut short, say it again; or name the storage
    that it is in, and it stays there, unless it has left.
    """
    move_study(storage_url(storage), name, to)
    with look_at(to, name) as study:
        found = study.status()
    show(as_json, found.to_dict(), f"It is at {to}.\n{found}")


@study_command.command("rename")
def rename(
    name: Name,
    to: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    storage: Url = None,
    as_json: AsJson = None,
) -> None:
    """Call a study otherwise; whoever has it open goes on. Keys of a service are for names: make new ones."""
    rename_study(storage_url(storage), name, to)
    show(as_json, {"study": to, "before": name}, f"{name!r} is now called {to!r}.")


@study_command.command("delete")
def delete(name: Name, storage: Url = None, yes: Yes = False, as_json: AsJson = None) -> None:
    """Delete a study with all that is stored of it; what it has released stays spent, and charged."""
    _confirm(yes, f"delete removes {name!r} for good, with losses that were never released")
    delete_study(storage_url(storage), name)
    show(as_json, {"study": name, "deleted": True}, f"Deleted {name!r}.")


def _show_of(storage: str | None, name: str, as_json: bool | None, look: Callable[[Study], Any]) -> None:
    """Print what a look at a study finds."""
    with look_at(storage, name) as study:
        found = look(study)
    show(as_json, found.to_dict(), str(found))


def _confirm(yes: bool, what: str) -> None:
    """Refuse what cannot be undone, unless it was said so."""
    if not yes:
        raise ValueError(f"{what}: pass --yes")
