"""Distinguishers: from what was seen in a run to one score that is higher if the person's losses were high.

All are learned from one half of the runs, and know nothing of the program: not which mechanism ran, nor the scale of
its noise, so that they are as strong against a program that is not what it claims to be. Learned are, for every number
that is seen, its middle in each world and its spread; with 10^4 runs these are as good as known.

- likelihood: the sum over numbers of the log-likelihood ratio of a Laplace (or Gaussian) release between two middles.
  Exact where the numbers carry independent noise of that family, such as probe sums and the nodes of a tree.
- Fisher's discriminant: the best linear score under Gaussian noise that is correlated in any way, so for any
  factorisation, and for actions. Of many numbers, those that move most.
- the single number that moves most, in units of its spread: finds what has too little noise, or none.
- the single number whose distributions lie furthest apart (Kolmogorov-Smirnov), however they do.
- how far a single number lies from its usual value: finds noise whose size depends on the loss, or comes and goes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats

_SIGNIFICANT = 3.0  # standard errors: numbers that moved less are left out of a likelihood, where they would be noise
_NEGLIGIBLE = 1e-9
_RUNS_PER_NUMBER = 5  # that Fisher's discriminant needs, or it learns the runs by heart


@dataclass(frozen=True)
class Distinguisher:
    """A score on one view of the transcript."""

    name: str
    view: str
    score: Callable[[Floats], Floats]


def learn(view: str, low: Floats, high: Floats) -> Iterator[Distinguisher]:
    """Yield distinguishers for one view, learned from runs of both worlds (one row each).

    Examples
    --------
    >>> coins = np.random.default_rng(0)
    >>> low, high = coins.laplace(0.0, 1.0, (1000, 2)), coins.laplace([1.0, 0.0], 1.0, (1000, 2))
    >>> [found.name for found in learn("numbers", low, high)][:3]
    ['Laplace likelihood', 'Gaussian likelihood', "Fisher's discriminant"]
    >>> best = next(learn("numbers", low, high))
    >>> bool(best.score(high).mean() > best.score(low).mean())
    True
    """
    moved = high.mean(axis=0) - low.mean(axis=0)
    spread = np.sqrt((low.var(axis=0) + high.var(axis=0)) / 2)
    if not spread.any() and not moved.any():
        return  # the same number in every run of both worlds: public, and nothing to learn
    spread = np.maximum(spread, _NEGLIGIBLE * max(1.0, float(np.abs(moved).max())))
    error = spread * np.sqrt(1 / len(low) + 1 / len(high))
    significant = np.abs(moved) > _SIGNIFICANT * error
    middle = np.median(low, axis=0), np.median(low, axis=0) + np.where(significant, moved, 0.0)
    yield Distinguisher("Laplace likelihood", view, _laplace(*middle, spread))
    yield Distinguisher("Gaussian likelihood", view, _linear(np.where(significant, moved, 0.0) / spread**2))
    yield Distinguisher("Fisher's discriminant", view, _linear(_fisher(low / spread, high / spread) / spread))
    yield Distinguisher("single number", view, _number(int(np.argmax(np.abs(moved) / spread))))
    yield Distinguisher("furthest number", view, _number(_furthest(low, high)))
    around = np.abs(low - middle[0]), np.abs(high - middle[0])
    strange = _furthest(*around)
    yield Distinguisher("distance from the usual number", view, _number(strange, float(middle[0][strange])))


def _number(column: int, usual: float | None = None) -> Callable[[Floats], Floats]:
    def score(seen: Floats) -> Floats:
        return np.asarray(seen[:, column] if usual is None else np.abs(seen[:, column] - usual))

    return score


def _furthest(low: Floats, high: Floats) -> int:
    """The number with the largest distance of the two worlds' distribution functions."""
    both = np.concatenate([low, high])
    order = np.argsort(both, axis=0, kind="stable")
    steps = np.where(order < len(low), 1 / len(low), -1 / len(high))
    ordered = np.take_along_axis(both, order, axis=0)
    last = np.ones_like(ordered, dtype=bool)  # of equal values: between them no threshold can be put
    last[:-1] = ordered[1:] > ordered[:-1]
    return int(np.where(last, np.abs(np.cumsum(steps, axis=0)), 0.0).max(axis=0).argmax())


def _laplace(low: Floats, high: Floats, spread: Floats) -> Callable[[Floats], Floats]:
    used = low != high
    low, high, scale = low[used], high[used], spread[used] / np.sqrt(2)

    def score(seen: Floats) -> Floats:
        values = seen[:, used]
        return np.asarray(((np.abs(values - low) - np.abs(values - high)) / scale).sum(axis=1))

    return score


def _linear(weights: Floats) -> Callable[[Floats], Floats]:
    return lambda seen: np.asarray(seen @ weights)


def _fisher(low: Floats, high: Floats) -> Floats:
    """Weights of the numbers, in units of their spread."""
    moved = high.mean(axis=0) - low.mean(axis=0)
    most = max(1, (len(low) + len(high)) // _RUNS_PER_NUMBER)
    used = np.argsort(-np.abs(moved), kind="stable")[:most]
    centred = np.concatenate([low - low.mean(axis=0), high - high.mean(axis=0)])[:, used]
    covariance = np.atleast_2d(np.cov(centred.T))
    covariance += 1e-6 * np.eye(len(covariance))  # copies of one number have no inverse
    weights: Floats = np.zeros(len(moved))
    weights[used] = np.linalg.solve(covariance, moved[used])
    return weights
