"""What a released mean says of the truth: unbiased, and in its interval as often as it says. Seeds are fixed."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import sottovoce as sv
from sampling import every, sampled
from sottovoce.stats import ReleasedMean
from sottovoce.stats._error_law import ErrorLaw
from sottovoce.stats.released_mean import _laplace_tail

RANGE = (-1.0, 3.0)
PEOPLE = {  # losses in units of the range, and their mean
    "halves": (lambda coins, n: coins.random(n) < 0.5, 0.5),
    "one in ten": (lambda coins, n: coins.random(n) < 0.1, 0.1),
    "two in a hundred": (lambda coins, n: coins.random(n) < 0.02, 0.02),
    "all the same": (lambda coins, n: np.full(n, 0.3), 0.3),
    "none": (lambda coins, n: np.zeros(n), 0.0),
    "spread out": (lambda coins, n: coins.beta(2, 5, n), 2 / 7),
}
PRIVACY = {
    "pure, 1": sv.PureDP(1.0),
    "pure, 0.05": sv.PureDP(0.05),
    "zCDP": sv.ZCDP(0.02),
    "none": sv.NoPrivacy(),
    "one bit": sv.LocalDP(1.0),
}
RUNS, EVENTS = 1000, 300


def released(privacy, people, runs=RUNS, events=EVENTS):
    """Means of many evaluations of one kind of people, with what they say of themselves."""
    evaluations = sv.PrivateEvaluations(RANGE, privacy, noise=sv.SimulatedNoise(8))
    coins = np.random.default_rng(6)
    for _ in range(runs):
        losses = RANGE[0] + 4.0 * people(coins, events)
        one = evaluations.open(events)
        if evaluations.channel is None:
            one.tell(losses)
        else:
            one.tell(report=sv.local.simulate_reports(losses, evaluations.channel, coins))
    return evaluations.results


CASES = [
    *((one, "halves") for one in PRIVACY),
    *(("pure, 1", one) for one in PEOPLE if one != "halves"),
    *((one, "one in ten") for one in ("pure, 0.05", "none")),
    *(("none", "two in a hundred"), ("one bit", "none"), ("zCDP", "spread out")),
]


@pytest.mark.parametrize(("privacy", "people"), sampled(CASES, 4))
def test_intervals_hold_the_truth_as_often_as_they_say(privacy, people):
    """Four standard deviations of luck are allowed, and the error of the normal approximation for rare losses."""
    make, mean = PEOPLE[people]
    results, truth = released(PRIVACY[privacy], make, runs=400), RANGE[0] + 4.0 * mean
    for confidence in (0.8, 0.99):
        held = np.mean([low <= truth <= high for low, high in (one.interval(confidence) for one in results)])
        luck = np.sqrt(confidence * (1 - confidence) / len(results))
        assert held >= confidence - 4 * luck - 0.01 * (people == "two in a hundred")
        if people == "halves":  # where the bound is the variance itself: not much too wide, either
            assert held <= confidence + 4 * luck


@pytest.mark.parametrize(("privacy", "people"), sampled(CASES, range(len(PRIVACY))))
def test_means_are_unbiased_and_standard_errors_not_too_small(privacy, people):
    make, mean = PEOPLE[people]
    results = released(PRIVACY[privacy], make)
    means, errors = (np.array([getattr(one, name) for one in results]) for name in ("mean", "standard_error"))
    spread = means.std()
    assert abs(means.mean() - (RANGE[0] + 4.0 * mean)) <= 5 * spread / np.sqrt(RUNS) + 1e-5
    assert np.sqrt((errors**2).mean()) >= 0.93 * spread  # five deviations of an estimated one, of Laplace noise
    if people == "halves":  # where the bound is the variance itself
        assert np.sqrt((errors**2).mean()) <= 1.08 * spread


@every("deviation", [0.0, 1e-3, 0.3, 1.0, 5.0, 200.0])
def test_the_tail_of_normal_plus_laplace_is_that_of_the_integral(deviation):
    for distance in (0.0, 0.5, 2.0, 6.0):
        if deviation == 0:
            expected = np.exp(-distance)
        else:

            def above(z, x=distance):
                return stats.laplace.pdf(z) * stats.norm.sf((x - z) / deviation)

            near = sorted(
                {-60.0, 0.0, *np.clip([distance - 9 * deviation, distance, distance + 9 * deviation], -60, 60)}
            )
            pieces = itertools.pairwise([*near, 60.0])
            expected = 2 * sum(integrate.quad(above, *ends, limit=200)[0] for ends in pieces)
        found = _laplace_tail(np.array([distance]), np.array([deviation]), 1.0)[0]
        assert found == pytest.approx(expected, abs=2e-6)
        assert ErrorLaw(deviation, (1.0,)).tail(distance) == pytest.approx(expected, abs=2e-6)


def test_tails_do_not_overflow():
    tails = _laplace_tail(np.array([0.0, 1.0, 3e5]), np.array([1e5, 1e5, 1e5]), 1.0)
    assert tails == pytest.approx([1.0, 2 * stats.norm.sf(1e-5), 2 * stats.norm.sf(3.0)], abs=1e-6)
    assert np.isfinite(_laplace_tail(np.array([1e9]), np.array([9999.0]), 1.0)).all()


def result(total, privacy=None, events=100):
    one = sv.PrivateEvaluations((0.0, 1.0), privacy or sv.PureDP(1.0), noise=sv.SimulatedNoise(0)).open(events)
    one.tell(np.zeros(events))
    return ReleasedMean(0, events, total, one.result.scale)


def test_more_confidence_is_wider_and_stays_within_the_range():
    for total in (-(10**7), -(10**5), 0, 10**6, 13 * 10**6, 10**9):
        before = None
        for confidence in (0.01, 0.5, 0.9, 0.99, 1 - 1e-9):
            low, high = result(total).interval(confidence)
            assert 0.0 <= low <= high <= 1.0
            assert before is None or (low <= before[0] + 1e-9 and high >= before[1] - 1e-9)
            before = low, high


def test_without_noise_the_interval_of_ones_and_zeros_is_wilsons():
    """Against scipy."""
    found = result(2**18 * 7, sv.NoPrivacy()).interval(0.95)
    assert found == pytest.approx(tuple(stats.binomtest(7, 100).proportion_ci(0.95, "wilson")), abs=1e-9)
