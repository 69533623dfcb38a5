"""The studies at a glance: read from their counters, none of them opened."""

from collections.abc import Iterable
from dataclasses import dataclass

from sottovoce.privacy.promise import UNSPENT
from sottovoce.report.html.pieces import Mark
from sottovoce.report.numbers import short
from sottovoce.service.keys import Key
from sottovoce.studies import StudyEntry

_ERASED_LATE = 2  # the newest round's erasure is put on record with the next call: one is no news


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study in the list.

    Attributes
    ----------
    name, domain, privacy
        As `StudyEntry` has them.
    percent
        Of its events that were handed out; None if nobody knows how many there will be.
    progress
        The same in words.
    asked, rounds, waiting
        Counts, as words; the exact numbers are in `entry`.
    spent
        Whether any of the budget is.
    marks
        How it is.
    entry
        What it was made from.
    """

    name: str
    domain: str
    privacy: str
    percent: float | None
    progress: str
    asked: str
    rounds: str
    waiting: str
    spent: str
    marks: tuple[Mark, ...]
    entry: StudyEntry


@dataclass(frozen=True, slots=True)
class Overview:
    """All studies that a key may read."""

    rows: tuple[StudyRow, ...]
    words: str
    unprotected: int


def overview(entries: Iterable[StudyEntry], key: Key | None) -> Overview:
    """Return the studies that a key may read; without a key (in development) all of them."""
    rows = tuple(_row(one) for one in entries if key is None or key.may("read", one.name))
    waiting, unprotected = sum(one.entry.waiting for one in rows), sum(not one.entry.private for one in rows)
    words = f"{_count(len(rows), 'study', 'studies')}, {_count(waiting, 'event', 'events')} waiting for their loss"
    return Overview(rows, words, unprotected)


def _row(one: StudyEntry) -> StudyRow:
    percent = None if not one.horizon else round(100 * min(1.0, one.asked / one.horizon), 1)
    progress = f"{one.asked:,} events" if one.horizon is None else f"{one.asked:,} of {one.horizon:,} events"
    spent = "not spent yet" if one.spent == UNSPENT else "spent"
    return StudyRow(
        name=one.name,
        domain=one.domain,
        privacy=one.privacy,
        percent=percent,
        progress=progress,
        asked=short(float(one.asked)) if one.asked < 1_000 else f"{one.asked:,}",
        rounds=f"{one.rounds:,}",
        waiting=f"{one.waiting:,}",
        spent=spent if one.private else "nothing is protected",
        marks=tuple(_marks(one)),
        entry=one,
    )


def _marks(one: StudyEntry) -> Iterable[Mark]:
    if one.simulated:
        yield Mark("bad", "NOT PRIVATE", "the noise is simulated from a seed: whoever knows it knows the losses")
    elif not one.private:
        yield Mark("bad", "NOT PRIVATE", "no noise is added: decisions show the losses that they were made from")
    if one.overdue:
        yield Mark(
            "bad", "overdue", f"{_count(one.overdue, 'round is', 'rounds are')} past the deadline, and not closed"
        )
    if one.erasure_pending >= _ERASED_LATE:
        rounds = _count(one.erasure_pending, "closed round", "closed rounds")
        yield Mark("note", "erasure pending", f"losses of {rounds} may linger in the database's log")
    if one.incarnation != 1:
        yield Mark("note", "restored", "it goes on from a backup, or a copy")
    if one.horizon is not None and one.asked >= one.horizon:
        yield Mark("good", "finished", "all of its events are asked: take its recommendation")
    elif not one.asked:
        yield Mark("note", "not begun", "nothing was asked yet")
    elif not one.overdue:
        yield Mark("good", "running", "")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
