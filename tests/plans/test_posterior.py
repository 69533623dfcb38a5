"""Rounds of posterior probes: each event in one number, once; decisions as often as each other; public sizes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce.models import LinearBelief, ModelSettings, Numbers, Pace
from sottovoce.plans.placement import Placement
from sottovoce.plans.posterior import PosteriorProbes

SLATE = sv.domains.Hypersimplex(6, 2)
KNOWN = ModelSettings(6_000, 1.0, 0.5, 1.4, (1 / 400, 1 / 8, 1 / 4), 6, 10, 0.1, 0.02, 1.0)


def probing():
    return PosteriorProbes(Placement(SLATE, integral=True), LinearBelief(SLATE.extreme_point, 6, KNOWN))


def begun(explorer, passed=0, size=None, seed=0):
    size = explorer.round_size(passed) if size is None else size
    return explorer.begin(np.zeros(6), passed, size, np.random.default_rng(seed)), size


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(1, 9), max_size=6), seed=st.integers(0, 1000))
def test_every_event_is_in_one_number_once_however_the_round_is_cut(cuts, seed):
    """What the guarantee rests on: one loss moves one number, by the width of its range at most."""
    exploration, size = begun(probing(), seed=seed)
    coins, edges = np.random.default_rng(seed), sorted({0, *(exploration.stride * one for one in cuts), size})
    counted, probes = np.zeros(6, dtype=np.int64), exploration.record()["decisions"]
    for start, end in pairwise(edges):
        drawn = exploration.draw(coins, start, end - start)
        assert drawn.wants_loss is None
        assert (drawn.weights.sign == 1).all()
        assert len(drawn.weights.index) == end - start
        assert np.array_equal(drawn.actions, probes[drawn.weights.index])
        counted += drawn.weights.total()
        assert counted.sum() == end
        assert counted.max() - counted.min() <= 1
    assert (counted == size // 6).all()


def test_who_plays_what_is_decided_by_coins_alone():
    """Each place of a pass plays each decision equally often: 3,600 passes, within 6 standard errors."""
    exploration, _ = begun(probing())
    index = exploration.draw(np.random.default_rng(1), 0, 6 * 3_600).weights.index.reshape(-1, 6)
    counts = np.array([np.bincount(column, minlength=6) for column in index.T])
    assert (np.abs(counts - 600) < 6 * np.sqrt(3_600 * 5 / 36)).all()


@every(
    "pace, passed, events",
    [
        (Pace(), 0, 10),  # at least
        (Pace(), 600, 10),  # a tenth of 600, for six probes, is as many
        (Pace(), 900, 15),
        (Pace(), 6_000, 20),  # a fiftieth of the horizon at most
        (Pace(since=5_000), 5_900, 15),  # counted from when all was forgotten
        (Pace(since=7_000), 6_000, 10),
        (Pace(reach=900.0), 6_000, 15),  # what has faded does not count
        (Pace(since=-3_000), 0, 20),  # an epoch that goes on
    ],
)
def test_a_round_grows_with_what_is_remembered(pace, passed, events):
    assert pace.events(KNOWN, passed) == events


def test_the_last_round_has_as_many_decisions_as_it_can_play_often_enough():
    explorer = probing()
    for size, count in ((60, 6), (59, 5), (30, 3), (9, 1), (1, 1)):
        exploration, _ = begun(explorer, passed=0, size=size)
        assert exploration.numbers == count
        assert exploration.draw(np.random.default_rng(3), 0, size).weights.total().sum() == size


def test_what_is_released_reaches_the_belief_as_means():
    explorer = probing()
    exploration, _ = begun(explorer)
    probes = exploration.record()["decisions"]
    exploration.learn(
        explorer.belief, np.array([4.0, 5.0, 6.0, 7.0, 0.0, 8.0]), np.array([10.0, 10.0, 10.0, 10.0, 0.0, 10.0])
    )
    other = LinearBelief(SLATE.extreme_point, 6, KNOWN)
    played = np.array([0, 1, 2, 3, 5])  # the fifth had no events: there is no number
    other.learn(Numbers(probes[played], np.array([0.4, 0.5, 0.6, 0.7, 0.8]), np.full(5, 10.0), 60))
    assert np.array_equal(explorer.belief.best_fit.mean, other.best_fit.mean)
    with pytest.raises(TypeError, match="no gradient"):
        exploration.estimate(np.ones(6), np.ones(6))


def test_a_round_that_is_taken_up_again_deals_on_as_it_would_have():
    explorer = probing()
    exploration, size = begun(explorer)
    again = explorer.resume(np.zeros(6), exploration.record())
    one, other = (each.draw(np.random.default_rng(4), 24, size - 24) for each in (exploration, again))
    assert np.array_equal(one.actions, other.actions)
    assert again.is_possible()
    assert not explorer.resume(np.zeros(6), exploration.record() | {"decisions": np.full((6, 6), 0.9)}).is_possible()
