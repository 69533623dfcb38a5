"""Feedback by item: rounds are summed item by item, with multipliers that keep within what the noise is for.

That one person moves the sums of no round farther, whatever the set, tests/auditing/test_items.py plays.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from optimizers import bandit
from sottovoce._sums import Itemised
from sottovoce.learning import policy
from sottovoce.plans.items import ItemProbes, columns_of
from sottovoce.privacy import RESOLUTION, ItemGrid, LossGrid
from sottovoce.privacy.mechanisms.item_sums import weighted_l1

STEPS = 16


# ---------------------------------------------------------------------------------------------- the sums alone


@st.composite
def rounds_of_items(draw):
    items, width, decisions = draw(st.integers(1, 8)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = np.full((decisions, width), -1)
    for row in rows:
        size = rng.integers(0, min(width, items) + 1)
        row[:size] = rng.permutation(items)[:size]
    shown, columns = columns_of(rows)
    events = draw(st.integers(1, 9))
    weights = Itemised(
        columns,
        rng.integers(0, decisions, events),
        rng.integers(1, 200, len(shown)),
        draw(st.sampled_from([0, 1, 7])),
        STEPS,
    )
    return weights, rng.integers(0, STEPS + 1, (events, width)), rng.random(events) < 0.7, rows, shown


def by_hand(weights, losses, which):
    """Event by event and item by item, in plain Python."""
    sums, total = [0] * len(weights.multipliers), [0] * len(weights.multipliers)
    beside = 0
    for event, decision in enumerate(weights.index.tolist()):
        if not which[event]:
            continue
        for place, column in enumerate(weights.columns[decision].tolist()):
            if column == -1:
                continue
            loss, times = int(losses[event, place]), int(weights.multipliers[column])
            sums[column] += times * loss
            total[column] += times
            beside += weights.spread * (STEPS // 4 - (loss - STEPS // 2) ** 2 // STEPS)
    more = [beside] if weights.spread else []
    return sums + more, total + [0] * len(more)


@given(rounds_of_items())
def test_sums_are_those_of_a_plain_loop(drawn):
    weights, losses, which, rows, shown = drawn
    given_losses = losses.copy()
    for some, one in ((np.ones(len(which), dtype=bool), weights), (which, weights.only(which))):
        sums, total = by_hand(weights, losses, some)
        assert one.sum(losses).tolist() == sums
        assert one.total().tolist() == total
        assert one.size == len(which)
    assert np.array_equal(losses, given_losses)  # which are the caller's
    assert [shown[column] if column >= 0 else -1 for column in weights.columns.ravel()] == rows.ravel().tolist()


@pytest.mark.parametrize("most", [1.0, None])
def test_a_report_that_never_comes_counts_as_nothing_whoever_it_was(monkeypatch, most):
    """With `most` as if nothing had been clicked; without it, as if nobody had been asked: which are public facts."""
    found = []
    monkeypatch.setattr(policy, "draw_noise", lambda self, sums, before: found.append(np.array(sums)) or 0 * sums)
    given = {"loss_range": (-1.0, 0.0), "most": most, "feedback": "items", "integral": True, "patience": None}
    for world in (0.0, -1.0):
        made = bandit(sv.domains.Hypersimplex(5, 2), 240, **given, probes=4, seed=3)
        actions = made.ask_round()
        rest = actions.ids[1:]
        made.tell(rest, np.full((len(rest), 2), -0.25))
        if most is not None and world:
            made.tell(actions.ids[:1], [{}])  # who tells nothing, and who tells that it was nothing
        else:
            made.forget(actions.ids[:1])
    assert np.array_equal(*found)


# ---------------------------------------------------------------------------------------------- multipliers


@given(st.integers(0, 10**6))
def test_multipliers_that_are_chosen_are_always_accepted(number):
    """For any decisions, widths and limits: within the noise, and hardly below what it allows."""
    rng = np.random.default_rng(number)
    width, items = int(rng.integers(1, 9)), 20
    limit = None if rng.random() < 0.3 else float(rng.uniform(0.05, width + 1))
    grid = ItemGrid(LossGrid(0.0, 1.0, bits=int(rng.integers(6, 19))), width, limit)
    decisions = np.full((int(rng.integers(1, 12)), width), -1)
    usual = rng.permutation(items)[:width]
    for row in decisions:
        size = int(rng.integers(1, width + 1)) if rng.random() < 0.3 else width
        kept = usual[rng.random(width) < rng.choice([0.5, 0.95, 1.0])]
        others = np.setdiff1d(rng.permutation(items), kept)
        row[:size] = np.concatenate([kept, others])[:size]
    own = SimpleNamespace(family="laplace", grid=grid)
    multipliers = ItemProbes._multipliers(own, decisions, False)
    far = weighted_l1(grid, columns_of(decisions)[1], multipliers).max()
    assert multipliers.min() >= 1
    if (multipliers != RESOLUTION).any():
        assert far <= RESOLUTION * grid.l1
        assert far >= 0.7 * RESOLUTION * grid.l1


def test_of_many_items_each_is_sampled_more_narrowly():
    """The best of many samples lies farther out: with one width for all, most rounds would try items by chance."""

    def scale(items):
        domain = sv.domains.Hypersimplex(items, 5)
        return bandit(domain, 10_000, integral=True, feedback="items").plan.posterior_scale

    assert scale(20) == scale(60) > scale(300) > scale(1000) > 0.4
