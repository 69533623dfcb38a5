"""Looking several times, at moments that are fixed beforehand, and still being wrong no more often than was said.

Each look k has a level of its own: the probability with which, if it were the only look, the truth lies outside of its
interval. They are chosen such that the probability that it *ever* does is alpha. How alpha is spent on looks is Lan and
DeMets' function of O'Brien and Fleming's kind (1983), one half of alpha for each side:

    spent(t) = 2 * 2 P(N >= z(alpha/4)/sqrt(t)),

t being the share of the planned events that are in: little while there is little to see, nearly all at the end, so that
the last interval is almost that of a test without early looks. What is spent by a look is what falls out at it for the
first time; that is computed from how what is released adds up over stages (Armitage, McPherson and Rowe 1969). With
S_k the sum of the stages' errors, weighted, and f_k the density of S_k among paths that have stayed within their
bounds so far,

    f_{k+1} = (f_k restricted to |s| < c_k) * g_{k+1},

g being the density of a stage's error: normal, with the Laplace noise of the stage as it is (a stage has noise of its
own, since each event is in one released number). On a grid this is a product of Fourier transforms.

The intervals of all looks then hold the truth together, with a probability of 1 - alpha: Jennison and Turnbull's
repeated confidence intervals (1989). So it does not matter for what reason one stops, or that one does not.

Tests: tests/stats/test_looks.py, against published bounds and against simulated paths.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from sottovoce._arrays import Floats
from sottovoce.stats._error_law import LEAST_LEVEL, ErrorLaw, summed

_CELLS = 2**14


def spent(share: float, alpha: float) -> float:
    """Return how much of alpha is spent once a share of the events is in.

    Parameters
    ----------
    share
        Of the planned events: above 0, at most 1.
    alpha
        What is spent in all.

    Examples
    --------
    >>> spent(1.0, 0.05), round(spent(0.5, 0.05), 4)
    (0.05, 0.0031)
    """
    if share >= 1:
        return alpha
    return float(4 * ndtr(ndtri(alpha / 4) / np.sqrt(share)))


@lru_cache(maxsize=256)
def levels_of_looks(stages: tuple[ErrorLaw, ...], shares: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """Return the level of each look; 0 for one so early that nothing can be said.

    Parameters
    ----------
    stages
        Of each stage, the distribution of what its difference, times its weight, errs by.
    shares
        Of the planned events that are in after each stage; they increase.
    alpha
        How often the truth may ever be outside.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> levels = levels_of_looks((ErrorLaw(1.0),) * 5, (0.2, 0.4, 0.6, 0.8, 1.0), 0.05)
    >>> [round(float(norm.isf(level / 2)), 2) for level in levels]  # as published
    [4.88, 3.36, 2.68, 2.29, 2.03]
    """
    walk, levels, so_far = _Walk(stages), [], ErrorLaw(0.0)
    before = 0.0
    for stage, share in zip(stages, shares, strict=True):
        so_far = so_far.plus(stage)
        walk.step(stage)
        bound = walk.bound_for(spent(share, alpha) - before)
        level = so_far.tail(bound)
        if level < LEAST_LEVEL:
            bound, level = np.inf, 0.0
        else:
            before = spent(share, alpha)
        walk.stay_within(bound)
        levels.append(level)
    return tuple(levels)


class _Walk:
    """The density of a sum of stages among paths that have stayed within their bounds, on a grid around 0."""

    def __init__(self, stages: Sequence[ErrorLaw]) -> None:
        half = summed(stages).reach
        self._step = 2 * half / _CELLS
        self._frequencies: Floats = np.asarray(2 * np.pi * np.fft.rfftfreq(_CELLS, self._step), dtype=np.float64)
        self._mass: Floats = np.zeros(_CELLS)  # in each cell
        self._mass[_CELLS // 2] = 1.0

    def step(self, stage: ErrorLaw) -> None:
        """Add a stage."""
        turned = np.fft.rfft(np.fft.ifftshift(self._mass)) * stage.transform(self._frequencies)
        self._mass = np.maximum(np.fft.fftshift(np.fft.irfft(turned, _CELLS)), 0.0)

    def bound_for(self, chance: float) -> float:
        """Return the distance beyond which a chance lies, both sides together."""
        folded = self._mass[_CELLS // 2 :].copy()
        folded[1:] += self._mass[_CELLS // 2 - 1 : 0 : -1]
        beyond = np.cumsum(folded[::-1])[::-1]  # of cell i and all further out: beyond (i - 1/2) steps
        edges = np.maximum(np.arange(len(folded)) - 0.5, 0.0) * self._step
        there = beyond > 0
        logs, wanted = np.log(beyond[there]), np.log(max(chance, 1e-300))
        return float(np.interp(-wanted, -logs, edges[there]))

    def stay_within(self, bound: float) -> None:
        """Leave out the paths that end further from 0: of a cell on the bound, its share."""
        if np.isfinite(bound):
            distances = np.abs(np.arange(_CELLS) - _CELLS // 2)
            self._mass = self._mass * np.clip(bound / self._step - distances + 0.5, 0.0, 1.0)
