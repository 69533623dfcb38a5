"""Decisions by what they choose, in places and in names: the same as written out, which nobody has to pay for."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from watching import peak_of

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce.plans.decisions import Decisions, indices_of, joined, kept

GRID = [(i, i + 1) for i in range(6)] + [(i, i + 2) for i in range(5)]
matroids = sv.domains.matroids
CHOICES = {
    "one of n": sv.domains.Simplex(9),
    "k of n": sv.domains.Hypersimplex(8, 3),
    "corners": sv.domains.Box(0, 1, 5),
    "permutations": sv.domains.Birkhoff(3),
    "matchings": sv.domains.Matchings(3, 4),
    "paths": sv.domains.Paths(GRID, source=0, target=6),
    "trees": sv.domains.SpanningTrees(GRID),
    "bases": sv.domains.MatroidBases(matroids.Partition([0, 0, 0, 1, 1, 1], [1, 2])),
    "several": sv.domains.Product([sv.domains.Simplex(3), sv.domains.Hypersimplex(4, 2)]),
    "one of many": sv.domains.Simplex(700),
    "k of many": sv.domains.Hypersimplex(700, 5),
    "corners of many": sv.domains.Box(0, 1, 700),
    "assignments of many": sv.domains.Birkhoff(26),
}


def optimizer(domain, **options):
    return bandit(domain, 50_000, losses="linear", integral=True, **options)


@every("name", CHOICES)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 700))
def test_indices_are_where_a_decision_is_one(name, seed, size):
    made = optimizer(CHOICES[name], seed=seed)
    for _ in range(2):
        actions = made.ask(size)
        chosen = actions.indices
        assert len(chosen) == len(actions) == size
        for row, one in zip(actions.x, chosen, strict=True):
            np.testing.assert_array_equal(one, np.nonzero(row)[0])
        assert set(np.unique(actions.x)) <= {0.0, 1.0}
        made.tell(actions.ids, np.full(size, 0.5))
    action = made.ask()
    np.testing.assert_array_equal(action.indices, np.nonzero(action.x)[0])


def test_decisions_between_the_vertices_have_no_indices():
    between = bandit(sv.domains.Simplex(3), 100, privacy=sv.NoPrivacy(), plan="worst-case")
    with pytest.raises(ValueError, match="integral=True"):
        _ = between.ask(4).indices
    with pytest.raises(ValueError, match="0 or 1"):
        _ = between.ask().indices
    ranking = optimizer(sv.domains.Permutahedron(np.arange(700)), seed=1)
    with pytest.raises(ValueError, match="0 or 1"):
        _ = ranking.ask(4).indices


def test_asking_for_20_of_100_000_and_naming_them_builds_no_dense_block():
    n, size = 100_000, 256
    made = optimizer(sv.domains.Hypersimplex([f"item {i}" for i in range(n)], 20), seed=1)
    made.ask(2)
    row = 8 * n
    assert peak_of(lambda: made.ask(size).indices) < row / 2  # 256 rows, were they written out
    starts = peak_of(lambda: made.ask_round().indices, lambda: made.ask_round().indices)
    assert starts < 100 * row  # a round's beginning draws a dozen samples of the coordinates, whatever its size
    actions, said = made.ask(size), []
    assert peak_of(lambda: said.extend(actions.chosen)) < row
    assert [[int(name.split()[1]) for name in one] for one in said] == [one.tolist() for one in actions.indices]


def test_what_is_handed_out_cannot_be_changed():
    made = optimizer(CHOICES["k of many"], seed=7)
    actions = made.ask(10)
    for array in (actions.indices[0], actions.x, made.ask().x, next(iter(made.ask(3))).x):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    assert "700" in repr(actions)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5]), min_size=7, max_size=7), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_decisions_are_what_was_written(rows):
    rows = np.array(rows)
    index = np.arange(2 * len(rows)) % len(rows)
    both = joined([Decisions(kept(rows), index), Decisions(kept(rows[::-1]), index)[1:]])
    np.testing.assert_array_equal(both.written(), np.vstack([rows[index], rows[::-1][index[1:]]]))
    np.testing.assert_array_equal(np.array(both.shared()), both.written())
    if set(np.unique(rows)) <= {0.0, 1.0}:
        assert [one.tolist() for one in both.chosen] == [one.tolist() for one in indices_of(both.written())]


# ---------------------------------------------------------------------- in the names of the set

DRINKS = ("tea", "coffee", "cocoa", "milk", "juice", "water")
MENU = sv.domains.Hypersimplex(DRINKS, k=2)


def menu_of(domain, **options):
    return bandit(domain, 5000, integral=True, **options)


def named(x):
    return [DRINKS[i] for i in np.flatnonzero(x)]


@every("plan", ["auto", "worst-case"])
def test_actions_say_what_they_choose(plan):
    made = menu_of(MENU, plan=plan)
    for action in [made.ask() for _ in range(50)]:
        assert action.chosen == named(action.x)
        number, _, wants_loss = action  # it is still a tuple of three
        assert (number, wants_loss) == (action.id, action.wants_loss)
        assert repr(action) == f"Action(id={number}, chosen={named(action.x)!r}, wants_loss={wants_loss})"
        assert isinstance(action, sv.Action)
    baseline = sv.lab.baselines.ThompsonSampling(MENU, horizon=100, loss_range=(0.0, 1.0), seed=1)
    for one in baseline.ask(5):
        assert one.chosen == named(one.x)
    assert sv.Action(1, np.array([0.0, 1.0, 1.0])).chosen == [1, 2]  # of nobody's set
    nobodys = sv.Actions(np.arange(2), np.array([[0.0, 0.5], [1.0, 0.0]]), np.ones(2, dtype=bool))
    assert nobodys.chosen == [{1: 0.5}, [0]]
    actions = made.ask(300)
    assert actions.chosen == [named(x) for x in actions.x]
    assert [one.chosen for one in actions] == actions.chosen


@every("domain", [MENU, sv.domains.Hypersimplex(700, 2)])
def test_what_one_event_is_told_is_its_own(domain):
    actions = menu_of(domain).ask(300)
    said = actions.chosen
    same = [i for i in range(300) if said[i] == said[0]]
    assert len(same) > 1
    said[same[0]].clear()
    assert len(said[same[1]]) == 2
    assert len(actions.chosen[same[0]]) == 2


@every("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_and_pickles_keep_what_was_said_even_of_sets_that_cannot_be_pickled(again):
    domain = sv.domains.Custom(lambda cost: np.where(cost <= np.sort(cost)[1], 1.0, 0.0), DRINKS)
    made = menu_of(domain)
    action, actions = made.ask(), made.ask(40)
    other, others = again(action), again(actions)
    assert np.array_equal(other.x, action.x)
    assert other.chosen == action.chosen == named(action.x)
    assert again(other).chosen == action.chosen
    assert others.chosen == actions.chosen
    assert [one.chosen for one in again(others)] == actions.chosen
    assert np.array_equal(others.x, actions.x)


def test_recommendations_are_named():
    made = menu_of(MENU)
    while made.remaining > 500:
        actions = made.ask_round()
        made.tell(actions.ids, actions.x @ [0.5, 0.1, 0.4, 0.1, 0.5, 0.4])
    found = made.recommend()
    assert found.chosen == ["coffee", "milk"]
    assert "decision  coffee, milk\n" in str(found)
    assert found.to_dict()["chosen"] == ["coffee", "milk"]
    assert pickle.loads(pickle.dumps(found)).chosen == ["coffee", "milk"]
    assert "decision  [1. 1. 0. 0.]" in str(menu_of(sv.domains.Hypersimplex(4, 2)).recommend())
