"""`sottovoce study`: durable studies from a shell. JSON for scripts, words for people."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce.cli import parsing
from sottovoce.cli.study_ask import ask_command
from sottovoce.cli.study_making import domain_of, guarantee_of
from sottovoce.cli.study_shared import AsJson, Name, Url, show, storage_url
from sottovoce.cli.study_tell import tell_command
from sottovoce.cli.study_waiting import (
    Deadline,
    Patience,
    deadline_of,
    forget_command,
    outstanding_command,
    patience_of,
    set_command,
)
from sottovoce.errors import StorageError, StudyNotFound
from sottovoce.studies import Study, export_lines, verify_stored

__all__ = ["study_app"]

FAULTY = 1

study_app = typer.Typer(
    name="study",
    help="Durable studies: ask and tell that survive. Prints JSON, or words if the output is a terminal.",
    no_args_is_help=True,
)


@study_app.command("create")
def create(
    name: Name,
    storage: Url = None,
    domain: Annotated[str | None, typer.Option(help="Such as ball:10, simplex:10 or hypersimplex:20,5.")] = None,
    domain_json: Annotated[
        Path | None, typer.Option(help="A file with a domain as sottovoce.domains.specification.specify writes it.")
    ] = None,
    horizon: Annotated[str, typer.Option(help="Events, such as 1e6, 100k or 1M; or unknown.")] = "unknown",
    loss_range: Annotated[str, typer.Option(help="Losses are clipped to it.")] = "0,1",
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget; 1 by default.")] = None,
    delta: Annotated[float | None, typer.Option(help="With epsilon: approximate differential privacy.")] = None,
    rho: Annotated[float | None, typer.Option(help="Zero-concentrated differential privacy instead.")] = None,
    local: Annotated[bool, typer.Option("--local", help="Owners privatise their losses and send reports.")] = False,
    no_privacy: Annotated[bool, typer.Option("--no-privacy", help="Learn without any promise.")] = False,
    contributions: Annotated[int, typer.Option(help="Events that one person is in, at most.")] = 1,
    plan: Annotated[str, typer.Option(help="auto; a study refuses paper.")] = "auto",
    play: Annotated[str, typer.Option(help="inside (every action feasible) or around.")] = "inside",
    losses: Annotated[str, typer.Option(help="convex, or linear: then only a few events report.")] = "convex",
    integral: Annotated[bool, typer.Option("--integral", help="Play vertices: 0/1 decisions.")] = False,
    drift: Annotated[bool, typer.Option("--drift", help="What is best may change over time.")] = False,
    patience: Patience = None,
    deadline: Deadline = None,
    seed: Annotated[int | None, typer.Option(help="Of the public coins; never of the noise.")] = None,
    as_json: AsJson = None,
) -> None:
    """Create a study; if it exists and was created alike, nothing changes."""
    url = storage_url(storage)
    options: dict[str, Any] = {
        "domain": domain_of(domain, domain_json),
        "horizon": None if horizon.strip().lower() == "unknown" else parsing.count("horizon", horizon),
        "loss_range": parsing.pair("loss-range", loss_range),
        "privacy": guarantee_of(epsilon, delta, rho, local, no_privacy, contributions),
        "plan": plan,
        "play": play,
        "losses": losses,
        "integral": integral,
        "drift": drift,
    }
    created = not _exists(url, name)
    if patience is not None:
        options["patience"] = patience_of(patience)
    if deadline is not None:
        options["deadline"] = deadline_of(deadline)
    with Study.open(url, name=name, seed=seed, **options) as study:
        facts = {"study": name, "created": created, "privacy": study.privacy.headline, "remaining": study.remaining}
        word = "Created" if created else "There already is"
        show(as_json, facts, f"{word} study {name!r}.\n{study.privacy}\n\n{study.plan}")


study_app.command("ask")(ask_command)
study_app.command("outstanding")(outstanding_command)
study_app.command("forget")(forget_command)
study_app.command("set")(set_command)
# A negative loss looks like an option; and what is not understood must not be echoed, for it may be a loss.
study_app.command("tell", context_settings={"ignore_unknown_options": True})(tell_command)


@study_app.command("status")
def status(name: Name, storage: Url = None, as_json: AsJson = None) -> None:
    """Show where a study stands: counts and released values only."""
    with Study.open(storage_url(storage), name=name) as study:
        found = study.status()
    show(as_json, found.to_dict(), str(found))


@study_app.command("export")
def export(
    name: Name,
    storage: Url = None,
    out: Annotated[Path | None, typer.Option(help="A file; JSON lines if it ends in .jsonl.")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="JSON lines: a head, then a line for each round.")] = False,
    as_json: AsJson = None,
) -> None:
    """Write all released and public values as JSON; no loss is among them."""
    with Study.open(storage_url(storage), name=name) as study:
        found = study.export()
    lines = lines or (out is not None and out.suffix == ".jsonl")
    text = "\n".join(export_lines(found)) if lines else json.dumps(found, indent=2, allow_nan=False)
    if out is None:
        print(text)
        return
    out.write_text(text + "\n", encoding="utf-8")
    facts = {"study": name, "written": str(out), "rounds": len(found["rounds"])}
    show(as_json, facts, f"wrote {out}: {len(found['rounds']):,} rounds")


@study_app.command("verify")
def verify(
    name: Name,
    storage: Url = None,
    domain_json: Annotated[Path | None, typer.Option(help="The domain, if it is not stored.")] = None,
    as_json: AsJson = None,
) -> None:
    """Check every checksum and invariant, and compute the point again; ends with code 1 if something is wrong."""
    domain = None if domain_json is None else domain_of(None, domain_json)
    found = verify_stored(storage_url(storage), name, domain=domain)
    show(as_json, found.to_dict(), str(found))
    if not found.ok:
        raise typer.Exit(FAULTY)


@study_app.command("restore")
def restore(
    name: Name,
    storage: Url = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only what it would do is said.")] = False,
    as_json: AsJson = None,
) -> None:
    """Say that the storage was restored from a backup, or copied: do this before anything else is asked or told.

    Losses that are not released are dropped, since they may have been released after the backup was made; the study
    goes on in a new generation, and refuses ids that were handed out before.
    """
    if not yes:
        raise ValueError(
            f"restore drops the unreleased losses of {name!r}, and refuses all ids handed out so far: pass --yes"
        )
    with Study.open(storage_url(storage), name=name, restored=True) as study:
        found = study.status()
    words = f"Unreleased losses are dropped, ids handed out before are refused (generation {found.generation})."
    show(as_json, found.to_dict(), f"{words}\n{found}")


def _exists(url: str, name: str) -> bool:
    try:
        Study.open(url, name=name).close()
    except (StudyNotFound, StorageError):
        return False
    return True
