"""A mean of permutations as transfers: what Hardy, Littlewood and Polya (1934) did to prove their theorem.

If `falling` majorises a falling `mean`, then the one becomes the other in fewer than n transfers, each of some amount
from a place that has too much to a later one that has too little. A transfer of amount a between places with means
m_i > m_k is a swap of the two with chance p = a/(m_i - m_k): the mean of i becomes (1 - p) m_i + p m_k = m_i - a. So
permutations with the right mean are drawn by tossing a coin for every transfer, in order, a pass over n numbers each;
or they are listed, at most n of them, by swapping in whole permutations until the amount is reached, and splitting the
last of them.

Compiled on first use, and kept on disk.
"""

import numpy as np

from sottovoce._arrays import Floats, Indices, Positions, Vector
from sottovoce._compiled import compiled

__all__ = ["permutations_by_transfers", "swapped", "transfers"]


@compiled
def transfers(falling: Vector, mean: Vector) -> tuple[Indices, Indices, Vector, Vector]:
    """Return the transfers that turn `falling` into `mean`, both falling: from, to, amount, and chance of a swap.

    Places that have too much wait on a stack; one that has too little takes from the latest of them. Between the two
    nothing is wrong any more, and what both have stays in order, so that chances are at most 1. The sums of the first
    places of `falling` are at least those of `mean`, but for rounding: what is missing then is left missing.
    """
    n = len(falling)
    now = falling.copy()
    givers, takers = np.empty(n, np.int32), np.empty(n, np.int32)
    amounts, chances = np.empty(n), np.empty(n)
    waiting = np.empty(n, np.int32)
    top = count = 0
    for place in range(n):
        if now[place] > mean[place]:
            waiting[top] = place
            top += 1
        while now[place] < mean[place] and top > 0:
            giver = waiting[top - 1]
            surplus, wanted = now[giver] - mean[giver], mean[place] - now[place]
            givers[count], takers[count] = giver, place
            amounts[count] = min(surplus, wanted)
            chances[count] = amounts[count] / (now[giver] - now[place])
            if surplus <= wanted:
                now[giver] = mean[giver]
                top -= 1
            else:
                now[giver] -= wanted
            now[place] = mean[place] if wanted <= surplus else now[place] + surplus
            count += 1
    return givers[:count], takers[:count], amounts[:count], chances[:count]


@compiled
def swapped(
    falling: Vector, order: Positions, givers: Indices, takers: Indices, chances: Vector, uniforms: Floats
) -> Floats:
    """Return a permutation of `falling` for each row of `uniforms`, which has a number for each transfer.

    Place k of the transfers is coordinate `order[k]` of a permutation.
    """
    rows = np.empty((len(uniforms), len(falling)))
    for row in range(len(uniforms)):
        now = falling.copy()
        for transfer in range(len(chances)):
            if uniforms[row, transfer] < chances[transfer]:
                giver, taker = givers[transfer], takers[transfer]
                now[giver], now[taker] = now[taker], now[giver]
        for place in range(len(falling)):
            rows[row, order[place]] = now[place]
    return rows


@compiled
def permutations_by_transfers(
    falling: Vector, order: Positions, givers: Indices, takers: Indices, amounts: Vector
) -> tuple[Floats, Vector]:
    """Return at most n permutations of `falling` and their weights, in at most n passes over them.

    Swapping two places in permutations of weight w moves w times their difference. All of them together could move as
    much as the means differ by, which is no less than the amount; so those that move something in the right direction
    are enough, the last of them split in two: one more for each transfer.
    """
    n = len(falling)
    rows, weights = np.empty((len(givers) + 1, n)), np.empty(len(givers) + 1)
    rows[0], weights[0] = falling, 1.0
    count = 1
    for transfer in range(len(givers)):
        giver, taker, left = givers[transfer], takers[transfer], amounts[transfer]
        for row in range(count):
            apart = rows[row, giver] - rows[row, taker]
            if apart <= 0.0:
                continue
            share = left / apart
            if share < weights[row]:
                if share > 0.0:
                    rows[count], weights[count] = rows[row], share
                    rows[count, giver], rows[count, taker] = rows[row, taker], rows[row, giver]
                    weights[row] -= share
                    count += 1
                break
            rows[row, giver], rows[row, taker] = rows[row, taker], rows[row, giver]
            left -= weights[row] * apart
    drawn = np.empty((count, n))
    for place in range(n):
        drawn[:, order[place]] = rows[:count, place]
    return drawn, weights[:count] / weights[:count].sum()
