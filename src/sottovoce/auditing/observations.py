"""What an adversary has seen in many runs of one world, and the ways of looking at it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Observations", "lowest_bits", "views"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observations:
    """One row per run.

    Attributes
    ----------
    released
        (runs, rounds, numbers): what the mechanism released in each round, or the reports that owners sent.
    actions
        (runs, rounds, dimension): the first action of each round. Without any, where a mechanism is audited alone.
    """

    released: Floats
    actions: Floats

    @property
    def runs(self) -> int:
        """How many runs these are."""
        return len(self.released)

    @classmethod
    def joined(cls, pieces: Sequence["Observations"]) -> "Observations":
        """Put the observations of one world together."""
        return cls(
            np.concatenate([piece.released for piece in pieces]), np.concatenate([piece.actions for piece in pieces])
        )


def views(seen: Observations) -> dict[str, Floats]:
    """Return ways of looking at a transcript, each a matrix with one row per run.

    A running sum hides what went into it. Its increments show the noise of a mechanism that noises every round by
    itself; what came in since round t - (lowest 1-bit of t) is one node of a binary tree, with noise of its own.

    Examples
    --------
    >>> seen = Observations(np.arange(8.0).reshape(2, 4, 1), np.empty((2, 4, 0)))
    >>> sorted(views(seen))
    ['increments', 'lowest bits', 'numbers', 'tree nodes']
    """
    released = seen.released
    start = np.zeros_like(released[:, :1])
    sums = np.concatenate([start, released], axis=1)
    rounds = np.arange(1, sums.shape[1])
    since = rounds & (rounds - 1)
    every = {
        "numbers": released,
        "increments": np.diff(sums, axis=1),
        "tree nodes": sums[:, 1:] - sums[:, since],
        "lowest bits": lowest_bits(released),
        "actions": seen.actions,
    }
    return {name: values.reshape(seen.runs, -1) for name, values in every.items() if values.size}


def lowest_bits(values: Floats) -> Floats:
    """Return log2 of the lowest bit that each number needs (0 for 0): where floating point gives inputs away.

    Examples
    --------
    >>> lowest_bits(np.array([6.0, 0.75, 0.1, 0.0]))
    array([  1.,  -2., -55.,   0.])
    """
    fraction, exponent = np.frexp(values)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(digits == 0, 0, lowest + exponent - 53).astype(np.float64)
