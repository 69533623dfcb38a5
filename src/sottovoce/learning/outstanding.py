"""What is asked and not told: for whoever wants to know why a round does not close."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._printed import Part, Printed
from sottovoce.domains.naming import as_name
from sottovoce.rounds.store import OpenRound, Store

_SHOWN = 5  # rounds, in print


class WaitingRound(NamedTuple):
    """What an open round waits for. Rounds of a stream close in order, so that later ones wait for it.

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
    segment
        Whose it is, where there are segments.

    Examples
    --------
    >>> print(WaitingRound(round=7, outstanding=3, wanted=12, not_asked=0, positions_left=950))
    round 7 waits for 3 of 12 losses; it closes without them once 950 more events are asked
    """

    round: int
    outstanding: int
    wanted: int
    not_asked: int
    positions_left: int | None = None
    seconds_left: float | None = None
    segment: Any = None

    def __str__(self) -> str:
        name = f"round {self.round}" + ("" if self.segment is None else f" of {self.segment!r}")
        if not self.outstanding and not self.not_asked:
            return f"{name} has all of its losses, and is about to close"
        if not self.outstanding:
            return f"{name} waits for no loss: {self.not_asked:,} of its actions are still to be asked"
        start = f"{name} waits for {self.outstanding:,} of {self.wanted:,} losses"
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


def waiting_round(plain: Mapping[str, Any]) -> WaitingRound:
    """Return what an open round waits for, from what JSON can hold of it."""
    return WaitingRound(**{**plain, "segment": as_name(plain.get("segment"))})


@dataclass(frozen=True, slots=True, eq=False)
class Outstanding(Printed):
    """Actions that were asked, and whose loss is neither told nor forgotten; the oldest first.

    Attributes
    ----------
    ids
        Their ids.
    rounds
        The number of each one's round, from 0.
    ages
        How many positions were asked after each.
    waiting
        The rounds that wait, the oldest first.

    Examples
    --------
    >>> import sottovoce as sv
    >>> optimizer = sv.PrivateBandit(
    ...     sv.domains.Simplex(3), horizon=1000, loss_range=(0.0, 1.0), privacy=sv.PureDP(1.0), probes=4, least_events=5
    ... )
    >>> actions = optimizer.ask(30)
    >>> optimizer.tell(actions.ids[2:], actions.x[2:, 0])
    >>> found = optimizer.outstanding()
    >>> len(found), found.ids.tolist(), found.ages.tolist()
    (2, [0, 1], [29, 28])
    >>> print(found)
    2 losses are outstanding
      round 0 waits for 2 of 20 losses; it closes without them once 100 more events are asked
    tell(ids, losses) those that come, forget(ids) those that never will; patience= closes a round without them
    """

    ids: NDArray[Any]
    rounds: NDArray[np.int64]
    ages: NDArray[np.int64]
    waiting: tuple[WaitingRound, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[Any, int, int]]:
        """Go through (id, round, age)."""
        return iter(zip(self.ids.tolist(), self.rounds.tolist(), self.ages.tolist(), strict=True))

    def _parts(self) -> list[Part]:
        total = max(len(self), sum(one.outstanding for one in self.waiting))  # `limit` may have left some out
        if not total:
            return [("no loss is outstanding", ())]
        rows = [("", str(one)) for one in self.waiting[:_SHOWN]]
        if len(self.waiting) > _SHOWN:
            rows.append(("", f"and {len(self.waiting) - _SHOWN:,} later rounds"))
        words = "tell(ids, losses) those that come, forget(ids) those that never will; patience= closes a round without"
        return [(f"{total:,} loss{' is' if total == 1 else 'es are'} outstanding", rows), (f"{words} them", ())]

    def __repr__(self) -> str:
        return f"Outstanding(<{len(self)} actions of {len(self.waiting)} rounds>)"


def outstanding_of(store: Store, rounds: Iterable[tuple[OpenRound, WaitingRound]], limit: int | None) -> Outstanding:
    """Return what is outstanding of a book, of which these `rounds` are open: `limit` actions at most."""
    parts, waiting, found = [np.empty((3, 0), dtype=np.int64)], [], store.waiting(None)
    for opened, described in rounds:
        one = opened.round
        mine = found[(found >= one.first) & (found < one.end)]
        if len(mine):
            ages = store.asked(one.stream) - one.position - (mine - one.first) - 1
            parts.append(np.array([mine, np.full(len(mine), one.number), ages]))
            waiting.append(described)
    ids, numbers, all_ages = np.concatenate(parts, axis=1)[:, :limit]
    return Outstanding(ids, numbers, all_ages, tuple(waiting))
