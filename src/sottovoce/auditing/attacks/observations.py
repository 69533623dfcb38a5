"""What an adversary has seen in many runs, and the ways of looking at it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.auditing.playing.transcripts import Transcript


def _nothing() -> Floats:
    return np.empty((0, 0, 0))


@dataclass(frozen=True, eq=False)
class Observations:
    """One row per run.

    Attributes
    ----------
    released
        (runs, rounds, numbers): what the mechanism released in each round, or the reports that owners sent.
    actions
        (runs, events, dimension): every action. Without any, where a mechanism is audited alone.
    rounds
        The round of each event.
    counters
        (runs, calls): how many rounds were closed after each call.
    worlds
        (runs, people): which world each person was in, the second if true. This is what an adversary guesses.
    """

    released: Floats
    actions: Floats = field(default_factory=_nothing)
    rounds: tuple[int, ...] = ()
    counters: Floats = field(default_factory=_nothing)
    worlds: Any = field(default_factory=_nothing)

    @property
    def runs(self) -> int:
        """How many runs these are."""
        return len(self.released)

    def part(self, rows: slice) -> "Observations":
        """Return some of the runs."""
        return Observations(
            self.released[rows], self.actions[rows], self.rounds, self.counters[rows], self.worlds[rows]
        )

    @classmethod
    def joined(cls, pieces: Sequence["Observations"]) -> "Observations":
        """Put observations together."""
        return cls(
            _stacked([run for piece in pieces for run in piece.released]),
            np.concatenate([piece.actions for piece in pieces]),
            pieces[0].rounds,
            np.concatenate([piece.counters for piece in pieces]),
            np.concatenate([piece.worlds for piece in pieces]),
        )


def observed(transcripts: Sequence[Transcript], rounds: tuple[int, ...], worlds: Any) -> Observations:
    """Put transcripts together, with the world of each person in each."""
    return Observations(
        _stacked([_padded(transcript.released) for transcript in transcripts]),
        np.array([_padded(transcript.actions) for transcript in transcripts]),
        rounds,
        np.array([transcript.counters for transcript in transcripts], dtype=np.float64),
        worlds,
    )


def _padded(vectors: Sequence[Floats]) -> Floats:
    width = max(map(len, vectors), default=0)
    if all(len(one) == width for one in vectors):
        return np.array(vectors).reshape(len(vectors), width)
    return np.array([np.pad(one, (0, width - len(one))) for one in vectors]).reshape(len(vectors), width)


def _stacked(runs: Sequence[Floats]) -> Floats:
    shape = tuple(np.max([run.shape for run in runs], axis=0))
    if all(run.shape == shape for run in runs):
        return np.array(runs)
    stacked = np.zeros((len(runs), *shape))
    for i, run in enumerate(runs):
        stacked[i, : run.shape[0], : run.shape[1]] = run
    return stacked


def views(seen: Observations) -> dict[str, Floats]:
    """Return ways of looking at a transcript, each a matrix with one row per run.

    A running sum hides what went into it. Its increments show the noise of a mechanism that noises every round by
    itself; what came in since round t - (lowest 1-bit of t) is one node of a binary tree, with noise of its own. What
    is common to the numbers of a round, or to its actions, cancels in their differences: one noise for all, say.

    Examples
    --------
    >>> seen = Observations(np.arange(16.0).reshape(2, 4, 2))
    >>> sorted(views(seen))
    ['differences of numbers', 'increments', 'lowest bits', 'numbers', 'tree nodes']
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
        "differences of numbers": np.diff(released, axis=2),
        "lowest bits": lowest_bits(released),
    }
    if seen.actions.size:
        first = np.searchsorted(seen.rounds, seen.rounds) if seen.rounds else np.zeros(seen.actions.shape[1], dtype=int)
        every |= {
            "actions": seen.actions,
            "actions beside the first of their round": seen.actions - seen.actions[:, first],
            "rounds closed": seen.counters,
        }
    return {name: values.reshape(len(values), -1) for name, values in every.items() if values.size}


def lowest_bits(values: Any) -> Floats:
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
