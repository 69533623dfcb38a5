"""What two counts prove: lower bounds on epsilon, and on mu, at a stated confidence.

A guarantee bounds how much likelier any set S of outputs may become: P1(S) <= e^epsilon P0(S) + delta, and, for
Gaussian noise, Phi^-1(P1(S)) - Phi^-1(P0(S)) <= mu. S was fixed beforehand; how often the outputs of two worlds fell
into it is binomial, so Clopper-Pearson bounds P1(S) from below and P0(S) from above, each at half of the error allowed.
Where both hold, as they do with the stated confidence, no mechanism with a smaller epsilon (or mu) could do this.

Tests: tests/auditing/test_bounds.py.
"""

from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

__all__ = ["at_least", "at_most", "epsilon_shown", "mu_shown"]


def at_least(hits: Any, trials: int, error: float) -> Any:
    """Clopper-Pearson: what a probability is at least, wrong with probability at most `error`.

    Examples
    --------
    >>> round(float(at_least(90, 100, 0.005)), 2), float(at_least(0, 100, 0.005))
    (0.8, 0.0)
    """
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, error), 0.0)


def at_most(hits: Any, trials: int, error: float) -> Any:
    """Clopper-Pearson: what a probability is at most, wrong with probability at most `error`.

    Examples
    --------
    >>> round(float(at_most(0, 1000, 0.001)), 4)  # about ln(1/error)/trials
    0.0069
    """
    return 1.0 - at_least(trials - np.asarray(hits), trials, error)


def epsilon_shown(likely: Any, rare: Any, delta: float = 0.0) -> Any:
    """Least epsilon with likely <= e^epsilon rare + delta; below 0 if nothing is shown.

    Examples
    --------
    >>> round(float(epsilon_shown(0.5, 0.5 / np.e)), 3)
    1.0
    """
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(np.asarray(likely) - delta, 0.0)) - np.log(rare)


def mu_shown(likely: Any, rare: Any) -> Any:
    """Least mu of Gaussian differential privacy that allows this: the gap of two normal quantiles; below 0 if none.

    Examples
    --------
    >>> round(float(mu_shown(0.5, 0.158655)), 3)
    1.0
    """
    return ndtri(np.asarray(likely, dtype=np.float64)) - ndtri(np.asarray(rare, dtype=np.float64))
