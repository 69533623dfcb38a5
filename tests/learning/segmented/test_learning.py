"""Segments that are alike learn from each other, those that are not go their own way, and states go on with it."""

from functools import partial

import numpy as np
import pytest
from families import PEOPLE, family, play

import sottovoce as sv
from sampling import every

ALIKE = {name: np.array([0.05, 0.1, 0.4, 0.45]) for name in PEOPLE}
APART = {"phone": np.array([0.05, 0.1, 0.4, 0.45]), "desktop": np.array([0.4, 0.05, 0.1, 0.45])}
APART["tablet"] = np.array([0.45, 0.4, 0.05, 0.1])
BEST = {"phone": ["tea", "coffee"], "desktop": ["coffee", "cocoa"], "tablet": ["cocoa", "milk"]}


def grown(costs, events=12_000, **options):
    optimizer = family(horizon=2 * events, least_events=None, probes=None, **options)
    play(optimizer, costs, events, seed=2)
    return optimizer


@every("feedback", [{}, {"integral": True, "feedback": "items"}])
def test_every_segment_gets_its_own_best_decision(feedback):
    optimizer = grown(APART, **feedback)
    found = optimizer.recommend()
    assert {name: found[name].chosen for name in PEOPLE} == BEST
    assert found.helps
    assert found.verdict.startswith("segments help")
    assert len(found.segments) == 3
    assert {name: optimizer.recommend(segment=name).chosen for name in PEOPLE} == BEST


def test_a_segment_with_few_events_takes_over_what_those_like_it_know():
    optimizer = family(horizon=50_000, least_events=None, probes=None)
    play(optimizer, {name: ALIKE[name] for name in ("phone", "desktop")}, 12_000)
    new = optimizer.recommend(segment="tablet")
    assert new.chosen == ["tea", "coffee"]
    assert new.rounds == 0
    assert new.share > 0.8
    alone = family(horizon=50_000, least_events=None, probes=None).recommend(segment="tablet")
    assert alone.share < 0.5


@pytest.mark.long
def test_many_segments_with_few_events_lose_no_more_than_one_decision_for_all():
    """Mean of 12 seeds: .96 of it; 1.1 where each has rounds of its own from the start."""
    lost = np.zeros(2)
    for seed in range(100, 112):
        problem = sv.lab.problems.Editions(segments=21, differ=0.0, seed=seed)
        options = {"horizon": 20_000, "privacy": sv.PureDP(1.0), "seed": seed}
        for way, make in enumerate((problem.optimizer, partial(problem.optimizer, segments=None))):
            run = sv.lab.simulate(make(noise=sv.SimulatedNoise(seed), **options), problem.environment)
            lost[way] += run.regret_per_event
    assert lost[0] < 1.03 * lost[1]


@every("options", [{}, {"losses": "convex", "integral": False}, {"integral": True, "feedback": "items"}])
def test_looking_changes_nothing_that_is_played(options):
    """Neither recommendations nor what is believed: both show what segments say of each other by now."""
    seen = []
    for looks in (False, True):
        optimizer = family(horizon=2000, least_events=None, probes=None, **options)
        for turn in range(8):
            play(optimizer, APART, 200, seed=turn)
            if looks:
                optimizer.recommend()
                optimizer.posterior(segment="phone")
                optimizer.fit_check()
        seen.append([optimizer.ask(size=50, segment=name).x for name in PEOPLE])
    assert np.array_equal(*seen)


def test_no_segment_gains_less_than_nothing_by_a_decision_of_its_own():
    for costs, events in ((ALIKE, 400), (APART, 400), (APART, 2000)):
        found = grown(costs, events=events).recommend()
        each = found.segments.values()
        assert min(one.gain.mean for one in each) >= -1e-12
        weighed = sum(one.gain.mean * one.events for one in each) / sum(one.events for one in each)
        assert found.gain.mean == pytest.approx(weighed)


def test_where_segments_do_not_help_it_is_said():
    found = grown(ALIKE).recommend()
    assert "segments do not help" in found.verdict
    assert not found.helps
    assert found.variance_shares["own"] < 0.05
    assert "segments do not help" in str(found)
    assert found.to_dict()["helps"] is False


def test_factors_carry_over_to_pairs_that_were_never_seen():
    costs = {"phone": APART["phone"], "desktop": APART["tablet"]}
    optimizer = family(
        segments={"device": ["phone", "desktop"], "country": ["it", "de", "fr"]},
        horizon=40_000, least_events=None, probes=None,
    )  # fmt: skip
    seen = [("phone", "it"), ("phone", "de"), ("desktop", "it"), ("desktop", "fr")]
    play(optimizer, {pair: costs[pair[0]] for pair in seen}, 16_000)
    assert optimizer.recommend(segment=("desktop", "de")).chosen == BEST["tablet"]
    assert optimizer.recommend(segment=("phone", "fr")).chosen == BEST["phone"]
    variance_shares = optimizer.recommend().variance_shares
    assert variance_shares["device"] > 10 * variance_shares["country"]


def test_alike_segments_lose_less_together_than_alone():
    together, _ = play(family(horizon=8000, least_events=None, probes=None), ALIKE, 8000, seed=5)
    alone = {"one": ALIKE["phone"]}
    apart = [
        play(family(horizon=2666, segments=["one"], least_events=None, probes=None), alone, 2650, one)[0]
        for one in (5, 6, 7)
    ]  # fmt: skip
    assert together < 0.8 * np.mean(apart)


def test_segments_too_small_to_notice_a_change_are_told_by_the_others():
    """Of 40,000 events the small ones have 400 each: alone they would go on with what was."""
    names = ["large", "middle", *(f"small {number}" for number in range(4))]
    shares = [0.56, 0.4, 0.01, 0.01, 0.01, 0.01]
    optimizer = family(segments=names, horizon=80_000, least_events=None, probes=None)
    coins, before = np.random.default_rng(0), ALIKE["phone"]
    for cost in (before, before[::-1]):
        for _ in range(200):
            came = coins.choice(names, size=100, p=shares).tolist()
            actions = optimizer.ask(segment=came)
            optimizer.tell(actions.ids, (coins.random(100) < actions.x @ cost).astype(float))
    found = optimizer.recommend()
    assert [found[name].chosen for name in names] == [["cocoa", "milk"]] * 6
    resets = {optimizer._policy.belief(stream).resets for stream in range(len(names))}
    assert resets == {1}, "all have forgotten what was"
