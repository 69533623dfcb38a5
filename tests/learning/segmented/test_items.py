"""Feedback by item for several segments: small ones borrow, large ones go their own way, in memory and in studies."""

import json

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.report.html._segments import show_segments

DRINKS = ["tea", "coffee", "cocoa", "milk", "water", "juice"]
GOOD, OTHER = np.array([0.1, 0.2, 0.7, 0.8, 0.75, 0.7]), np.array([0.8, 0.7, 0.75, 0.1, 0.2, 0.7])


def settings(**more):
    return {
        "domain": sv.domains.Hypersimplex(DRINKS, k=2),
        "horizon": 40_000,
        "privacy": sv.PureDP(1.0),
        "noise": sv.SimulatedNoise(1),
        "integral": True,
        "feedback": "items",
        "loss_range": (0.0, 1.0),
        "segments": ["phone", "desktop", "tablet"],
        "seed": 1,
    } | more


def play(optimizer, losses, events, seed=1, block=250):
    """Play segments by lot, whose items lose as they do; return the decisions."""
    rng, played = np.random.default_rng(seed), []
    for _ in range(events // block):
        whom = [str(one) for one in rng.choice(list(losses), block)]
        actions = optimizer.ask(size=block, segment=whom)
        rows = np.array([losses[one][places] for one, places in zip(whom, actions.indices, strict=True)])
        optimizer.tell(actions.ids, (rng.random(rows.shape) < rows).astype(float))
        played.append(actions.x)
    return np.concatenate(played)


def test_a_segment_that_was_never_asked_for_takes_over_what_those_like_it_know():
    optimizer = sv.PrivateBandit(**settings())
    play(optimizer, {"phone": GOOD, "desktop": GOOD}, 10_000)
    new = optimizer.recommend(segment="tablet")
    assert (new.chosen, new.rounds) == (["tea", "coffee"], 0)
    assert new.share > 0.8
    assert {name: round(loss, 1) for name, (loss, _) in new.items.items()} == {"tea": 0.1, "coffee": 0.2}
    assert optimizer.posterior(segment="tablet").predict([1, 0, 0, 0, 0, 0])[0] == pytest.approx(0.1, abs=0.05)
    assert optimizer.recommend().variance_shares["own"] < 0.05


def test_segments_that_are_not_alike_get_their_own_decisions():
    optimizer = sv.PrivateBandit(**settings())
    play(optimizer, {"phone": GOOD, "desktop": OTHER, "tablet": GOOD}, 15_000)
    found = optimizer.recommend()
    best = {"phone": ["tea", "coffee"], "desktop": ["milk", "water"], "tablet": ["tea", "coffee"]}
    assert {name: found[name].chosen for name in found} == best
    assert found.helps
    shown = {row[0].words: row[1].words for row in show_segments(found, names=DRINKS)["table"].rows}
    assert all(word in shown["desktop"] for word in ("milk (0.", "water (0."))
    assert {tuple(one["recommendation"]["items"][0]) and len(one["recommendation"]["items"])
            for one in json.loads(json.dumps(found.to_dict()))["segments"]} == {2}  # fmt: skip


def test_a_change_that_most_segments_notice_is_believed_by_one_that_cannot():
    """The small segment has a handful of events after the change: alone it would not know."""
    optimizer = sv.PrivateBandit(**settings(segments=["phone", "tablet"], horizon=60_000, privacy=sv.NoPrivacy()))
    play(optimizer, dict.fromkeys(["phone", "tablet"], GOOD), 10_000)
    play(optimizer, {"phone": OTHER}, 20_000, seed=2)
    assert optimizer.recommend(segment="phone").chosen == ["milk", "water"]
    assert optimizer.recommend(segment="tablet").chosen == ["milk", "water"]


@pytest.mark.parametrize("segments", [["phone", "desktop"], {"device": ["phone", "desktop"], "country": ["it", "de"]}])
def test_a_study_plays_what_memory_plays_reopens_and_is_verified(tmp_path, segments):
    names = (
        segments
        if isinstance(segments, list)
        else [f"{one},{two}" for one in segments["device"] for two in ("it", "de")]
    )
    keys = {name: name if isinstance(segments, list) else tuple(name.split(",")) for name in names}

    def turns(study, seed):
        rng, seen = np.random.default_rng(seed), []
        for _ in range(12):
            whom = [keys[str(one)] for one in rng.choice(names, 100)]
            actions = study.ask(size=100, segment=whom)
            study.tell(actions.ids, np.array([GOOD[one] for one in actions.indices]))
            seen.append(actions.x)
        return np.concatenate(seen)

    given = settings(segments=segments, privacy=sv.NoPrivacy(), noise=None)
    memory = sv.PrivateBandit(**given)
    expected = [turns(memory, 1), turns(memory, 2)]
    url = f"sqlite:///{tmp_path}/s.db"
    with sv.Study.open(url, name="s", **given) as study:
        assert np.array_equal(turns(study, 1), expected[0])
    with sv.Study.open(url, name="s") as study:
        assert np.array_equal(turns(study, 2), expected[1])
        assert study.recommend(segment=keys[names[0]]).items == memory.recommend(segment=keys[names[0]]).items
        assert study.verify().ok, str(study.verify())


def test_more_than_can_be_kept_is_refused():
    many = settings(domain=sv.domains.Hypersimplex(100_000, 20), segments=sv.Segments(limit=1000))
    with pytest.raises(ValueError, match="more than can be kept"):
        sv.PrivateBandit(**many)
