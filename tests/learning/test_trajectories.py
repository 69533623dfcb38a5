"""Seeded runs stay what they were: for equal seeds, a change of the books changes no action.

A change that plays something else on purpose records them anew, and its message says what regret became.
They are compared to nine digits, not to the last bit: linear algebra rounds otherwise on other machines.
"""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every

SIMPLEX, BALL, SLATE = sv.domains.Simplex(4), sv.domains.Ball(3), sv.domains.Hypersimplex(6, 2)
ARMS = sv.domains.Simplex(6)  # nothing is decided by a last bit there
LINEAR = {"losses": "linear", "integral": True}
WORST = {"plan": "worst-case"}
SPHERE = {"batch_size": 10, "step": 0.05}
RUNS = {  # the set, the options, and the checksum of all actions and the number of rounds that were recorded
    "posterior": (SLATE, {**LINEAR, "least_events": 2}, (4.824524041028171, 17)),
    "posterior, convex": (SIMPLEX, {"least_events": 2}, (1.8580688262192824, 12)),
    "posterior, unknown horizon": (SLATE, {"horizon": None, "least_events": 2, **LINEAR}, (3.6055351169801537, 72)),
    "worst case": (SIMPLEX, WORST, (2.334290203547065, 12)),
    "frames": (SIMPLEX, {"exploration": "frames", "batch_size": 13}, (1.6991637887131963, 19)),
    "frames, vertices": (SLATE, {"exploration": "frames", "batch_size": 12, **LINEAR}, (3.7475514859577204, 17)),
    "designs": (ARMS, {**LINEAR, **WORST}, (-1.7105089716595392, 3)),
    "tree": (SIMPLEX, {"mechanism": "tree", **SPHERE}, (1.037334126720971, 24)),
    "paper": (BALL, {"plan": "paper"}, (6.125241917594144, 16)),
    "fresh": (SIMPLEX, {"mechanism": "fresh", **SPHERE}, (0.6302749055763783, 24)),
    "no privacy": (SIMPLEX, {"privacy": sv.NoPrivacy(), **WORST}, (1.1937958573353362, 115)),
    "local": (SIMPLEX, {"privacy": sv.LocalDP(1.0), "batch_size": 20, **WORST}, (1.9994526017578347, 10)),
    "unknown horizon": (SIMPLEX, {"horizon": None, **WORST}, (2.863135588794834, 55)),
    "unknown horizon, tree": (
        SIMPLEX,
        {"horizon": None, "mechanism": "tree", "batch_size": 16},
        (5.196859384782418, 55),
    ),
    "long rounds": (SIMPLEX, {"horizon": 20_000, "batch_size": 9001, "exploration": "frames"}, (1.8381743287410466, 2)),
}


def play(optimizer, events):
    """Ask blocks of many sizes, tell late and backwards, forget some; return a checksum of the actions, and rounds."""
    asked, turn, waiting, checksum = 0, 0, [], 0.0
    while asked < events:
        turn += 1
        size = min(events - asked, ((17 * turn) % 29 + 1) * (150 if events > 3000 else 1))
        actions = optimizer.ask(size) if turn % 3 else optimizer.ask_round(size)
        positions = np.arange(asked, asked + len(actions))
        asked += len(actions)
        checksum += float(np.cos(positions) @ actions.x @ np.sqrt(np.arange(1.0, actions.x.shape[1] + 1)))
        waiting.append((actions, positions))
        if len(waiting) > 2 or turn % 4 == 0:
            while waiting:
                tell(optimizer, *waiting.pop(), forgets=turn % 7 == 0)
    return checksum, optimizer.round


def tell(optimizer, actions, positions, forgets):
    losses = actions.x @ np.linspace(0.1, 0.9, actions.x.shape[1]) + 0.1 * np.sin(positions)
    if forgets:
        optimizer.forget(actions.ids[:1])
    ids, losses = actions.ids[forgets:], losses[forgets:]
    if isinstance(optimizer.privacy.guarantee, sv.LocalDP):
        optimizer.tell(ids, report=np.where(losses > 0.4, 1, -1))
    else:
        optimizer.tell(ids, losses)


@every("name", RUNS)
def test_a_seeded_run_is_what_it_was(name):
    domain, options, (checksum, rounds) = RUNS[name]
    given = {
        "horizon": 240,
        "privacy": sv.PureDP(1.0),
        "loss_range": (0.0, 1.0),
        "seed": 7,
        "patience": None,
        **options,
    }
    optimizer = sv.PrivateBandit(domain, noise=sv.SimulatedNoise(3), **given)
    assert play(optimizer, optimizer.horizon or 900) == (pytest.approx(checksum, rel=1e-9, abs=1e-9), rounds)
