"""Item sums: one number for each item that was shown, each released once. Pure epsilon-DP for whole vectors of losses.

What is released: for every round, for each item that its decisions show, the sum of that item's integer losses over the
events that showed it, times a public whole number (its *multiplier*), with noise; and, where that is free, the sum of
u(U - u)/U over all items and events, from which the variance of a loss follows (_sums.py).

Neighbours: one person's losses of all items are replaced, in up to K events. Which event plays which decision in which
round is public and does not depend on any loss; nor does which reports came.

Sensitivity: given all that was released before, an event is in one round, and moves the sums of the items of its own
decision, and no others. Replacing its k losses moves them by at most `ItemGrid.l1` in l1 norm, and multiplied by at
most `weighted_l1`: with d_i = |x_i - y_i| <= U and sum d_i <= min(2C, kU), the sum of m_i d_i is largest if the largest
multipliers get U each. `check_multipliers` refuses a round in which any decision's exceeds RESOLUTION times `l1`.

The number beside them: with h(u) = U/4 - t(u), |u - v| + |h(u) - h(v)| <= U for all integers u, v in [0, U]
(_sums.py). So with a multiplier of at most the least of the items', m_i d_i + m |h_i - h'_i| <= m_i U for each
item, and where C >= ceil(k/2) U that sum is within what `l1` allows already.

Proof. An event's numbers are all in one round, whose noise is fresh given the past: the likelihood ratio of its release
between neighbours is at most exp(moved/scale), and all other rounds have none. Hence epsilon = K * RESOLUTION * l1 /
scale for the whole run: no composition over items or rounds. Gaussian: mu = K * RESOLUTION * l2 / scale, with one
multiplier for all and no number beside them, which would add up what l2 keeps apart. Everything after is
post-processing.

Tests: tests/privacy/test_item_sums.py.
"""

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.privacy.calibration import least_noise_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sottovoce.privacy.item_grid import ItemGrid
from sottovoce.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from sottovoce.privacy.mechanisms.probe_sums import ProbeSums
from sottovoce.privacy.noise import Noise

RESOLUTION = 64
"""The multiplier of every item, where all items' numbers have the same noise."""


def weighted_l1(grid: ItemGrid, columns: Integers, multipliers: Integers) -> Integers:
    """Return how far one event of each decision moves its round's numbers, in l1 norm, at most.

    Parameters
    ----------
    grid
        Of the losses.
    columns
        (m, k), the numbers of each decision's items; -1 where it has fewer.
    multipliers
        Of each number.

    Examples
    --------
    >>> from sottovoce.privacy.grid import LossGrid
    >>> grid = ItemGrid(LossGrid(0.0, 1.0, bits=4), width=3)
    >>> weighted_l1(grid, np.array([[0, 1, 2], [1, 2, -1]]), np.array([4, 2, 1]))
    array([112,  48])
    """
    own = np.where(columns >= 0, multipliers[columns], 0)
    own = -np.sort(-own, axis=1)
    left = np.minimum(2 * grid.limit, np.count_nonzero(columns >= 0, axis=1) * grid.steps)[:, None]
    sensitivity = np.clip(left - grid.steps * np.arange(own.shape[1]), 0, grid.steps)
    return np.asarray((own * sensitivity).sum(axis=1))


def check_multipliers(
    grid: ItemGrid, columns: Integers, multipliers: Integers, spread: int, family: str | None
) -> None:
    """Refuse a round in which one event can move its numbers farther than its noise hides.

    Parameters
    ----------
    grid, columns, multipliers
        As for `weighted_l1`.
    spread
        The multiplier of the number beside the items'; 0 if there is none.
    family
        Of the noise; None if there is none.
    """
    if columns.ndim != 2 or columns.shape[1] > grid.width or columns.dtype != np.int64:
        raise ValueError(f"a decision has more items than {grid.width}, which the noise is for")
    ordered = np.sort(columns, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any() or not (multipliers >= 1).all():
        raise ValueError("an item stands twice in a decision, or does not count")
    if (multipliers == RESOLUTION).all():
        far = RESOLUTION * grid.l1  # exact, where all count alike
    else:
        far = int(weighted_l1(grid, columns, multipliers).max(initial=0))
    if far > RESOLUTION * grid.l1:
        raise ValueError("the multipliers of a round would let one person move its numbers too far")
    if family == "gaussian" and (spread or not (multipliers == RESOLUTION).all()):
        raise ValueError("Gaussian noise is for items that all count alike, and for nothing beside them")
    if spread and not (grid.spread_is_free and spread <= multipliers.min(initial=RESOLUTION)):
        raise ValueError("the number beside the items' is not free here")


def _noise(guarantee: Guarantee, sensitivity: Sensitivity) -> Noise:
    """Least noise of either family, for what one person's vectors of losses move."""
    people, moved = guarantee.contributions, sensitivity
    return least_noise_for(guarantee, l1=people * moved.l1, l2=people * moved.l2, numbers=people * moved.dimension)


ITEM_SUMS = Mechanism(
    name="item-sums",
    takes=("items",),
    releases="rounds",
    guarantees=(PureDP, ApproxDP, ZCDP),
    noise=_noise,
    open=lambda sensitivity, sampler: ProbeSums(sampler),
    headroom=RESOLUTION,
    unasked=True,
)
