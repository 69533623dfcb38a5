"""Whose turn it is: people are assigned to evaluations in blocks, each a random order of those that are open.

Blocked randomisation: of every K people in a row each of the K evaluations gets one, so that whatever changes with
time, the hour of the day or the season, meets all of them alike. The coins are public: they come from the seed and the
number of the block, from nothing that anybody lost, and the same seed gives the same orders.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from sottovoce._records import Record

__all__ = ["Turn", "next_turn"]

_STREAM = 0x61737369676E  # "assign": neither noise nor directions have such a spawn key


class Turn(NamedTuple):
    """Never changed, only replaced.

    Attributes
    ----------
    block
        Blocks that were drawn.
    order
        Who is still to come in the current block.
    """

    block: int = 0
    order: tuple[int, ...] = ()

    @classmethod
    def of(cls, record: Record) -> Self:
        """Return the turn of a record; the first one, if there is none."""
        return cls(record["block"], tuple(record["order"].tolist())) if record else cls()

    def record(self) -> Record:
        """Return it as a record."""
        return {"block": self.block, "order": np.array(self.order, dtype=np.int64)}


def next_turn(turn: Turn, waiting: Sequence[int], entropy: int) -> tuple[int, Turn]:
    """Return the evaluation that the next person meets, and the turn after that.

    Parameters
    ----------
    turn
        The present one.
    waiting
        Numbers of the evaluations that have places left. One that is new joins with the next block; one that is full by
        now is left out of this one.
    entropy
        What the coins come from.

    Examples
    --------
    >>> turn, met = Turn(), []
    >>> for _ in range(6):
    ...     number, turn = next_turn(turn, [0, 1, 2], entropy=5)
    ...     met.append(number)
    >>> sorted(met[:3]), sorted(met[3:]), turn.block
    ([0, 1, 2], [0, 1, 2], 2)
    """
    order, block = tuple(number for number in turn.order if number in waiting), turn.block
    if not order:
        coins = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_STREAM, block)))
        order, block = tuple(coins.permutation(sorted(waiting)).tolist()), block + 1
    return order[0], Turn(block, order[1:])
