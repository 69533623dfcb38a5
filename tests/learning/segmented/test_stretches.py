"""Asking for the events that come, until a round is asked to its end."""

import numpy as np
import pytest
from families import family

import sottovoce as sv


def made(horizon=400):
    return family(sv.domains.Hypersimplex(6, 2), ["a", "b", "c"], horizon=horizon, least_events=None, probes=None)


def test_a_list_gives_the_first_actions_of_each_in_the_order_of_the_events():
    optimizer, coins, newest = made(), np.random.default_rng(0), {}
    while optimizer.remaining:
        names = coins.choice(["a", "b", "c"], size=40, p=[0.6, 0.3, 0.1]).tolist()
        before, rounds = optimizer.sizes, optimizer.round
        actions = optimizer.ask_round(segment=names)
        asked = names[: len(actions.ids)]
        after = {name: before.get(name, 0) + asked.count(name) for name in {*before, *asked}}
        assert optimizer.sizes == after
        for one, name in zip(actions.ids.tolist(), asked, strict=True):
            assert newest.get(name, -1) < one
            newest[name] = one
        assert sum(not one.not_asked for one in optimizer.outstanding().waiting) <= 1  # rounds that end with it
        optimizer.tell(actions.ids, np.full(len(asked), 0.5))
        assert optimizer.round <= rounds + 1
    assert optimizer.round > 10


def test_most_and_the_horizon_cut_a_list():
    optimizer = made(horizon=5)
    assert len(optimizer.ask_round(most=1, segment=["a", "b"]).ids) == 1
    total = 1
    while optimizer.remaining:
        total += len(optimizer.ask_round(segment=["a", "b", "c", "a", "b", "c", "a"]).ids)
    assert total == 5
    with pytest.raises(sv.errors.HorizonReached):
        optimizer.ask_round(segment=["a"])


def test_an_unknown_segment_anywhere_in_a_list_changes_nothing():
    optimizer = made()
    with pytest.raises(sv.errors.UnknownSegment):
        optimizer.ask_round(segment=["a", "b", "nobody"])
    with pytest.raises(ValueError, match="empty"):
        optimizer.ask_round(segment=[])
    assert optimizer.sizes == {}
