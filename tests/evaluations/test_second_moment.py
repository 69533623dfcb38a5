"""A second number, of squares, says how much losses vary; test_privacy.py says that it costs nothing."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.privacy import LossGrid
from sottovoce.stats import ReleasedMean
from sottovoce.stats.scale import scale_for

STEPS = LossGrid(0.0, 1.0).steps
RANGE = (-1.0, 3.0)


PEOPLE = {  # losses in units of the range: a draw, its mean, its variance
    "halves": (lambda coins, size: coins.random(size) < 0.5, 0.5, 0.25),
    "one in ten": (lambda coins, size: coins.random(size) < 0.1, 0.1, 0.09),
    "two in a hundred": (lambda coins, size: coins.random(size) < 0.02, 0.02, 0.0196),
    "spread out": (lambda coins, size: coins.beta(2, 5, size), 2 / 7, 10 / (49 * 8)),
    "all the same": (lambda coins, size: np.full(size, 0.3), 0.3, 0.0),
    "narrow, rarely all": (
        lambda coins, size: np.where(coins.random(size) < 0.02, 1.0, 0.2 + 0.05 * coins.random(size)),
        0.98 * 0.225 + 0.02,
        0.98 * (0.225**2 + 0.05**2 / 12) + 0.02 - (0.98 * 0.225 + 0.02) ** 2,
    ),
    "at the end": (lambda coins, size: np.zeros(size), 0.0, 0.0),
}
PRIVACY = {"pure, 1": sv.PureDP(1.0), "pure, 0.05": sv.PureDP(0.05), "zCDP": sv.ZCDP(0.02), "none": sv.NoPrivacy()}


def evaluated(privacy, people, runs, events, seed=0):
    """Many evaluations, each with both numbers."""
    evaluations = sv.PrivateEvaluations(RANGE, PRIVACY[privacy], noise=sv.SimulatedNoise(seed + 8), variance=True)
    coins = np.random.default_rng(seed)
    for _ in range(runs):
        evaluations.open(events).tell(RANGE[0] + 4.0 * PEOPLE[people][0](coins, events))
    return evaluations.results


CASES = [
    *(("pure, 1", people) for people in PEOPLE),
    *((privacy, "spread out") for privacy in ("pure, 0.05", "zCDP", "none")),
    ("none", "narrow, rarely all"),
]


@pytest.mark.long
@every(("privacy", "people"), CASES)
def test_intervals_hold_the_truth_as_often_as_they_say(privacy, people):
    """Of means and of differences; four deviations of luck, and 0.01 for losses so rare that sums are not normal."""
    runs, truth = 80, RANGE[0] + 4.0 * PEOPLE[people][1]
    rare = 0.02 * (people in ("two in a hundred", "narrow, rarely all"))
    results = evaluated(privacy, people, 2 * runs, 300)
    for confidence in (0.8, 0.95):
        luck = 4 * math.sqrt(confidence * (1 - confidence) / runs)
        held = np.mean([low <= truth <= high for low, high in (one.interval(confidence) for one in results[:runs])])
        assert held >= confidence - luck - rare
        pairs = zip(results[::2], results[1::2], strict=True)
        found = [sv.ab_test({"A": a, "B": b}, confidence=confidence).differences[0] for a, b in pairs]
        assert np.mean([one.low <= 0.0 <= one.high for one in found]) >= confidence - luck - rare


@every("people", ["halves", "spread out", "all the same"])
def test_the_variance_is_estimated_and_pulled_up_by_little(people):
    results = evaluated("pure, 1", people, 60, 2000)
    found = np.array([one.variance for one in results]) / 16.0
    truth = PEOPLE[people][2]
    assert np.mean(found) == pytest.approx(truth, abs=0.002)
    assert np.all(found >= 0)


def test_intervals_are_as_narrow_as_losses_vary():
    """Against the same evaluations without their second number: times and amounts gain, clicks lose nothing."""
    ratios = {}
    for people in ("spread out", "all the same", "halves", "one in ten"):
        widths = {True: [], False: []}
        for one in evaluated("pure, 1", people, 12, 1000):
            plain = ReleasedMean(one.number, one.events, one.total, one.scale)
            for squares, found in ((True, one), (False, plain)):
                low, high = found.interval()
                widths[squares].append(high - low)
            assert one.standard_error <= plain.standard_error
        ratios[people] = np.mean(widths[True]) / np.mean(widths[False])
    assert ratios["spread out"] < 0.45
    assert ratios["all the same"] < 0.3
    assert 0.98 < ratios["halves"] <= 1.0
    assert 0.98 < ratios["one in ten"] <= 1.0


def test_noise_that_drowns_the_second_number_leaves_what_the_mean_says():
    scale = scale_for((0.0, 1.0), sv.PureDP(0.001))
    plain = ReleasedMean(0, 100, 100 * STEPS // 3, scale)
    for squares in (-(10**12), 0, 10**12):
        drowned = ReleasedMean(0, 100, 100 * STEPS // 3, scale, squares)
        assert drowned.interval() == plain.interval()
        assert drowned.standard_error == pytest.approx(plain.standard_error, rel=0.02)
