"""What pages show of studies: where each stands, what it has learned and promises. Released and public values only."""

from collections.abc import Iterable
from typing import Any

from sottovoce.privacy.promise import UNSPENT
from sottovoce.report import statement
from sottovoce.report.html.learned import look_learned
from sottovoce.report.html.pieces import Mark, Tile
from sottovoce.service.context import Context
from sottovoce.service.dashboard.pages import render
from sottovoce.service.endpoints.studies import version_of
from sottovoce.studies import Status, Study, StudyEntry

_SIMULATED = "the noise is simulated from a seed: whoever knows the seed knows the losses"
_NO_NOISE = "no noise is added anywhere: the decisions show the losses that they were made from"
_ERASED_LATE = 2  # the newest round's erasure is put on record with the next call: in a list, one is no news


def percent_asked(asked: int, horizon: int | None) -> float | None:
    """Return how much of a study's events were asked; None if nobody knows how many there will be."""
    return None if not horizon else round(100 * min(1.0, asked / horizon), 1)


def spent_words(one: StudyEntry | Status, private: bool) -> str:
    """Say whether any of the budget is spent."""
    return "none" if not private else "not spent yet" if one.spent == UNSPENT else "spent"


def rows_of(entries: Iterable[StudyEntry]) -> list[tuple[StudyEntry, float | None, str, tuple[Mark, ...]]]:
    """Return what a list shows of studies: each with how much was asked, whether its budget is spent, and how it is."""
    return [
        (one, percent_asked(one.asked, one.horizon), spent_words(one, one.private), tuple(marks_of(one, one.horizon)))
        for one in entries
    ]


def bare_words(*, simulated: bool, private: bool) -> str:
    """Say why nobody is protected; nothing if people are."""
    return _SIMULATED if simulated else "" if private else _NO_NOISE


def marks_of(one: StudyEntry | Status, horizon: int | None) -> Iterable[Mark]:
    """Say how a study is; what must not be overlooked comes first."""
    overdue, late = 0, 1
    if isinstance(one, StudyEntry):
        overdue, late = one.overdue, _ERASED_LATE
        if bare := bare_words(simulated=one.simulated, private=one.private):
            yield Mark("bad", "NOT PRIVATE", bare)
    elif one.fit_check is not None and one.fit_check.caution:
        yield Mark("bad", "model does not fit", one.fit_check.caution)
    if overdue:
        yield Mark("bad", "overdue", f"rounds that are past the deadline, and not closed: {overdue:,}")
    if one.erasure_pending >= late:
        why = f"losses of closed rounds may linger in the database's log: {one.erasure_pending:,} rounds"
        yield Mark("note", "erasure pending", why)
    if one.incarnation != 1:
        yield Mark("note", "restored", "it goes on from a backup, or a copy: people may have been asked before")
    if horizon is not None and one.asked >= horizon:
        yield Mark("good", "finished", "all of its events are asked: take its recommendation")
    elif not overdue:
        yield Mark("good", "running", "")


def look_now(study: Study) -> dict[str, Any]:
    """Return where a study stands, and what it promises; what it has learned changes with its `version`."""
    status, horizon, promised = study.status(), study.horizon, study.privacy
    percent = percent_asked(status.asked, horizon)
    fine = "the horizon is unknown: plans are made anew as it doubles"
    if horizon is not None:
        fine = f"of {horizon:,}, {percent:g}%; {status.remaining:,} are left"
    lost = f"; {status.forgotten:,} never came" if status.forgotten else ""
    waiting = "No round is open" if status.waiting is None else status.waiting_words
    return {
        "name": status.name,
        "domain": repr(study.domain),
        "version": version_of(study),
        "percent": percent,
        "tiles": (
            Tile("Events asked", f"{status.asked:,}", fine),
            Tile(f"Waiting for {status.told_as}", f"{status.outstanding:,}", f"{status.told:,} were told{lost}"),
            Tile("Rounds closed", f"{status.round:,}", f"{status.open_rounds:,} open; only closed ones are released"),
            Tile("Budget", spent_words(status, promised.private), status.privacy),
        ),
        "waiting": f"{waiting[0].upper()}{waiting[1:]}.",
        "marks": tuple(marks_of(status, horizon)),
        "banner": bare_words(simulated=promised.simulated, private=promised.private),
        "rounds": status.round,
        "promise": statement(study),
    }


async def study_of(context: Context, name: str) -> dict[str, Any]:
    """Return what the page of a study shows.

    What takes long to draw is drawn once for all that the study has learned: a belief is not drawn anew for every look.
    """
    worker = await context.studies(name)
    now = await worker.look(look_now)
    return {"now": now, "learned": await worker.made("learned", now["version"], _learned)}


def _learned(study: Study) -> str:
    return render("learned.html", {"it": look_learned(study)})
