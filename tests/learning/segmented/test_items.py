"""Feedback by item for several segments: small ones borrow, large ones go their own way, in memory and in studies."""

import json

import numpy as np

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


def test_segments_that_are_not_alike_get_their_own_decisions():
    optimizer = sv.PrivateBandit(**settings())
    play(optimizer, {"phone": GOOD, "desktop": OTHER, "tablet": GOOD}, 15_000)
    found = optimizer.recommend()
    best = {"phone": ["tea", "coffee"], "desktop": ["milk", "water"], "tablet": ["tea", "coffee"]}
    assert {name: found[name].chosen for name in found} == best
    assert found.helps
    shown = {row[0].words: row[1].words for row in show_segments(found, names=DRINKS)["table"].rows}
    assert all(word in shown["desktop"] for word in ("milk (0.", "water (0."))
    assert {tuple(one["items"][0]) and len(one["items"])
            for one in json.loads(json.dumps(found.to_dict()))["segments"]} == {2}  # fmt: skip
