"""Doubly stochastic matrices as mixtures of permutations."""

import numpy as np
import scipy

from sottovoce._arrays import Floats, Positions, Vector

_NOTHING = 1e-13  # an entry that rounding left over


def permutation_mixture(matrix: Floats) -> tuple[Positions, Vector]:
    """Write a doubly stochastic matrix as a mixture of permutations (Birkhoff, 1946; von Neumann, 1953).

    Returns the column of every row, one permutation a line, and the weights. Each permutation lies in what is left of
    the matrix, and its weight is its smallest entry there, which then is gone: there are at most n^2 - 2 n + 2.
    """
    rest = np.where(matrix > _NOTHING, matrix, 0.0)
    rows = np.arange(len(matrix))
    permutations, weights = [], []
    while True:
        # The heaviest permutation takes large bites; entries that are gone cost more than all others together.
        columns = scipy.optimize.linear_sum_assignment(np.where(rest > 0.0, rest, -float(len(matrix))), maximize=True)[
            1
        ]
        bite = float(rest[rows, columns].min())
        if bite <= 0.0:
            break
        permutations.append(columns)
        weights.append(bite)
        left = rest[rows, columns] - bite
        rest[rows, columns] = np.where(left > _NOTHING, left, 0.0)
    shares = np.array(weights)
    return np.array(permutations), shares / shares.sum()
