"""A second number, of squares: it moves so little that it costs nothing, and says how much losses vary."""

import itertools
import math

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce._sums import squares_of
from sottovoce.privacy import LossGrid
from sottovoce.stats import ReleasedMean, scale
from sottovoce.stats.scale import scale_for

STEPS = LossGrid(0.0, 1.0).steps
RANGE = (-1.0, 3.0)


@every("steps", [2, 4, 6, 64, 100, 512])
def test_sum_and_squares_together_move_by_the_steps_of_the_grid_at_most(steps):
    """All pairs of losses; and no less: were the squares half as large again, it would not hold."""
    q = np.arange(steps + 1)

    def worst(t):
        return int((np.abs(q[:, None] - q) + np.abs(t[:, None] - t)).max())

    assert worst(squares_of(q, steps)) == steps
    if steps >= 64:
        around = q - steps // 2
        assert worst(around * around * 3 // (2 * steps)) > steps


def test_they_do_so_on_the_real_grid():
    """Every loss against both ends, the middle and places near the bound, and a million pairs at random."""
    every = np.arange(STEPS + 1)
    t = squares_of(every, STEPS)
    for other in (0, 1, STEPS // 4, STEPS // 2 - 1, STEPS // 2, STEPS // 2 + 1, STEPS - 1, STEPS):
        assert (np.abs(every - other) + np.abs(t - t[other])).max() <= STEPS
    a, b = np.random.default_rng(0).integers(0, STEPS + 1, (2, 1_000_000))
    assert (np.abs(a - b) + np.abs(t[a] - t[b])).max() <= STEPS


class Counted:
    """Noise that is never the same twice."""

    simulated = True

    def __init__(self):
        self.drawn = []

    def sampler(self, noise):
        return self

    def draw(self, size):
        self.drawn += [10**9 * (len(self.drawn) + 1 + i) for i in range(size)]
        return np.array(self.drawn[-size:], dtype=np.int64)


def released(losses, missing=None):
    """Both numbers of two evaluations, of people who come in turn."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=Counted(), seed=5, variance=True)
    for size in (2, 3):
        evaluations.open(size)
    for place, loss in enumerate(losses):
        met, person = evaluations.assign()
        if place == missing:
            met.forget(person)
        else:
            met.tell(loss, ids=person)
    return np.array([(one.total, one.squares) for one in evaluations.results])


def test_replacing_one_loss_moves_the_numbers_of_one_evaluation_by_that_at_most():
    """Brute force on what is released, losses beyond the range and missing ones included; the worst is reached."""
    values, others, worst = [-7.0, 0.0, 0.125, 0.3, 0.5, 1.0, 1e12, None], [0.1, 0.9, 0.4, 0.6, 0.2], 0
    for place, (one, other) in itertools.product(range(5), itertools.combinations(values, 2)):
        seen = []
        for value in (one, other):
            told = [value if i == place else loss for i, loss in enumerate(others)]
            seen.append(released(told, missing=place if value is None else None))
        moved = np.abs(seen[0] - seen[1])
        assert (moved.sum(axis=1) > 0).sum() <= 1
        worst = max(worst, int(moved.sum()))
    assert worst == STEPS


def test_each_number_has_a_noise_of_its_own_and_is_released_once():
    source = Counted()
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=source, variance=True)
    one = evaluations.open(2)
    one.tell([0.5, 0.5])
    assert (one.result.total, one.result.squares) == (source.drawn[0] + STEPS, source.drawn[1])
    assert one.result == one.result
    one.interval()
    assert len(source.drawn) == 2


@every("guarantee", [sv.PureDP(0.3, 2), sv.ZCDP(0.1), sv.ApproxDP(1.0, 1e-3), sv.ApproxDP(0.2, 1e-6, 3)])
def test_the_noise_of_the_sum_is_what_it_would_be_alone(guarantee):
    alone, both = (
        sv.PrivateEvaluations((0.0, 1.0), guarantee, variance=squares).privacy.noise for squares in (False, True)
    )
    assert both.family == alone.family
    assert alone.scale <= both.scale <= alone.scale * (1 + 1e-6)  # discreteness is charged for two numbers


def test_gaussian_noise_is_charged_for_two_numbers(monkeypatch):
    asked, intact = [], scale.least_probe_noise
    monkeypatch.setattr(scale, "least_probe_noise", lambda *a, **named: asked.append(named) or intact(*a, **named))
    sv.PrivateEvaluations((0.0, 1.0), sv.ApproxDP(0.2, 1e-6), variance=True)
    assert asked == [{"reached": 2}]


def test_places_that_nobody_took_are_in_neither_number():
    """An integer of 0 would have the largest square."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy(), variance=True)
    one = evaluations.open(100)
    one.tell([0.5, 0.75])
    one.close()
    assert (one.result.events, one.result.squares) == (2, STEPS // 16)


def test_it_is_for_losses_in_memory_that_are_told_as_such():
    with pytest.raises(ValueError, match="variance=True is not for LocalDP"):
        sv.PrivateEvaluations((0.0, 1.0), sv.LocalDP(1.0), variance=True)
    with pytest.raises(TypeError, match="variance must be True or False"):
        sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), variance=1)


def test_the_statement_says_that_there_are_two():
    said = str(sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), variance=True).privacy)
    assert "two numbers that are released of it, sum and squares" in " ".join(said.split())
    assert "squares" not in str(sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0)).privacy)


# ---------------------------------------------------------------------- what it says

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


def test_losses_that_seem_to_be_all_the_same_do_not_pose_as_certain():
    """The middle, and 1 for two in a hundred: of 60 people there is none of them in three evaluations of ten."""
    coins, evaluations, held = (
        np.random.default_rng(1),
        sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy(), variance=True),
        [],
    )
    for _ in range(200):
        one = evaluations.open(60)
        one.tell(np.where(coins.random(60) < 0.02, 1.0, 0.5))
        low, high = one.interval(0.95)
        held.append(low <= 0.51 <= high)
    assert np.mean(held) >= 0.95 - 0.062


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


def test_it_is_plain_data():
    (one,) = evaluated("pure, 1", "spread out", 1, 100)
    plain = one.to_dict()
    assert (plain["squares"], plain["variance"]) == (one.squares, one.variance)
    assert "squares" not in ReleasedMean(0, 100, 5, one.scale).to_dict()
