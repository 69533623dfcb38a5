"""What was made of a study for its page, kept until it has learned more: a belief is not drawn anew for every look."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sottovoce.auditing import AuditRecord, read_audit
from sottovoce.privacy.promise import UNSPENT
from sottovoce.report import Statement, statement
from sottovoce.report.html.learned import Histories, Learned, look_learned
from sottovoce.report.html.pieces import Mark, Tile
from sottovoce.service.context import Context
from sottovoce.service.dashboard.pages import render
from sottovoce.studies import Status, Study

# ----------------------------------------------------------------------
# Where a study stands at this moment: counts, what is waited for, how it is.


@dataclass(frozen=True, slots=True)
class Now:
    """Where a study stands.

    Attributes
    ----------
    name, domain
        Of the study.
    version
        What learned parts of its page rest on: they are shown anew when it changes.
    tiles
        Headline numbers.
    percent
        Of the events that were asked; None if nobody knows how many there will be.
    waiting
        What the first open round waits for, in words.
    marks
        How it is; what must not be overlooked comes first.
    banner
        Why nobody is protected; empty if people are.
    rounds
        That are closed.
    """

    name: str
    domain: str
    version: str
    tiles: tuple[Tile, ...]
    percent: float | None
    waiting: str
    marks: tuple[Mark, ...]
    banner: str
    rounds: int


def look_now(study: Study) -> Now:
    """Return where a study stands."""
    statement = study.privacy
    return now_of(
        study.status(), study.horizon, repr(study.domain), simulated=statement.simulated, private=statement.private
    )


def now_of(status: Status, horizon: int | None, domain: str, *, simulated: bool, private: bool) -> Now:
    """Return the same from what a study has said of itself."""
    percent = None if not horizon else round(100 * min(1.0, status.asked / horizon), 1)
    return Now(
        name=status.name,
        domain=domain,
        version=f"{status.incarnation}-{status.round}",
        tiles=tuple(_tiles(status, horizon, percent, private)),
        percent=percent,
        waiting=_waiting(status),
        marks=tuple(_marks(status, horizon)),
        banner=_banner(simulated, private),
        rounds=status.round,
    )


def _tiles(status: Status, horizon: int | None, percent: float | None, private: bool) -> Iterable[Tile]:
    if horizon is None or percent is None:
        yield Tile("Events asked", f"{status.asked:,}", "the horizon is unknown: plans are made anew as it doubles")
    else:
        yield Tile("Events asked", f"{status.asked:,}", f"of {horizon:,}, {percent:g}%; {status.remaining:,} are left")
    lost = f"; {status.forgotten:,} never came" if status.forgotten else ""
    yield Tile("Waiting for a loss", f"{status.outstanding:,}", f"{status.told:,} were told{lost}")
    yield Tile("Rounds closed", f"{status.round:,}", f"{status.open_rounds:,} open; only closed ones are released")
    yield Tile("Budget", _budget(status, private), status.privacy)


def _budget(status: Status, private: bool) -> str:
    if not private:
        return "none"
    return "not spent yet" if status.spent == UNSPENT else "spent"


def _waiting(status: Status) -> str:
    if status.waiting is None:
        return "No round is open."
    words = str(status.waiting)
    return f"{words[0].upper()}{words[1:]}."


def _banner(simulated: bool, private: bool) -> str:
    if simulated:
        return (
            "The noise is simulated from a seed. Whoever knows the seed knows the losses: this is for trying things "
            "out, and protects nobody."
        )
    return "" if private else "No noise is added anywhere: the decisions show the losses that they were made from."


def _marks(status: Status, horizon: int | None) -> Iterable[Mark]:
    if status.fit_check is not None and status.fit_check.caution:
        yield Mark("bad", "model does not fit", status.fit_check.caution)
    if status.erasure_pending:
        yield Mark("note", "erasure pending", f"for {status.erasure_pending:,} rounds: retried with every call")
    if status.incarnation != 1:
        yield Mark("note", "restored", "it goes on from a backup, or a copy: people may have been asked before")
    if horizon is not None and status.asked >= horizon:
        yield Mark("good", "finished", "all of its events are asked: take its recommendation")
    elif not status.asked:
        yield Mark("note", "not begun", "nothing was asked yet")
    else:
        yield Mark("good", "running", "")


# ----------------------------------------------------------------------
# What a study promises: its statement, and audits on record.


_COUNTS = "Where it stands"  # changes with every call; the top of the page has it
_AUDITS = "Audits on record"
_MOST = 200  # files of a folder


@dataclass(frozen=True, slots=True)
class Promise:
    """A statement, cut into parts.

    Attributes
    ----------
    headline
        The guarantee in one line.
    private
        Whether anybody is protected.
    warnings
        What must not be overlooked.
    sections
        Titles, with names and texts, and lists.
    audits
        Dates, and what was found; empty if none is on record.
    audits_refuted
        Whether any of them refutes something.
    unreadable
        Files in the folder of audits that are none.
    """

    headline: str
    private: bool
    warnings: tuple[str, ...]
    sections: tuple[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]], ...]
    audits: tuple[tuple[str, str], ...]
    audits_refuted: bool
    unreadable: tuple[str, ...] = ()


def look_promise(study: Study, audits: tuple[AuditRecord, ...], unreadable: tuple[str, ...] = ()) -> Promise:
    """Return what a study promises."""
    found = statement(study, audits=audits)
    sections = tuple((one.title, one.rows, one.items) for one in found.sections if one.title not in (_COUNTS, _AUDITS))
    rows = next((one.rows for one in found.sections if one.title == _AUDITS), ()) if audits else ()
    return Promise(
        headline=study.privacy.headline,
        private=bool(found.private),
        warnings=found.warnings,
        sections=sections,
        audits=rows,
        audits_refuted=not all(one.passed for one in audits),
        unreadable=unreadable,
    )


def audits_in(folder: str | None) -> tuple[tuple[AuditRecord, ...], tuple[str, ...]]:
    """Return the audits of a folder, the newest first, and the names of files that are none.

    A record is a file `*.json`, or `audit.json` in a folder of its own, as `sottovoce audit --out` leaves it.
    """
    if folder is None or not Path(folder).is_dir():
        return (), ()
    place = Path(folder)
    files = sorted({*place.glob("*.json"), *place.glob("*/audit.json")})[:_MOST]
    found, unreadable = [], []
    for file in files:
        try:
            found.append(read_audit(file))
        except ValueError:
            unreadable.append(str(file.relative_to(place)))
    found.sort(key=lambda one: one.date.isoformat(), reverse=True)
    return tuple(found), tuple(unreadable)


_STUDIES = 64  # whose parts are kept


@dataclass(slots=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    version: tuple[str, str] | None = None
    body: str = ""
    histories: Histories = field(default_factory=dict)


class Shown:
    """Parts of the pages of studies.

    Parameters
    ----------
    context
        Of the service.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def now(self, name: str) -> Now:
        """Return where a study stands."""
        return await self._context.look(name, look_now)

    async def statement(self, name: str) -> Statement:
        """Return the statement of a study, for whoever signs it."""
        audits, _ = await asyncio.to_thread(audits_in, self._context.audits)
        return await self._context.look(name, partial(statement, audits=audits))

    async def learned(self, name: str, version: str) -> str:
        """Return what a study has learned and promises, as a part of a page; made once for each version of that."""
        kept = self._kept.setdefault(name, _Kept())
        self._kept.move_to_end(name)
        while len(self._kept) > _STUDIES:
            self._kept.popitem(last=False)
        async with kept.lock:  # of many who look at once, one works
            audits, unreadable = await asyncio.to_thread(audits_in, self._context.audits)
            wanted = (version, repr((audits, unreadable)))
            if kept.version != wanted:
                look = partial(_both, earlier=kept.histories, audits=audits, unreadable=unreadable)
                found, promised = await self._context.look(name, look)
                kept.body = await asyncio.to_thread(
                    render, "learned_and_promised.html", {"it": found, "promise": promised, "version_of": version}
                )
                kept.version, kept.histories = wanted, found.histories
            return kept.body


def _both(
    study: Study, *, earlier: Histories, audits: tuple[Any, ...], unreadable: tuple[Any, ...]
) -> tuple[Learned, Promise]:
    return look_learned(study, earlier), look_promise(study, audits, unreadable)
