"""Neighbouring worlds: the same events, told in the same way, but for one person's losses."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.playing import World

_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it, less their whole parts, leave no gap for long
_DRAWN = 4096  # losses of a draw; later events go round them again

FAR = 1e9
"""A loss far outside of any range: privacy rests on clipping, so the person in an audit does not keep to the range."""

SCHEDULES = {
    "block": "told round by round",
    "single": "told one at a time",
    "shuffled": "told one at a time, late and out of order",
    "pieces": "asked and told in blocks that cross the rounds",
    "threads": "told from three threads at once",
    "gaps": "with a loss in every round that never comes",
    "renewed": "closed and opened again on the way",
    "restored": "put back from a backup on the way",
}
"""The ways in which losses arrive."""

PAIRS: dict[str, tuple[float | None, float | None]] = {
    "far below, far above": (-FAR, FAR),
    "lowest, far above": (0.0, FAR),
    "far below, highest": (-FAR, 1.0),
    "lowest, in the middle": (0.0, 0.5),  # whose squares differ, too
    "forgotten, far above": (None, FAR),
    "far below, forgotten": (-FAR, None),
}
"""The person's losses in the two worlds, in units of the range (0 is its low end, 1 its high end; None: forgotten)."""


@dataclass(frozen=True)
class Neighbours:
    """Two worlds that differ in one person's losses.

    Parameters
    ----------
    events
        The person's events, counted from 0 in the order in which they are asked.
    rounds
        The rounds that these are in, for words.
    pair
        The person's losses, a key of `PAIRS`.
    others
        Everybody else's: all at the "low" end of the range, all "high", or the number of a draw, with public coins.
    schedule
        How losses arrive, a key of `SCHEDULES`.

    Examples
    --------
    >>> worlds = Neighbours((3,), (0,), "lowest, far above")
    >>> worlds.loss(0, 3, (0.0, 2.0)), worlds.loss(1, 3, (0.0, 2.0)), worlds.loss(1, 4, (0.0, 2.0))
    (0.0, 1000000000.0, 0.0)
    >>> print(worlds)
    round 1, event 4; lowest, far above; others low; told round by round
    """

    events: tuple[int, ...]
    rounds: tuple[int, ...]
    pair: str = "far below, far above"
    others: str | int = "low"
    schedule: str = "block"

    def loss(self, world: int, event: int, loss_range: tuple[float, float]) -> float | None:
        """What an event loses in world 0 or 1; None if its loss is forgotten."""
        low, high = loss_range
        if event in self.events:
            share = PAIRS[self.pair][world]
            return share if share is None or abs(share) == FAR else low + share * (high - low)
        share = (
            {"low": 0.0, "high": 1.0}[self.others]
            if isinstance(self.others, str)
            else _drawn(self.others)[event % _DRAWN]
        )
        return low + share * (high - low)

    def __str__(self) -> str:
        rounds = " and ".join(str(one + 1) for one in self.rounds)
        events = ", ".join(str(one + 1) for one in self.events)
        who = f"round{'s' * (len(self.rounds) > 1)} {rounds}, event{'s' * (len(self.events) > 1)} {events}"
        others = self.others if isinstance(self.others, str) else f"drawn ({self.others})"
        return f"{who}; {self.pair}; others {others}; {SCHEDULES[self.schedule]}"


class OneOfTwo(World):
    """One of two neighbouring worlds: what its events lose is the same whatever is decided.

    Parameters
    ----------
    worlds
        Both of them.
    number
        Which: 0 or 1, or one bit for each person of a crowd.
    loss_range
        Of the losses of everybody else.
    """

    def __init__(self, worlds: Neighbours, number: int, loss_range: tuple[float, float]) -> None:
        self._worlds, self._number, self._loss_range = worlds, number, loss_range

    def losses(self, start: int, actions: Any) -> list[float | None]:
        """Return what consecutive events lose; None for losses that are forgotten."""
        events = range(start, start + len(actions))
        return [self._worlds.loss(self._number, event, self._loss_range) for event in events]


def others_of(number: int) -> str | int:
    """Return what everybody else loses in a pair of worlds: at one end, at the other, and drawn anew in between.

    Parameters
    ----------
    number
        Of the pair, from 0.

    Examples
    --------
    >>> [others_of(number) for number in range(8)]
    ['low', 1, 'high', 3, 4, 5, 6, 7]
    """
    return {0: "low", 2: "high"}.get(number % 9, number)


@lru_cache(maxsize=256)
def _drawn(number: int) -> list[float]:
    """Return losses around a level of their own, together or apart: wherever a threshold is, some pair straddles it."""
    level, apart = number * _GOLDEN % 1, (number % 3) / 2
    coins = 2 * np.random.default_rng(number).random(_DRAWN) - 1
    drawn: list[float] = (level + apart * min(level, 1 - level) * coins).tolist()
    return drawn
