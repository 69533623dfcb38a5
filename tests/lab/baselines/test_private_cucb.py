"""Private CUCB finds the best items, by what is released alone, and its radius follows the noise."""

import numpy as np
import pytest
from benchmarks.private_cucb import PrivateCUCB

import sottovoce as sv

LOSSES = np.array([0.9, 0.2, 0.8, 0.3, 0.7, 0.85])


def played(privacy, radius=0.1, gains=False, horizon=6000):
    rival = PrivateCUCB(
        sv.domains.Hypersimplex(6, 2), horizon=horizon, privacy=privacy, integral=True, feedback="items", radius=radius,
        loss_range=(-1.0, 0.0) if gains else (0.0, 1.0), seed=1, noise=sv.SimulatedNoise(1),
    )  # fmt: skip
    rng, late = np.random.default_rng(1), []
    while rival.remaining:
        actions = rival.ask_round(1000)
        means = (LOSSES - gains)[np.array(actions.indices)]
        rival.tell(actions.ids, np.sign(means) * (rng.random(means.shape) < np.abs(means)))
        late.append((len(actions), (np.array(actions.indices) == [1, 3]).all()))
    return sum(size for size, best in late[len(late) // 2 :] if best) / sum(size for size, _ in late[len(late) // 2 :])


@pytest.mark.parametrize(("privacy", "gains"), [(sv.NoPrivacy(), False), (sv.PureDP(2.0), True)])
def test_the_best_items_are_found(privacy, gains):
    assert played(privacy, gains=gains) > 0.8


def test_more_noise_makes_it_try_more():
    assert played(sv.PureDP(0.1), radius=1.0) < 0.5 < played(sv.NoPrivacy(), radius=1.0)
