"""How far a list of events goes before a segment's round is asked to its end: so far, nothing new can be learned."""

from collections.abc import Callable

import numpy as np

from sottovoce._arrays import Integers

__all__ = ["events_before_an_end"]


def events_before_an_end(index: Integers, left: list[int], begin: Callable[[int], int]) -> int:
    """Return how many of the first events can be asked together: the last of them may be the last of its round.

    Parameters
    ----------
    index
        Which segment each event is of.
    left
        How many actions the round of each segment has left; 0 where the next one must be begun first.
    begin
        Begins a segment's next round, and returns how many actions it has. Called for segments that are met only: a
        round that is begun later knows more.

    Examples
    --------
    >>> events_before_an_end(np.array([0, 1, 0, 0, 1]), [3, 9], lambda place: 5)
    4
    >>> events_before_an_end(np.array([0, 1, 0, 0, 1]), [3, 0], lambda place: 1)
    2
    """
    order = np.argsort(index, kind="stable")
    starts = np.searchsorted(index[order], np.arange(len(left) + 1))

    def end(place: int, room: int) -> int:
        """Events up to the last one that a round has room for."""
        mine = order[starts[place] : starts[place + 1]]
        return int(mine[room - 1]) + 1 if room <= len(mine) else len(index)

    first = np.array([order[start] for start in starts[:-1]])  # every segment has an event
    until = min((end(place, room) for place, room in enumerate(left) if room), default=len(index))
    for place in np.argsort(first, kind="stable").tolist():
        if first[place] >= until:
            break
        if not left[place]:
            until = min(until, end(place, begin(place)))
    return until
