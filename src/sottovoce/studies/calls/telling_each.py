"""Telling for many callers at once: what arrives together shares a transaction, and each call stands for itself."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from sottovoce._checks import choice
from sottovoce._losses import as_array
from sottovoce.errors import InvalidLoss, SottovoceError, StorageError, StudyBehind
from sottovoce.studies.calls.closing import tend_to
from sottovoce.studies.calls.ids import places_of
from sottovoce.studies.calls.telling import Telling
from sottovoce.studies.session.engine import Told
from sottovoce.studies.session.session import Session

__all__ = ["Outcomes", "Recorded", "TellCall", "tell_each"]


class TellCall(NamedTuple):
    """One call of tell, among others: as for `Study.tell`.

    Attributes
    ----------
    ids, losses, report, late
        As the arguments of `Study.tell`.
    """

    ids: Any
    losses: Any = None
    report: Any = None
    late: str = "error"

    def __repr__(self) -> str:
        return f"TellCall(late={self.late!r})"  # losses are never in print


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a call of tell.

    Attributes
    ----------
    recorded
        Losses that are on record by this call.
    already
        Losses that were on record before: a call that was repeated.
    dropped
        Losses that came too late, or were not wanted; they were not read.
    """

    recorded: int
    already: int
    dropped: int


Outcomes = list[Recorded | Exception]


def tell_each(
    session: Session,
    key: bytes,
    calls: Sequence[TellCall],
    reported: Callable[[Any, Any], Any],
    on_record: Callable[[Outcomes], None] | None,
) -> Outcomes:
    """Carry out calls of tell in one transaction; return what came of each, or the error that refuses it.

    Whoever called is told by `on_record`, before rounds are closed: that takes its time, and nobody needs to wait.
    """
    found: dict[int, Recorded | Exception] = {}
    tellings: dict[int, Telling] = {}
    for number, call in enumerate(calls):
        try:
            tellings[number] = _telling(key, call, reported)
        except (SottovoceError, ValueError, TypeError) as refused:
            found[number] = refused
    filled: set[int] = set()
    told = session.tell_each(list(tellings.values())) if tellings else []
    for number, one in zip(tellings, told, strict=True):
        found[number] = _outcome(one)
        filled |= one.filled if isinstance(one, Told) else frozenset()
    outcomes = [found[number] for number in range(len(calls))]
    if on_record is not None:
        on_record(outcomes)
    if tellings:
        with suppress(StorageError):  # the calls are on record: should this fail, what is due is tried again later
            tend_to(session, filled)
    return outcomes


def _telling(key: bytes, call: TellCall, reported: Callable[[Any, Any], Any]) -> Telling:
    choice("late", call.late, ("error", "drop"))
    values = as_array(reported(call.losses, call.report))
    places = places_of(key, call.ids)
    if values.size != len(places):
        raise InvalidLoss(f"there must be a loss for each of {len(places)} ids; nothing of this call was recorded")
    return Telling(places, values.ravel(), repeat="ignore", late=call.late)


def _outcome(told: Told | StudyBehind | BaseException) -> Recorded | Exception:
    if isinstance(told, Told):
        return Recorded(told.stored, told.already, told.dropped)
    if isinstance(told, Exception):
        return told
    raise told  # the process is about to end
