"""What a released mean says of the truth: unbiased, and in its interval as often as it says. Seeds are fixed.

A second number, of squares, says how much losses vary; tests/evaluations/test_privacy.py says that it costs nothing.
"""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import sottovoce as sv
from sampling import every, sampled
from sottovoce.privacy import LossGrid
from sottovoce.stats import ReleasedMean
from sottovoce.stats._error_law import ErrorLaw
from sottovoce.stats.released_mean import _laplace_tail
from sottovoce.stats.scale import scale_for

RANGE = (-1.0, 3.0)
PEOPLE = {  # losses in units of the range: a draw, its mean, its variance
    "halves": (lambda coins, n: coins.random(n) < 0.5, 0.5, 0.25),
    "one in ten": (lambda coins, n: coins.random(n) < 0.1, 0.1, 0.09),
    "two in a hundred": (lambda coins, n: coins.random(n) < 0.02, 0.02, 0.0196),
    "all the same": (lambda coins, n: np.full(n, 0.3), 0.3, 0.0),
    "none": (lambda coins, n: np.zeros(n), 0.0, 0.0),
    "spread out": (lambda coins, n: coins.beta(2, 5, n), 2 / 7, 10 / (49 * 8)),
    "narrow, rarely all": (
        lambda coins, n: np.where(coins.random(n) < 0.02, 1.0, 0.2 + 0.05 * coins.random(n)),
        0.98 * 0.225 + 0.02,
        0.98 * (0.225**2 + 0.05**2 / 12) + 0.02 - (0.98 * 0.225 + 0.02) ** 2,
    ),
}
RARE = ("two in a hundred", "narrow, rarely all")
PRIVACY = {
    "pure, 1": sv.PureDP(1.0),
    "pure, 0.05": sv.PureDP(0.05),
    "zCDP": sv.ZCDP(0.02),
    "none": sv.NoPrivacy(),
    "one bit": sv.LocalDP(1.0),
}
STEPS, RUNS, EVENTS = LossGrid(0.0, 1.0).steps, 1000, 300


def released(privacy, people, runs=RUNS, events=EVENTS, squares=False):
    """Means of many evaluations of one kind of people, with what they say of themselves."""
    noise = sv.SimulatedNoise(8)
    evaluations = sv.PrivateEvaluations(RANGE, PRIVACY[privacy], noise=noise, variance=squares)
    coins = np.random.default_rng(6)
    for _ in range(runs):
        losses = RANGE[0] + 4.0 * PEOPLE[people][0](coins, events)
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


SQUARES = [
    *(("pure, 1", people) for people in PEOPLE),
    *((privacy, "spread out") for privacy in ("pure, 0.05", "zCDP", "none")),
    ("none", "narrow, rarely all"),
]


@pytest.mark.long
@every(("privacy", "people"), SQUARES)
def test_intervals_from_squares_hold_the_truth_as_often_as_they_say(privacy, people):
    """Of means and of differences; four deviations of luck, and 0.02 for losses so rare that sums are not normal."""
    runs, truth = 80, RANGE[0] + 4.0 * PEOPLE[people][1]
    results = released(privacy, people, 2 * runs, squares=True)
    for confidence in (0.8, 0.95):
        least = confidence - 4 * np.sqrt(confidence * (1 - confidence) / runs) - 0.02 * (people in RARE)
        held = np.mean([low <= truth <= high for low, high in (one.interval(confidence) for one in results[:runs])])
        assert held >= least
        pairs = zip(results[::2], results[1::2], strict=True)
        found = [sv.ab_test({"A": a, "B": b}, confidence=confidence).differences[0] for a, b in pairs]
        assert np.mean([one.low <= 0.0 <= one.high for one in found]) >= least


@pytest.mark.parametrize(("privacy", "people"), sampled(CASES, range(len(PRIVACY))))
def test_means_are_unbiased_standard_errors_not_too_small_and_intervals_hold_as_often_as_they_say(privacy, people):
    """Intervals: four deviations of luck are allowed, and the error of the normal approximation for rare losses."""
    results, truth = released(privacy, people), RANGE[0] + 4.0 * PEOPLE[people][1]
    means, errors = (np.array([getattr(one, name) for one in results]) for name in ("mean", "standard_error"))
    spread, exact = means.std(), people == "halves"  # where the bound is the variance itself: nothing is much too wide
    assert abs(means.mean() - truth) <= 5 * spread / np.sqrt(RUNS) + 1e-5
    assert np.sqrt((errors**2).mean()) >= 0.93 * spread  # five deviations of an estimated one, of Laplace noise
    assert not exact or np.sqrt((errors**2).mean()) <= 1.08 * spread
    for confidence in (0.8, 0.99):
        held = np.mean([low <= truth <= high for low, high in (one.interval(confidence) for one in results[:400])])
        luck = np.sqrt(confidence * (1 - confidence) / 400)
        assert held >= confidence - 4 * luck - 0.01 * (people in RARE)
        assert not exact or held <= confidence + 4 * luck


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


# ---------------------------------------------------------------------- a second number, of squares


@every("people", ["halves", "spread out", "all the same"])
def test_the_variance_is_estimated_and_pulled_up_by_little(people):
    results = released("pure, 1", people, 60, 2000, squares=True)
    found = np.array([one.variance for one in results]) / 16.0
    truth = PEOPLE[people][2]
    assert np.mean(found) == pytest.approx(truth, abs=0.002)
    assert np.all(found >= 0)


def test_intervals_are_as_narrow_as_losses_vary():
    """Against the same evaluations without their second number: times and amounts gain, clicks lose nothing."""
    ratios = {}
    for people in ("spread out", "all the same", "halves", "one in ten"):
        widths = {True: [], False: []}
        for one in released("pure, 1", people, 12, 1000, squares=True):
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
