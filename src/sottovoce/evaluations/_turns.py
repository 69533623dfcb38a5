"""Whose turn it is: people are assigned to evaluations in blocks, each a random order of those that are open.

Blocked randomisation: of every K people in a row each of the K evaluations gets one, so that whatever changes with
time, the hour of the day or the season, meets all of them alike. The coins are public: they come from the seed and the
number of the block, from nothing that anybody lost, and the same seed gives the same orders.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Turn", "next_turn"]

_STREAM = 0x61737369676E  # "assign": neither noise nor directions have such a spawn key


class Turn(NamedTuple):
    """Never changed, only replaced: an id is handed out or it is not.

    Attributes
    ----------
    assigned
        Ids that were handed out, of all evaluations.
    block
        Blocks that were drawn.
    order
        Who is still to come in the current block.
    """

    assigned: int = 0
    block: int = 0
    order: tuple[int, ...] = ()


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
    >>> sorted(met[:3]), sorted(met[3:]), turn.assigned
    ([0, 1, 2], [0, 1, 2], 6)
    """
    order, block = tuple(number for number in turn.order if number in waiting), turn.block
    if not order:
        coins = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_STREAM, block)))
        order, block = tuple(coins.permutation(sorted(waiting)).tolist()), block + 1
    return order[0], Turn(turn.assigned + 1, block, order[1:])
