"""What is asked and not told: for whoever wants to know why a round does not close."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._printed import Part, Printed
from sottovoce.rounds.store import Store

_SHOWN = 5  # rounds, in print


class WaitingRound(NamedTuple):
    """A round that waits for losses.

    Attributes
    ----------
    round
        Its number, from 0.
    missing
        How many of its actions were asked and have neither a loss nor been forgotten.
    asked, size
        How many of its actions were asked, and how many it has.
    left
        How many more positions will be asked before it closes without them. None if it waits for ever; not counted
        before all of its actions are asked.
    segment
        Whose it is, where there are segments.
    """

    round: int
    missing: int
    asked: int
    size: int
    left: int | None
    segment: Any = None

    def __str__(self) -> str:
        whose = "" if self.segment is None else f" of {self.segment!r}"
        return f"round {self.round}{whose} waits for {self.missing:,} losses of {self.size:,} actions: {self._when}"

    @property
    def _when(self) -> str:
        if self.asked < self.size:
            return f"{self.size - self.asked:,} of these are not asked yet"
        if self.left is None:
            return "it waits for ever"
        return f"it closes without them when {self.left:,} more are asked"


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
      round 0 waits for 2 losses of 20 actions: it closes without them when 100 more are asked
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
        total = max(len(self), sum(one.missing for one in self.waiting))  # `limit` may have left some out
        if not total:
            return [("no loss is outstanding", ())]
        rows = [("", str(one)) for one in self.waiting[:_SHOWN]]
        if len(self.waiting) > _SHOWN:
            rows.append(("", f"and {len(self.waiting) - _SHOWN:,} later rounds"))
        words = "tell(ids, losses) those that come, forget(ids) those that never will; patience= closes a round without"
        return [(f"{total:,} loss{' is' if total == 1 else 'es are'} outstanding", rows), (f"{words} them", ())]

    def __repr__(self) -> str:
        return f"Outstanding(<{len(self)} actions of {len(self.waiting)} rounds>)"


def outstanding_of(
    store: Store, patience: int | None, asked: int, limit: int | None, names: Mapping[int, Any] = MappingProxyType({})
) -> Outstanding:
    """Return what is outstanding of a book.

    Parameters
    ----------
    store
        Where its open rounds live.
    patience
        How many later events a full round waits for its losses; None for ever.
    asked
        Events that were asked.
    limit
        How many actions at most; None for all.
    names
        Of streams, where they are segments.
    """
    ids, rounds, ages, waiting = [], [], [], []
    found = store.waiting(None)
    for one in store.open_rounds():
        mine = found[(found >= one.round.first) & (found < one.round.end)]
        if not len(mine):
            continue
        ids.append(mine)
        rounds.append(np.full(len(mine), one.round.number))
        ages.append(store.asked(one.round.stream) - one.round.position - (mine - one.round.first) - 1)
        left = None if patience is None or one.full_at is None else max(0, one.full_at + patience - asked)
        segment = names.get(one.round.stream)
        waiting.append(WaitingRound(one.round.number, len(mine), one.asked, one.round.size, left, segment))
    none: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    all_ids, all_rounds, all_ages = (np.concatenate([none, *parts])[:limit] for parts in (ids, rounds, ages))
    return Outstanding(all_ids, all_rounds, all_ages, tuple(waiting))
