"""Many segments share rounds, until some have events enough, and differ, to have rounds of their own."""

from collections import Counter

import numpy as np
import pytest
from families import family

import sottovoce as sv
from sottovoce.learning.pooled_policy import PooledPolicy

MANY = [f"segment {number}" for number in range(14)]
SHARES = np.array([6.0, 4.0, *[0.5] * 12])
ALIKE = np.array([0.05, 0.1, 0.4, 0.45])
APART = {name: ALIKE[::-1] if name == MANY[0] else ALIKE for name in MANY}


def many(**options):
    return family(segments=MANY, least_events=None, probes=None, **{"horizon": 60_000, **options})


def crowd(optimizer, events, costs=APART, block=250, seed=0):
    """Let people come by, most of them of two large segments; return whom each action was for, with its loss."""
    coins, told = np.random.default_rng(seed), []
    for _ in range(events // block):
        came = coins.choice(MANY, size=block, p=SHARES / SHARES.sum()).tolist()
        actions = optimizer.ask(segment=came)
        means = np.array([costs[name] @ x for name, x in zip(came, actions.x, strict=True)])
        losses = (coins.random(block) < means).astype(float)
        optimizer.tell(actions.ids, losses)
        told += zip(actions.ids.tolist(), came, losses.tolist(), strict=True)
    return told


def test_the_pool_plays_what_an_optimizer_without_segments_plays():
    """To the last bit, as long as nobody has left it: 70 events of each are too few."""
    options = {"privacy": sv.NoPrivacy(), "noise": None, "horizon": 4000}
    shared, plain = many(**options), family(segments=None, least_events=None, probes=None, **options)
    coins = np.random.default_rng(1)
    for size in (1, 7, 300, 450, 222):
        came = coins.choice(MANY, size=size).tolist()
        one, other = shared.ask(segment=came), plain.ask(size)
        assert np.array_equal(one.x, other.x)
        losses = coins.random(size)
        shared.tell(one.ids, losses)
        plain.tell(other.ids, losses)
    assert shared.round == plain.round > 1
    assert np.array_equal(shared.ask(segment=MANY[3]).x, plain.ask().x)


def test_others_follow_those_who_go_ahead_once_segments_are_known_to_differ():
    optimizer = many()
    crowd(optimizer, 2000, seed=1)
    assert not optimizer._policy.own, "nobody has a thousand events"
    crowd(optimizer, 14_000, seed=2)
    assert {MANY[0], MANY[-1]} <= optimizer._policy.own, "the last has some 500"
    found = optimizer.recommend()
    assert found[MANY[0]].chosen == ["cocoa", "milk"]
    assert found[MANY[1]].chosen == found[MANY[-1]].chosen == ["tea", "coffee"]
    actions = optimizer.ask(segment=[MANY[0], MANY[-1]] * 50)
    costs = actions.x @ ALIKE
    assert costs[0::2].mean() > costs[1::2].mean() + 0.2, "each is served by its own"


def test_few_leave_where_all_are_alike():
    """Two scouts at most: what they find speaks for all."""
    optimizer = many(horizon=200_000)
    crowd(optimizer, 20_000, costs=dict.fromkeys(MANY, ALIKE))
    assert len(optimizer._policy.own) <= 2
    assert "segments help" not in optimizer.recommend().verdict


@pytest.mark.parametrize("way", ["single", "block", "round", "list"])
def test_events_are_counted_for_whom_they_were(way):
    optimizer, coins, counts = many(), np.random.default_rng(3), Counter()
    ask = {
        "single": lambda came: [optimizer.ask(segment=name).id for name in came],
        "block": lambda came: optimizer.ask(segment=np.array(came)).ids,
        "round": lambda came: optimizer.ask_round(most=100, segment=came[0]).ids,
        "list": lambda came: optimizer.ask_round(segment=came).ids,
    }[way]
    while counts.total() < 6000:
        came = coins.choice(MANY, size=60, p=SHARES / SHARES.sum()).tolist()
        ids = ask(came)
        came = came[:1] * len(ids) if way == "round" else came[: len(ids)]
        optimizer.tell(np.array(ids), np.array([float(name == MANY[0]) for name in came]))
        counts.update(came)
    assert Counter(optimizer.sizes) == counts
    assert optimizer._policy.own, "some have left"


def test_the_same_by_single_actions_and_by_lists():
    """How they are asked for changes nothing, while segments leave the pool as well."""
    came = np.random.default_rng(4).choice(MANY, size=4000, p=SHARES / SHARES.sum()).tolist()
    one, other = many(horizon=8000), many(horizon=8000)
    played, at = [], 0
    while at < len(came):
        actions = other.ask_round(segment=came[at : at + 300])
        other.tell(actions.ids, actions.x[:, 0])
        played += list(actions.x)
        at += len(actions.ids)
    for name, x in zip(came, played, strict=True):
        action = one.ask(segment=name)
        one.tell(action.id, float(action.x[0]))
        assert np.array_equal(action.x, x)
    assert one._policy.own == other._policy.own != frozenset()
    assert one.sizes == other.sizes


def test_every_loss_is_in_one_number_of_one_round():
    optimizer = many(privacy=sv.NoPrivacy(), noise=None)
    told = {one: loss for one, _, loss in crowd(optimizer, 8000)}
    store, seen = optimizer._store, 0
    assert optimizer._policy.own
    for stream in optimizer._policy.streams:
        for release in store.releases(stream, 0):
            one = release.round
            mine = [told.pop(one.first + place) for place in range(one.size)]
            steps = optimizer._policy.grid.steps
            assert release.numbers[0].sum() == pytest.approx(sum(mine) * steps)
            seen += one.size
    assert seen > 6000
    assert len(told) == 8000 - seen


def test_the_pool_has_no_name_and_takes_no_room():
    optimizer = family(segments=sv.Segments(limit=13))
    for number in range(13):
        optimizer.ask(segment=f"segment {number}")
    with pytest.raises(sv.errors.UnknownSegment, match="one more than the 13"):
        optimizer.ask(segment="another")
    assert list(optimizer.sizes) == [f"segment {number}" for number in range(13)]
    assert {one.segment for one in optimizer.outstanding().waiting} == {None}
    assert optimizer.recommend(segment="another").rounds == 0


def test_segments_with_factors_or_features_share_no_rounds():
    """What is found out of one tells how others differ: regret was three times as high where they did."""
    factors = {"device": ["phone", "desktop"], "country": [f"country {number}" for number in range(8)]}
    features = sv.Segments(MANY, features=np.arange(14.0))
    for segments in (factors, features):
        assert not isinstance(family(segments=segments)._policy, PooledPolicy)
    assert isinstance(family(segments=MANY)._policy, PooledPolicy)
