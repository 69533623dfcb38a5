"""Telling: where each loss of a call belongs, what is refused, and why. A call is stored as a whole or not at all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from sottovoce._arrays import Integers
from sottovoce._losses import as_floats
from sottovoce.errors import UNRECORDED, AlreadyTold, InvalidLoss, RoundClosed, StudyBehind, UnknownAction
from sottovoce.learning.bandit.open_losses import FORGOTTEN, PENDING, TOLD, already_told, too_late
from sottovoce.studies.calls.ids import Place
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.tables import DROPPED, rounds
from sottovoce.studies.session.open_round import StudyRound
from sottovoce.studies.session.restoration import CONSEQUENCES, begin_new_life
from sottovoce.studies.session.session import Refusal
from sottovoce.studies.session.state import StudyState

__all__ = ["store"]


def store(
    state: StudyState,
    connection: Connection,
    places: list[Place],
    values: NDArray[Any] | None,
    *,
    repeat: str,
    late: str,
) -> StudyBehind | int:
    """Check everything, then store: all of a call or nothing. Return how many; or the error that begins a new life.

    Parameters
    ----------
    places, values
        Where losses belong, and the losses; None closes actions without them.
    repeat
        Whether a second loss for one action is an "error", or one to "ignore".
    late
        Whether a loss for an action that was given up is an "error", or one to "drop".
    """
    fillings: list[tuple[StudyRound, Integers, Integers | None]] = []
    try:
        _check_life(state, places)
        numbers = np.array([place.round for place in places], dtype=np.int64)
        slots = np.array([place.slot for place in places], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        ends = np.flatnonzero(np.diff(numbers[order])) + 1
        for mine in np.split(order, ends) if len(order) else []:
            number = int(numbers[mine[0]])
            live = state.rounds.get(number)
            if live is None or live.closed:
                _check_closed(state, connection, number, slots[mine], repeat, late)
                continue
            chosen = mine[_fillable(live, slots[mine], repeat, late)]
            integers = None if values is None else live.quantise(as_floats(values[chosen]))
            if len(chosen):
                fillings.append((live, slots[chosen], integers))
    except StudyBehind as behind:  # at once: two that notice it must not end two lives
        begin_new_life(state, connection, newest=max(place.generation for place in places))
        return behind
    except (UnknownAction, AlreadyTold, RoundClosed, InvalidLoss) as refused:
        raise Refusal(refused) from None
    for live, chosen, integers in fillings:
        state.tell(connection, live, chosen, integers)
    return sum(len(chosen) for _, chosen, _ in fillings)


def _check_life(state: StudyState, places: list[Place]) -> None:
    """Refuse ids of an earlier life; notice ids that the storage should know and does not."""
    counters = state.counters
    for place in places:
        if _is_newer(state, place):
            raise StudyBehind(
                "an id of this study is newer than its storage: the storage was restored from a backup, or has "
                f"lost its latest changes. {CONSEQUENCES}"
            )
    if any(place.generation < counters.generation for place in places):
        raise UnknownAction(
            "an id was handed out before the storage was restored; its loss is refused, as it may have been released "
            "already",
            UNRECORDED,
        )


def _is_newer(state: StudyState, place: Place) -> bool:
    """Say whether the study has signed an id that its storage does not know of yet."""
    counters, live = state.counters, state.rounds.get(place.round)
    if place.generation != counters.generation:
        return place.generation > counters.generation
    return place.round >= state.rounds_opened or (live is not None and live.first + place.slot >= counters.asked)


def _fillable(live: StudyRound, slots: Integers, repeat: str, late: str) -> NDArray[np.bool_]:
    """Mark the slots that wait for their loss; what is not wanted is dropped unread."""
    states = live.states(slots)
    _refuse_late(live.number, slots[states == FORGOTTEN], late)
    waiting = states == PENDING
    first = np.zeros(len(slots), dtype=bool)
    first[np.unique(slots, return_index=True)[1]] = True
    _refuse_repeated(live.number, slots[(states == TOLD) | (waiting & ~first)], repeat)
    return np.asarray(waiting & first)


def _refuse_late(number: int, given_up: Integers, late: str) -> None:
    if late == "error" and len(given_up):
        raise too_late(f"action {int(given_up[0])} of round {number}")


def _refuse_repeated(number: int, told: Integers, repeat: str) -> None:
    if repeat == "error" and len(told):
        raise already_told(f"action {int(told[0])} of round {number}")


def _check_closed(
    state: StudyState, connection: Connection, number: int, slots: Integers, repeat: str, late: str
) -> None:
    """Tell a repetition from a loss that comes too late, and refuse either unless it is to be passed over."""
    where = (rounds.c.study == state.counters.id, rounds.c.number == number)
    row = connection.execute(select(rounds.c.state, rounds.c.released).where(*where)).one()
    if row.state == DROPPED:
        raise UnknownAction(f"round {number} was dropped when the storage was restored; its losses are refused")
    closed = read(f"round {number}", row.released)
    wanted = slots if "wanted" not in closed else slots[np.isin(slots, closed["wanted"])]
    given_up = np.isin(wanted, closed["missing"])
    _refuse_late(number, wanted[given_up], late)
    _refuse_repeated(number, wanted[~given_up], repeat)
