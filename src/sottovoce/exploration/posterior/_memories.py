"""What worlds may be like, as beliefs about linear losses see it: which memory is in use, and when all is forgotten."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats

__all__ = ["MEMORIES", "USUAL", "Memory", "calmer", "in_use", "limit_of", "scored"]


class Memory(NamedTuple):
    """How far back it reaches, in horizons, and by how much mean losses wander from round to round, in B."""

    reach: float
    wander: float = 0.0


MEMORIES = (Memory(math.inf), Memory(math.inf, 0.0175), Memory(1 / 10), Memory(1 / 30))
"""Still; unsteady around a mean; drifting, slowly or faster."""
USUAL = 20
"""Rounds whose surprise is usual."""
_AHEAD = (3.0, 0.0, -2.0, -2.0)  # nats by which each is ahead: the simplest wins where none predicts better
_FADE, _FLOOR = 0.9, -40.0  # of the evidence for a memory
_LIMIT = 8.0  # mean squared surprise of a round, over what is usual, at which all is forgotten, at first
_CALM = 0.05  # horizons that pass until a reset is forgiven: the limit is halved again


def scored(scores: Floats, evidence: Sequence[float]) -> Floats:
    """Return the evidence for each memory after one more round, the best at 0; older rounds fade."""
    summed = _FADE * scores + np.array(evidence)
    return np.asarray(np.maximum(summed - summed.max(), _FLOOR))


def in_use(scores: Floats) -> int:
    """Return which memory is in use: that which predicted best, if by a margin.

    Examples
    --------
    >>> in_use(np.zeros(4)), in_use(np.array([-4.0, 0.0, 0.0, 0.0])), in_use(np.array([-9.0, -9.0, 0.0, -9.0]))
    (0, 1, 2)
    """
    return int(np.argmax(scores + np.array(_AHEAD[: len(scores)])))


def limit_of(surprises: Floats, alarm: float) -> float:
    """Return the surprise beyond which all is forgotten, given the last ones: a wrong model surprises always.

    Examples
    --------
    >>> limit_of(np.ones(3), 0.0), limit_of(np.ones(3), 1.0), limit_of(np.array([1.0, 5.0, 9.0]), 0.0)
    (8.0, 16.0, 40.0)
    """
    usual = float(np.median(surprises)) if len(surprises) else 1.0
    return float(_LIMIT * 2**alarm * max(1.0, usual))


def calmer(alarm: float, events: float, horizon: int) -> float:
    """Return how often the limit is doubled still, so many events later."""
    return max(0.0, alarm - events / (_CALM * horizon))
