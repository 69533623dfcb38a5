"""What is outstanding: ids that were handed out and wait for their loss, as any process can list them."""

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.learning.bandit.outstanding import Outstanding, WaitingRound
from sottovoce.studies.calls.ids import sign
from sottovoce.studies.session.open_round import StudyRound
from sottovoce.studies.session.session import Session
from sottovoce.studies.session.state import StudyState

__all__ = ["outstanding"]


def outstanding(session: Session, key: bytes, limit: int | None) -> Outstanding:
    """Return the actions that wait for their loss, the oldest first, `limit` at most; and all rounds that wait."""
    with session.at_rest():
        state = session.state
        generation, asked = state.counters.generation, state.counters.asked
        lives = [live for live in state.rounds.values() if not live.closed and live.outstanding]
        places = _places(lives, asked, asked if limit is None else limit)
        waiting = tuple(_waiting(state, live) for live in lives)
    # Ids are signed while others work: of a million that takes seconds.
    ids = [one for number, _, slots in places for one in sign(key, generation, number, slots.tolist())]
    rounds = [np.full(len(slots), number) for number, _, slots in places]
    positions = [first + slots for _, first, slots in places]
    return Outstanding(np.array(ids, dtype=str), _joined(rounds), asked - _joined(positions) - 1, waiting)


def _places(lives: list[StudyRound], asked: int, limit: int) -> list[tuple[int, int, Integers]]:
    """Return rounds, each with its first position and the slots that were asked and have no loss."""
    found: list[tuple[int, int, Integers]] = []
    for live in lives:
        if limit <= 0:
            break
        slots = live.pending()
        slots = slots[: min(limit, int(np.searchsorted(slots, asked - live.first)))]
        limit -= len(slots)
        found.append((live.number, live.first, slots))
    return found


def _waiting(state: StudyState, live: StudyRound) -> WaitingRound:
    patience, asked, left = state.patience, state.counters.asked, None
    if patience is not None and live.full_after is not None:
        left = max(0, live.full_after + patience - asked)
    return WaitingRound(live.number, live.outstanding, min(live.open.size, asked - live.first), live.open.size, left)


def _joined(pieces: list[Integers]) -> Integers:
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
