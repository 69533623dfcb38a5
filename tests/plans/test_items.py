"""Feedback by item: rounds are summed item by item, and one person moves these sums no farther than the noise is for.

What is summed is taken where it is handed to the mechanism, through the whole optimizer: whatever is told, in whatever
way, by people who keep to nothing.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce._sums import Itemised
from sottovoce.learning import policy
from sottovoce.plans import choosing, sensitivity
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


# ---------------------------------------------------------------------------------------------- rounds of real sets

LADDER = [(0, 1), (0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (1, 4), (0, 4)]
COMPLETE = [(i, j) for i in range(4) for j in range(i)]
SETS = {
    "k of n": sv.domains.Hypersimplex(list("abcdef"), 4),
    "k of n, odd": sv.domains.Hypersimplex(6, 3),
    "one of n": sv.domains.Simplex(4),
    "paths of different lengths": sv.domains.Paths(LADDER, source=0, target=4),
    "spanning trees": sv.domains.SpanningTrees(COMPLETE),
    "rankings": sv.domains.Birkhoff(3),
    "matchings": sv.domains.Matchings(["ann", "bob"], ["car", "van", "bus"]),
    "some of n": sv.domains.Box(0, 1, 4),
    "products": sv.domains.Product([sv.domains.Simplex(3), sv.domains.Hypersimplex(4, 2)]),
    "products with paths": sv.domains.Product([sv.domains.Paths(LADDER, source=0, target=4), sv.domains.Simplex(2)]),
}
RANGES = {
    "clicks": ((-1.0, 0.0), 1.0),
    "costs": ((0.0, 2.0), 3.0),
    "times": ((-1.0, 3.0), None),
    "a bit": ((0.0, 1.0), 0.3),
}
TOLD = ("dicts", "arrays", "block of dicts", "block of arrays")
FAR = np.array([-1e9, -1.0, -0.4, 0.0, 0.3, 1.0, 2.0, 3.0, 1e9])


@pytest.fixture
def handed(monkeypatch):
    """What is handed to the mechanism, release by release; what comes back is the same whatever that was."""
    seen = []

    def draw_noise(self, sums, before):
        seen.append((self, np.array(sums)))
        return np.zeros(len(sums), dtype=np.int64)

    monkeypatch.setattr(policy, "draw_noise", draw_noise)
    return seen


def optimizer(domain, loss_range, most, privacy, horizon=240, **choices):
    given = {"loss_range": loss_range, "most": most, "privacy": privacy, "feedback": "items", "integral": True}
    return bandit(domain, horizon, **given | {"probes": 4, "seed": 3} | choices)


def items_of(domain, x):
    return domain.in_order(np.flatnonzero(x))


def losses_of(domain, x, event, coins, full):
    """What an event's items lose, in the order of `chosen`; without `full`, some are 0."""
    rng = np.random.default_rng([coins, event])
    losses = rng.choice(FAR, len(items_of(domain, x)))
    return losses if full else losses * (rng.random(len(losses)) < 0.6)


def tell(made, ids, reports, names, how, some):
    """Tell reports; by name without what is 0, where `some` are enough."""
    named = [
        {name: loss for name, loss in zip(own, losses, strict=True) if loss or not some}
        for own, losses in zip(names, reports, strict=True)
    ]
    told = named if "dicts" in how else reports
    if "block" in how:
        if how == "block of arrays" and len({len(one) for one in reports}) == 1:
            told = np.array(reports)
        made.tell(ids, told)
    else:
        for one, report in zip(ids.tolist(), told, strict=True):
            made.tell(one, report)


def play(made, how, replaced, events=160):
    """Play; return what each event chose. The losses of `replaced` events are what these say."""
    domain, some, chosen = made.domain, made._configuration.most is not None, []
    names = domain.coordinate_names
    while len(chosen) < min(events, made.horizon or events) and made.remaining != 0:
        actions = made.ask_round()
        first, reports = len(chosen), []
        for event, x in enumerate(np.asarray(actions.x), first):
            chosen.append(items_of(domain, x))
            reports.append(replaced[event] if event in replaced else losses_of(domain, x, event, 0, not some))
        own = [[names[item] for item in one] for one in chosen[first:]]
        tell(made, actions.ids, reports, own, how, some)
    return chosen


def sums_of(handed):
    found = [sums for _, sums in handed]
    handed.clear()
    return found


