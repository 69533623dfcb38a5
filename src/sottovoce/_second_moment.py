"""A second number beside a sum of losses, for their variance: it costs no privacy.

What is released: beside the sum of the integers q of some losses (0 <= q <= S, S = `steps`, even) the sum of their

    t(q) = floor((q - S/2)^2 / S),    0 <= t <= S/4,

squares around the middle of the range in units of S, each sum with noise of its own, and the same for both.

Neighbours and sensitivity: replacing one loss moves both sums. Together they move by S at most, in l1 norm, which is
what the first moves by alone; so the noise that the first needs does for both, and l2 <= l1. Who adds up u(U - u)/U
with U = S, which is S/4 - t but for rounding, adds S/4 - t(u).

Proof. Let u = q - S/2 and u' be two values, d = |u - u'| and s = |u + u'|. The larger of |u| and |u'| is (d + s)/2 and
at most S/2, so s <= S - d. Without the floor the two move by

    d + |u^2 - u'^2|/S = d (1 + s/S) <= d (2 - d/S) = S - (S - d)^2/S <= S.

The floor adds less than 1, so that the whole number d + |t(u) - t(u')| is below S + 1: at most S.
What moves the sum most, from one end of the range to the other, leaves the squares as they are; what moves the squares
most, from an end to the middle, moves the sum by half. A loss that is missing counts as the middle, u = 0, one of the
values that there are. K events of a person: K S in all.

Gaussian noise at the same scale likewise, since l2 <= l1 <= S; what its being discrete adds to delta is charged for two
numbers in place of one.

Tests: tests/evaluations/test_second_moment.py (all pairs of a small grid, and the worst of the real one);
tests/auditing/test_evaluations.py, tests/auditing/test_breaks.py.
"""

from sottovoce._arrays import Integers

__all__ = ["squares_of"]


def squares_of(integers: Integers, steps: int) -> Integers:
    """Return t(q) for each.

    Parameters
    ----------
    integers
        Of losses.
    steps
        The largest that there may be; even.

    Examples
    --------
    >>> import numpy as np
    >>> squares_of(np.array([0, 2, 4, 8]), 8)
    array([2, 0, 0, 2])
    """
    around = integers - steps // 2
    return around * around // steps
