"""Seeded runs stay what they were: for equal seeds, a change of the books changes no action.

The numbers were recorded before patience and recovery came in, those of posterior probes when these became the default,
those of an unknown horizon when later epochs began to reckon with where they start.
They are compared to nine digits, not to the last bit: linear algebra rounds otherwise on other machines.
"""

import numpy as np
import pytest

import sottovoce as sv

SIMPLEX, BALL, SLATE = sv.domains.Simplex(4), sv.domains.Ball(3), sv.domains.Hypersimplex(6, 2)
LINEAR = {"losses": "linear", "integral": True}
WORST = {"plan": "worst-case"}
SPHERE = {"batch_size": 10, "step": 0.05}
RUNS = {
    "posterior": (SLATE, {**LINEAR, "least_events": 2}),
    "posterior, convex": (SIMPLEX, {"least_events": 2}),
    "posterior, unknown horizon": (SLATE, {"horizon": None, "least_events": 2, **LINEAR}),
    "worst case": (SIMPLEX, WORST),
    "frames": (SIMPLEX, {"exploration": "frames", "batch_size": 13}),
    "frames, vertices": (SLATE, {"exploration": "frames", "batch_size": 12, **LINEAR}),
    "designs": (SLATE, {**LINEAR, **WORST}),
    "designs, reuse": (SLATE, {**LINEAR, **WORST, "reuse": True}),
    "designs, memory": (SLATE, {"losses": "linear", "memory": 200, **WORST}),
    "tree": (SIMPLEX, {"mechanism": "tree", **SPHERE}),
    "paper": (BALL, {"plan": "paper"}),
    "honaker": (SIMPLEX, {"mechanism": "honaker", **SPHERE}),
    "toeplitz": (SIMPLEX, {"mechanism": "toeplitz", "privacy": sv.ZCDP(0.5), **SPHERE}),
    "fresh": (SIMPLEX, {"mechanism": "fresh", **SPHERE}),
    "no privacy": (SIMPLEX, {"privacy": sv.NoPrivacy(), **WORST}),
    "local": (SIMPLEX, {"privacy": sv.LocalDP(1.0), "batch_size": 20, **WORST}),
    "unknown horizon": (SIMPLEX, {"horizon": None, **WORST}),
    "unknown horizon, tree": (SIMPLEX, {"horizon": None, "mechanism": "tree", "batch_size": 16}),
    "long rounds": (SIMPLEX, {"horizon": 20_000, "batch_size": 9001, "exploration": "frames"}),
}
RECORDED = {
    "posterior": (-1.8980027400071742, 17),
    "posterior, convex": (2.3605442348486863, 12),
    "posterior, unknown horizon": (-2.5407184763897632, 72),
    "worst case": (1.9103735425651711, 12),
    "frames": (2.562590592746092, 19),
    "frames, vertices": (2.6378438365589743, 17),
    "designs": (4.347168879255511, 3),
    "designs, reuse": (6.097552484718878, 3),
    "designs, memory": (10.272186267849637, 3),
    "tree": (1.933322212939251, 24),
    "paper": (9.914562996250979, 16),
    "honaker": (1.9395495454194172, 24),
    "toeplitz": (1.4839116063721216, 24),
    "fresh": (1.5262629917946582, 24),
    "no privacy": (1.7303250733959548, 115),
    "local": (1.6322452215633367, 10),
    "unknown horizon": (1.9553892435626268, 55),
    "unknown horizon, tree": (4.512588602145053, 55),
    "long rounds": (1.3821813254265911, 2),
}


def optimizer_for(name, **more):
    domain, options = RUNS[name]
    settings = {"horizon": 240, "privacy": sv.PureDP(1.0), "loss_range": (0.0, 1.0), "seed": 7, **options, **more}
    return sv.PrivateBandit(domain, noise=sv.SimulatedNoise(3), **settings)


def play(optimizer, events):
    """Ask blocks of many sizes, tell late and backwards, forget some; return a checksum of the actions, and rounds."""
    asked, turn, waiting, checksum = 0, 0, [], 0.0
    while asked < events:
        turn += 1
        size = min(events - asked, ((17 * turn) % 29 + 1) * (150 if events > 3000 else 1))
        actions = optimizer.ask(size) if turn % 3 else optimizer.ask_round(size)
        asked += len(actions)
        checksum += float(np.cos(actions.ids) @ actions.x @ np.sqrt(np.arange(1.0, actions.x.shape[1] + 1)))
        waiting.append(actions)
        if len(waiting) > 2 or turn % 4 == 0:
            while waiting:
                tell(optimizer, waiting.pop(), forgets=turn % 7 == 0)
    return checksum, optimizer.round


def tell(optimizer, actions, forgets):
    losses = actions.x @ np.linspace(0.1, 0.9, actions.x.shape[1]) + 0.1 * np.sin(actions.ids)
    if forgets:
        optimizer.forget(actions.ids[:1])
    ids, losses = actions.ids[forgets:], losses[forgets:]
    if isinstance(optimizer.privacy.guarantee, sv.LocalDP):
        optimizer.tell(ids, report=np.where(losses > 0.4, 1, -1))
    else:
        optimizer.tell(ids, losses)


@pytest.mark.parametrize("name", RUNS)
def test_a_seeded_run_is_what_it_was(name):
    optimizer = optimizer_for(name, patience=None)
    checksum, rounds = RECORDED[name]
    assert play(optimizer, optimizer.horizon or 900) == (pytest.approx(checksum, rel=1e-9, abs=1e-9), rounds)
