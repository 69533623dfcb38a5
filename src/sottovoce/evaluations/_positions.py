"""The places of one evaluation: plain counters, the ids that were handed out, and integers of losses until its release.

A loss is in once the state of its place says so (see `Slots`). An id is handed out once the books' turn says so: one
that was only written down here is taken back by `take_back`. The sum is released once its stream has kept the noisy
number, which is drawn nowhere else: a stream of its own for each evaluation, asked for one number.
"""

from array import array
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.errors import UNRECORDED, UnknownAction
from sottovoce.evaluations._second_moment import squares_of
from sottovoce.learning.bandit.open_losses import FORGOTTEN, Slots

__all__ = ["Positions"]


class Positions(Slots):
    """Places, numbered from 0, each for one event.

    Parameters
    ----------
    number
        Of the evaluation.
    events
        How many places.
    grid
        How losses, or reports, become integers.
    stream
        What adds the noise of what it releases.
    squared
        Whether the sum of squares is released beside that of losses (_second_moment.py).

    Attributes
    ----------
    handle
        What users have of it.
    abandoned
        Whether nothing of it will ever be released.
    """

    __slots__ = (
        "_ids",
        "abandoned",
        "assigned",
        "handle",
        "number",
        "numbers",
        "released",
        "slots",
        "squared",
        "stream",
    )
    _derived: ClassVar[tuple[str, ...]] = ("_ids", "_losses", "_states")

    def __init__(self, number: int, events: int, grid: Any, stream: Any, *, squared: bool = False) -> None:
        self.slots = array("q", [0]) * events  # private, un-noised; zeros once it is released
        self.numbers = array("q", [0]) * events  # ids, in increasing order, as far as they are assigned
        super().__init__(0, range(events), grid)
        self.number = number
        self.stream = stream
        self.squared = squared
        self.assigned = 0
        self.released: int | None = None
        self.handle: Any = None
        self.abandoned = False

    def _derive(self) -> None:
        super()._derive()
        self._losses: Integers = np.frombuffer(self.slots, dtype=np.int64)
        self._ids: Integers = np.frombuffer(self.numbers, dtype=np.int64)

    @property
    def ids(self) -> Integers:
        """The ids that were handed out, in the order of their places."""
        return self._ids[: self.assigned]

    @property
    def room(self) -> int:
        """Places that nobody was assigned to, and somebody may be."""
        return 0 if self.released is not None or self.abandoned else self.size - self.assigned

    def place(self, ids: range, first: int) -> None:
        """Give ids to places from `first` on; done twice it is the same."""
        self._ids[first : first + len(ids)] = ids
        self.assigned = first + len(ids)

    def take_back(self, handed_out: int) -> None:
        """Forget ids that nobody got to see, since a call was cut short."""
        self.assigned = int(np.searchsorted(self.ids, handed_out))

    def find(self, ids: Any) -> Integers:
        """Return the places of ids; refuse what was not handed out for this evaluation."""
        given = np.asarray(ids)
        if not given.size:
            return np.empty(0, dtype=np.int64)
        if given.dtype.kind not in "iu":
            raise UnknownAction(f"ids must be the integers that assign returned, got {given.dtype}", UNRECORDED)
        wanted, known = given.ravel(), self.ids
        places = np.searchsorted(known, wanted)
        there = places < len(known)
        there[there] = known[places[there]] == wanted[there]
        if not there.all():
            raise UnknownAction(f"id {wanted[~there][0]} was not handed out for evaluation {self.number}", UNRECORDED)
        return np.asarray(places, dtype=np.int64)

    def waiting(self) -> Integers:
        """Places that are assigned, and have no loss."""
        return np.flatnonzero(self.pending(slice(0, self.assigned)))

    def unassigned(self) -> Integers:
        """Places that nobody was assigned to, and that are not given up."""
        return self.assigned + np.flatnonzero(self.pending(slice(self.assigned, self.size)))

    def due(self, patience: int | None) -> int | None:
        """How many ids have to be out for this evaluation to be closed without what it lacks; None: no number."""
        if patience is None or self.assigned < self.size:
            return None
        return int(self._ids[-1]) + 1 + patience

    def release(self) -> int:
        """Release the sum: the noise is drawn once, whatever cuts this short, and the losses are erased."""
        if not self.stream.round:
            self.stream.release(self._sums())
        self._losses[:] = 0
        if self.released is None:  # or a signal handler was here in between: what it has released stays
            self.released = int(self.stream.last[0])
        return self.released

    @property
    def squares(self) -> int | None:
        """The released sum of squares; None if there is none."""
        return int(self.stream.last[1]) if self.squared and self.released is not None else None

    def _sums(self) -> Integers:
        """What is released, without its noise: places that nobody was assigned to are in neither."""
        taken = self._losses[: self.assigned]
        sums = [taken.sum()] if not self.squared else [taken.sum(), squares_of(taken, self.grid.steps).sum()]
        return np.array(sums, dtype=np.int64)

    def erase(self) -> None:
        """Drop all losses, and wait for none; done twice it is the same."""
        waiting = np.flatnonzero(self.pending(slice(0, self.size)))
        self.fill(waiting, 0, FORGOTTEN)
        self._losses[:] = 0

    def __repr__(self) -> str:
        return f"Positions({self.number}, size={self.size}, assigned={self.assigned})"
