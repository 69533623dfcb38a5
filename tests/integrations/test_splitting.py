"""How many events a trial gets: the rule, against a simulation of what it maximises, and its directions."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every


def test_no_other_split_gains_more_where_its_picture_holds():
    """Trials whose losses are normal, the best by released means taken: 4000 worlds for each split, fixed seed."""
    events, spread, coins = 4000, 0.1, np.random.default_rng(1)
    chosen = sv.integrations.events_per_trial(events, privacy=sv.PureDP(1.0), spread=spread)
    gains = {}
    for size in (chosen // 4, chosen, chosen * 4):
        truth = coins.normal(0, spread, (4000, events // size))
        seen = truth + coins.normal(0, 0.5 / np.sqrt(size), truth.shape) + coins.laplace(0, 1 / size, truth.shape)
        gains[size] = -np.take_along_axis(truth, seen.argmin(axis=1)[:, None], axis=1).mean()
    assert max(gains, key=gains.get) == chosen


def split(events=20_000, epsilon=1.0, **options):
    return sv.integrations.events_per_trial(events, privacy=sv.PureDP(epsilon), **options)


def test_more_noise_and_smaller_differences_ask_for_more_people_per_trial():
    assert split(epsilon=3.0) <= split() < split(epsilon=0.3) < split(epsilon=0.1)
    assert split(spread=0.2) < split(spread=0.1) < split(spread=0.05)
    assert split(2_000) < split(20_000) < split(200_000)
    assert split(loss_range=(-3.0, 7.0)) == split()  # in units of the range
    assert split(loss_range=(-3.0, 7.0), spread=1.0) == split(spread=0.1)


@every(
    "privacy", [sv.NoPrivacy(), sv.ApproxDP(1.0, 1e-6), sv.ZCDP(0.1), sv.LocalDP(1.0), sv.PureDP(1.0, contributions=4)]
)
def test_every_guarantee_has_its_noise(privacy):
    size = sv.integrations.events_per_trial(20_000, privacy=privacy)
    assert 50 < size <= 2_000
    if not isinstance(privacy, sv.NoPrivacy):
        assert size > sv.integrations.events_per_trial(20_000, privacy=sv.NoPrivacy())


def test_few_events_still_make_a_trial():
    assert [split(events) for events in (1, 7, 50, 99)] == [1, 7, 10, 10]
    with pytest.raises(ValueError, match="events must be at least 1"):
        split(0)
    with pytest.raises(ValueError, match="spread must be greater than 0"):
        split(spread=0)
