"""Noise of running sums that are made of tree nodes: one for each 1-bit of the round's number."""

import math
from collections.abc import Callable

from sottovoce.privacy.mechanisms.mechanism import Variances


def node_variances(length: int, of_level: Callable[[int], float]) -> Variances:
    """Variance of the t-th sum, its mean and its largest over 1..length, where a node's depends on its level alone.

    Examples
    --------
    >>> variance, mean, worst = node_variances(8, lambda level: 1.0)
    >>> variance(7), mean, worst
    (3.0, 1.625, 3.0)
    """
    variances = [of_level(level) for level in range(length.bit_length())]

    def variance(t: int) -> float:
        return math.fsum(value for level, value in enumerate(variances) if t >> level & 1)

    def ones(level: int) -> int:  # how many of 0..length have that bit set
        period, beyond = 2 << level, (length + 1) % (2 << level)
        return (length + 1) // period * (period // 2) + max(0, beyond - period // 2)

    mean = math.fsum(value * ones(level) for level, value in enumerate(variances)) / length
    # The worst t is `length` itself, or it falls below it at one bit and has all ones from there on.
    candidates = [length, *((length >> level << level) - 1 for level in range(length.bit_length()))]
    return variance, mean, max(variance(t) for t in candidates if t > 0)
