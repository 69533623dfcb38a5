"""What the best of many noisy numbers is worth: less than it looks.

The trial whose released mean is best is best in part by luck (the winner's curse). If the true means are draws from a
distribution G, and each was seen with an error of known size, then the expectation of each given what was seen is free
of that: it is the same whether the trial was picked for being best or not (Bayes' rule does not know about picking). G
is not known, but many trials show it: here it is the distribution on a grid that makes what was seen most likely,
found by expectation and maximisation (the nonparametric maximum likelihood of Kiefer and Wolfowitz 1956, as used by
Jiang and Zhang 2009). It bends to what samplers do, a few bad trials first and many good ones later, where a normal
distribution would not. All of it is computed from released means.

Tests: tests/integrations/test_shrinking.py.
"""

import numpy as np

from sottovoce._arrays import Floats

__all__ = ["shrunk"]

_GRID = 200  # points at which G may have mass
_STEPS = 200  # of expectation and maximisation; more of them make G spiky, not better


def shrunk(means: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return the expectation of each true mean given all that was seen, and its standard deviation.

    Parameters
    ----------
    means
        What was released.
    errors
        Standard error of each.

    Examples
    --------
    >>> seen = np.array([0.1, 0.5, 0.5, 0.6, 0.4])
    >>> expected, _ = shrunk(seen, np.full(5, 0.1))
    >>> bool(0.1 < expected[0] < 0.5)
    True
    """
    means, errors = np.asarray(means, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if len(means) < 2 or not errors.min() > 0:
        return means.copy(), errors.copy()
    grid = np.linspace(means.min(), means.max(), _GRID)
    logs = -0.5 * ((means[:, None] - grid) / errors[:, None]) ** 2
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(_GRID, 1 / _GRID)
    for _ in range(_STEPS):
        joint = likely * weights
        weights = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    joint = likely * weights
    joint /= joint.sum(axis=1, keepdims=True)
    expected = joint @ grid
    return expected, np.sqrt(np.maximum(joint @ grid**2 - expected**2, 0.0))