CASES = [(name, how) for name in SETS for how in RANGES if name in ("k of n", "one of n") or how in ("clicks", "times")]


@every(("name", "how"), CASES)
def test_one_person_moves_the_sums_of_one_round_no_farther_than_its_noise_is_for(handed, name, how):
    domain, (loss_range, most) = SETS[name], RANGES[how]
    chosen = play(optimizer(domain, loss_range, most, sv.PureDP(1.0)), "arrays", {})
    rng, farthest = np.random.default_rng(5), 0
    grid = handed[0][0].explorer.grid
    before = sums_of(handed)
    for trial in range(4):
        event = int(rng.integers(0, 64))
        size = len(chosen[event])
        half = np.zeros(size, dtype=bool)
        half[rng.permutation(size)[: size // 2]] = True
        low, high = (-1e9, 0.0) if loss_range[1] == 0 else (loss_range[0], 1e9)
        ends = np.where(half, low, high), np.where(half, high, low)  # disjoint items, as much as one can
        worlds = ends if trial else rng.choice(FAR, (2, size))
        both = []
        for world in worlds:
            made = optimizer(domain, loss_range, most, sv.PureDP(1.0))
            play(made, TOLD[trial % 4], {event: world}, 80)
            both.append(sums_of(handed))
        rounds = [np.abs(one - other).sum() for one, other in zip(*both, strict=True)]
        assert np.count_nonzero(rounds) <= 1
        assert sum(rounds) <= RESOLUTION * grid.l1
        farthest = max(farthest, sum(rounds))
        for one, other in zip(both[0], before, strict=False):
            assert one.shape == other.shape
    assert farthest > 0
    if name == "k of n":  # all of what is allowed is reached: the bound is no looser than it has to be
        assert farthest >= 0.9 * RESOLUTION * grid.l1


@pytest.mark.parametrize("most", [1.0, None])
def test_a_report_that_never_comes_counts_as_nothing_whoever_it_was(handed, most):
    """With `most` as if nothing had been clicked; without it, as if nobody had been asked: which are public facts."""
    domain = sv.domains.Hypersimplex(5, 2)
    found = []
    for world in (0.0, -1.0):
        made = optimizer(domain, (-1.0, 0.0), most, sv.PureDP(1.0), patience=None)
        actions = made.ask_round()
        rest = actions.ids[1:]
        made.tell(rest, np.full((len(rest), 2), -0.25))
        if most is not None and world:
            made.tell(actions.ids[:1], [{}])  # who tells nothing, and who tells that it was nothing
        else:
            made.forget(actions.ids[:1])
        found.append(sums_of(handed)[0])
    assert np.array_equal(*found)


# ---------------------------------------------------------------------------------------------- later epochs


@pytest.mark.parametrize(("loss_range", "most"), [((-1.0, 0.0), 1.1), ((0.0, 1.0), 0.37), ((0.0, 3.0), None)])
def test_coarser_grids_of_later_epochs_keep_the_bound(handed, monkeypatch, loss_range, most):
    """An unknown horizon: losses are kept on the grid of the first epoch, and summed on that of their own."""

    def fewer(problem, mechanism):
        return 12 if problem.horizon <= 256 else 6

    monkeypatch.setattr(sensitivity, "most_bits", fewer)
    monkeypatch.setattr(choosing, "most_bits", fewer)
    domain = sv.domains.Hypersimplex(5, 3)
    ends = (-1e9, 0.0) if loss_range[1] == 0 else (loss_range[0], 1e9)

    def played(replaced):
        made = optimizer(domain, loss_range, most, sv.PureDP(1.0), None)
        chosen = play(made, "block of arrays", replaced, 620)
        grids = [epoch.explorer.grid for epoch, _ in handed]
        return chosen, grids, sums_of(handed)

    chosen, grids, _ = played({})
    assert {grid.losses.bits for grid in grids} == {12, 6}
    for event in (0, 300, 450):
        size, both = len(chosen[event]), []
        for side in (np.arange(size) < 1, np.arange(size) >= 1):
            both.append(played({event: np.where(side, *ends)})[2])
        rounds = [np.abs(one - other).sum() for one, other in zip(*both, strict=True)]
        assert np.count_nonzero(rounds) == 1
        at = int(np.argmax(rounds))
        assert rounds[at] <= RESOLUTION * grids[at].l1
        assert grids[at].losses.bits == (12 if event < 256 else 6)


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
