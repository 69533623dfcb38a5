"""A test in stages: whoever stops at any planned look is wrong no more often than was said. Seeds are fixed."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every

SCHEDULE = (100, 100, 200)


def played(evaluations, coins, means, schedule=SCHEDULE):
    """Evaluations of a test in stages, each event in one number."""
    arms = {name: [] for name in means}
    for events in schedule:
        opened = {name: evaluations.open(events) for name in means}
        for name, one in opened.items():
            one.tell(coins.random(events) < means[name])
            arms[name].append(one)
    return arms


def looks_at(arms, **options):
    """What each look has shown."""
    return [
        sv.ab_test({name: stages[:looks] for name, stages in arms.items()}, schedule=SCHEDULE, **options).differences
        for looks in (1, 2, 3)
    ]


@every("privacy", [sv.PureDP(0.1), sv.PureDP(2.0), sv.NoPrivacy()])
def test_false_alarms_stay_at_the_level_over_all_looks(privacy):
    """200 tests of no difference at 10%: four deviations of luck are 0.085."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), privacy, noise=sv.SimulatedNoise(4))
    coins, alarms = np.random.default_rng(1), []
    for _ in range(200):
        arms = played(evaluations, coins, {"A": 0.3, "B": 0.3})
        alarms.append(any(found.shown for (found,) in looks_at(arms, confidence=0.9)))
    assert np.mean(alarms) <= 0.1 + 0.085


def test_intervals_of_all_looks_hold_a_true_difference_together():
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(0.2), noise=sv.SimulatedNoise(14))
    coins, held = np.random.default_rng(3), []
    for _ in range(150):
        found = looks_at(played(evaluations, coins, {"A": 0.3, "B": 0.1, "C": 0.3}), confidence=0.9)
        truths = {"B": -0.2, "C": 0.0}
        held.append(all(one.low <= truths[one.arm] <= one.high for look in found for one in look))
    assert np.mean(held) >= 0.9 - 0.1


@pytest.fixture
def arms():
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=sv.SimulatedNoise(5))
    return played(evaluations, np.random.default_rng(6), {"A": 0.5, "B": 0.1, "C": 0.45})


def test_an_arm_that_was_dropped_hears_of_no_later_stage(arms):
    last = sv.ab_test(arms, schedule=SCHEDULE)
    dropped = sv.ab_test({**arms, "C": arms["C"][:1]}, schedule=SCHEDULE)
    assert dropped.differences == (last.differences[0], looks_at(arms)[0][1])
    assert "at all 3 planned looks, of which 3 were made" in last.correction


def test_a_stage_is_compared_within_itself():
    """Losses that rise from stage to stage, and arms of unequal size there: no difference is made up from that."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy())
    arms = {"A": [], "B": []}
    for mean, sizes in ((0.2, (100, 900)), (0.8, (900, 100))):
        for name, events in zip("AB", sizes, strict=True):
            one = evaluations.open(events)
            one.tell(np.arange(events) < mean * events)
            arms[name].append(one)
    (found,) = sv.ab_test(arms, schedule=(500, 500)).differences
    assert found.estimate == pytest.approx(0.0, abs=1e-5)
    assert not found.shown


@every(
    "given, schedule, message",
    [
        ({}, None, "'A' is a list of evaluations, and there is no schedule"),
        ({}, (100, 100), "arm 'A' has 3 stages, and the schedule 2"),
        ({"A": 1}, SCHEDULE, "control 'A' has 1 stages and 'B' 3"),
    ],
)
def test_what_fits_no_schedule_is_refused(arms, given, schedule, message):
    with pytest.raises(ValueError, match=message):
        sv.ab_test({name: stages[: given.get(name)] for name, stages in arms.items()}, schedule=schedule)
