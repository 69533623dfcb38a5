"""What worlds may be like: how far back a belief remembers, by how well that predicts, and when all is forgotten.

Beliefs about linear losses choose a memory, which may expect mean losses to wander. Those about convex losses choose
how wrong their model is and how noisy a loss as well: each choice is judged by itself, in a setting of all three.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats


class Memory(NamedTuple):
    """How far back it reaches, in horizons, and by how much mean losses wander from round to round, in B."""

    reach: float
    wander: float = 0.0


MEMORIES = (Memory(math.inf), Memory(math.inf, 0.0175), Memory(1 / 10), Memory(1 / 30))
"""Still; unsteady around a mean; drifting, slowly or faster."""
USUAL = 20
"""Rounds whose surprise is usual."""
ENOUGH = 6
"""Numbers of a round that may surprise."""
_AHEAD = np.array([3.0, 0.0, -2.0, -2.0])  # nats by which each is ahead: the simplest wins where none predicts better
_FADE, _FLOOR = 0.9, -40.0  # of the evidence for a memory
_LIMIT = 8.0  # mean squared surprise of a round, over what is usual, at which all is forgotten, at first
_CALM = 0.05  # horizons that pass until a reset is forgiven: the limit is halved again


def scored(scores: Floats, evidence: Sequence[float] | Floats) -> Floats:
    """Return the evidence for each memory after one more round, the best at 0; older rounds fade."""
    summed = _FADE * scores + np.array(evidence)
    return np.asarray(np.maximum(summed - summed.max(), _FLOOR))


def in_use(scores: Floats, ahead: Floats = _AHEAD) -> int:
    """Return which memory is in use: that which predicted best, if by a margin.

    Parameters
    ----------
    scores
        Evidence for each.
    ahead
        Nats by which each is ahead.

    Examples
    --------
    >>> in_use(np.zeros(4)), in_use(np.array([-4.0, 0.0, 0.0, 0.0])), in_use(np.array([-9.0, -9.0, 0.0, -9.0]))
    (0, 1, 2)
    """
    return int(np.argmax(scores + ahead))


def limit_of(surprises: Floats, alarm: float, first: float = _LIMIT) -> float:
    """Return the surprise beyond which all is forgotten, given the last ones: a wrong model surprises always.

    Parameters
    ----------
    surprises, alarm
        The last ones, and how often the limit is doubled.
    first
        Where nothing surprises more than it should, and nothing was forgotten.

    Examples
    --------
    >>> limit_of(np.ones(3), 0.0), limit_of(np.ones(3), 1.0), limit_of(np.array([1.0, 5.0, 9.0]), 0.0)
    (8.0, 16.0, 40.0)
    """
    usual = median(surprises.tolist()) if len(surprises) else 1.0
    return float(first * 2**alarm * max(1.0, usual))


def calmer(alarm: float, events: float, horizon: int) -> float:
    """Return how often the limit is doubled still, so many events later."""
    return max(0.0, alarm - events / (_CALM * horizon))


# ------------------------------------------------------------------ of convex losses

MISFITS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""tau: numbers may be off by tau B r^2, r the distance from the leader."""
VARIANCES = (1 / 16, 1 / 64, 1 / 256, 1 / 1024)
"""Of one loss at one point, in B^2."""
REACHES = (math.inf, 0.3, 0.1, 0.03)
"""How far back is remembered, in horizons."""
GRIDS = (len(MISFITS), len(VARIANCES), len(REACHES))
Choices = tuple[int, ...]
"""Which model error, variance and reach."""
_HANDICAP = 6.0  # nats by which a memory that forgets must win
_JUMP, _FEW = 10.0, 5  # a surprise against the usual one: factor, and rounds before there is a usual one


def neighbours(setting: Choices, choice: int) -> list[Choices]:
    """Return the settings that differ from one in nothing but one of the three choices.

    Examples
    --------
    >>> neighbours((0, 2, 0), 1)
    [(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0)]
    """
    return [(*setting[:choice], other, *setting[choice + 1 :]) for other in range(GRIDS[choice])]


def best_of(choice: int, scores: Floats) -> int:
    """Return what has predicted best; a memory that forgets must be better by far."""
    if choice == 2:
        scores = np.append(scores[:1], scores[1:] - _HANDICAP)
    return int(np.argmax(scores))


def has_jumped(surprise: float, numbers: int, usual: Floats) -> bool:
    """Whether a round of so many numbers surprises so much more than is usual that the world has changed."""
    known = max(1.0, median(usual.tolist())) if len(usual) >= _FEW else math.inf
    return numbers >= ENOUGH and surprise > _JUMP * known


# ------------------------------------------------------------------ of either


class Outcome(NamedTuple):
    """Of a round's numbers: log-likelihood, and mean squared surprise."""

    likelihood: float
    surprise: float


def judged(residuals: Floats, covariances: Floats, private: Floats | None, outlier: float) -> list[Outcome]:
    """Judge predictions of a round's numbers by what they were off by, and should be: a row for each prediction.

    Laplace noise has outliers, which are no news: one number alone does not make a surprise.

    Parameters
    ----------
    residuals, covariances
        (S, m) and (S, m, m).
    private
        (S, m), the share of each number's variance that Laplace noise has; None if there is none.
    outlier
        What a squared surprise counts at most, where Laplace noise is all there is.
    """
    root = np.linalg.cholesky(covariances)
    squares = np.linalg.solve(root, residuals[:, :, None])[:, :, 0] ** 2
    likelihood = -squares.sum(axis=1) / 2 - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    if private is not None:
        squares = np.minimum(squares, outlier / private.mean(axis=1)[:, None])
    return list(map(Outcome, likelihood.tolist(), squares.mean(axis=1).tolist()))
