"""What a mechanism keeps from round to round, as one record.

A round is in it, with what it released, or it is not: the record is replaced by one assignment, after the noise was
drawn and before anything is handed out. Whoever was kept from the result by an exception finds it in `last`, and must
not hand the round in again: its losses have no budget for a second noise.
"""

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class MechanismState(NamedTuple):
    """How many rounds were taken in, what the last one released, and what the next one needs. Never changed."""

    round: int
    last: Any
    memory: Any

    def __repr__(self) -> str:
        return f"MechanismState(round={self.round}, <withheld>)"  # a tree's memory holds un-noised sums


class ReleasesRounds:
    """Base of all that releases rounds: what it keeps is one record."""

    _state = MechanismState(0, None, None)

    round = property(attrgetter("_state.round"), doc="Rounds that were released.")

    @property
    def last(self) -> NDArray[Any]:
        """What the last of them released."""
        return np.array(self._state.last)
