"""How long a study waits for losses: its settings, which rounds are due, and what still waits.

A round is due once it is asked to its end and so many events were asked after that (patience), or so many seconds have
passed (deadline). Neither looks at a loss, so when a round closes tells nothing about one.
"""

from dataclasses import dataclass
from typing import Any

from sottovoce._arrays import Integers
from sottovoce._checks import number, whole
from sottovoce.learning.bandit.patience import check_patience
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.session.counters import AUTO
from sottovoce.studies.session.open_round import StudyRound
from sottovoce.studies.session.state import StudyState

__all__ = ["Waiting", "checked_waiting", "first_waiting", "forget", "give_up", "in_words"]

_MOST = 2**53  # more than will ever be asked, and what every database can add up


def checked_waiting(given: dict[str, Any]) -> dict[str, Any]:
    """Return patience and deadline, of which only those that are given, as they are stored.

    Examples
    --------
    >>> checked_waiting({"patience": "auto", "deadline": 60}), checked_waiting({"patience": None})
    ({'patience': -1, 'deadline': 60.0}, {'patience': None})
    """
    stored = dict(given)
    if given.get("patience") is not None:
        patience = check_patience(given["patience"])
        stored["patience"] = AUTO if patience == "auto" else whole("patience", patience, least=0, most=_MOST)
    if given.get("deadline") is not None:
        stored["deadline"] = number("deadline", given["deadline"], above=0)
    return stored


def in_words(stored: Any) -> Any:
    """Return a patience or a deadline as a caller would pass it."""
    return "auto" if stored == AUTO else stored


# ---------------------------------------------------------------------- giving up


def give_up(state: StudyState, cells: CellTable, asked: int) -> bool:
    """Count losses as missing whose round is out of patience, the oldest first; return whether there were any.

    Rounds become full in order, so the first one that may still wait ends the search: what is outstanding in later
    ones costs nothing.
    """
    patience, given_up = state.patience, False
    if patience is None:
        return False
    for live in state.rounds.values():
        if live.number < state.counters.closed:
            continue
        if live.full_after is None or asked < live.full_after + patience:
            break
        given_up = forget(state, cells, live) or given_up
    return given_up


def forget(state: StudyState, cells: CellTable, live: StudyRound) -> bool:
    """Count all losses as missing that a round still waits for; return whether there were any."""
    found = [cell for cell in cells.of_round(live.number) if cell.left]
    for cell in found:
        cell.fill(cell.pending(), None)
        cells.write(cell)
        if cell.given_back:
            state.counters.returned -= cell.size
    return bool(found)


# ---------------------------------------------------------------------- looking


@dataclass(frozen=True)
class Waiting:
    """What the first open round waits for: rounds close in order, so all later ones wait for it.

    Attributes
    ----------
    round
        Its number, from 0.
    outstanding, wanted
        Losses that it waits for, of so many that it wants in all.
    not_asked
        Its actions that are not handed out yet.
    positions_left, seconds_left
        How many more events are asked, or seconds pass, until it closes without them: from its last action on. None
        where it waits for ever.

    Examples
    --------
    >>> print(Waiting(round=7, outstanding=3, wanted=12, not_asked=0, positions_left=950, seconds_left=None))
    round 7 waits for 3 of 12 losses; it closes without them once 950 more events are asked
    """

    round: int
    outstanding: int
    wanted: int
    not_asked: int
    positions_left: int | None
    seconds_left: float | None

    def __str__(self) -> str:
        if not self.outstanding and not self.not_asked:
            return f"round {self.round} has all of its losses, and is about to close"
        if not self.outstanding:
            return f"nothing: {self.not_asked:,} actions of round {self.round} are still to be asked"
        start = f"round {self.round} waits for {self.outstanding:,} of {self.wanted:,} losses"
        if self.not_asked:
            return f"{start}; {self.not_asked:,} of its actions are still to be asked"
        ways = []
        if self.positions_left is not None:
            ways.append(
                f"once {self.positions_left:,} more events are asked" if self.positions_left else "with the next ask"
            )
        if self.seconds_left is not None:
            ways.append(f"in {self.seconds_left:,.0f} seconds")
        if ways:
            return f"{start}; it closes without them {' or '.join(ways)}"
        return f"{start}, for ever: tell or forget them, or set a patience"


def first_waiting(state: StudyState, cells: CellTable, in_hand: Integers, asked: int, now: float) -> Waiting | None:
    """Return what the first open round waits for; None if no round is open.

    Parameters
    ----------
    in_hand
        Slots of that round that this process has not handed out yet.
    asked
        Events that were asked, without those in hand.
    """
    live = state.first_open()
    if live is None:
        return None
    patience, deadline = state.patience, state.deadline
    positions = seconds = None
    if live.full_after is not None and patience is not None:
        positions = max(0, live.full_after + patience - asked)
    if live.full_at is not None and deadline is not None:
        seconds = max(0.0, live.full_at + deadline - now)
    told, missing, left, free = cells.counts_of(live.number)
    rest = (block.wants_loss[block.asked :] for block in state.ahead if block.round.number == live.number)
    wanted = told + missing + left + sum(int(wants.sum()) for wants in rest)
    if wanted == live.open.opened:  # what is not drawn yet will be wanted, too
        wanted = live.open.size
    not_asked = max(0, live.end - state.counters.asked) + len(in_hand) + free
    return Waiting(live.number, left - len(in_hand) - free, wanted, not_asked, positions, seconds)
