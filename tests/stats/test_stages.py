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


@every("privacy", [sv.PureDP(0.1), sv.PureDP(2.0), sv.NoPrivacy()])
def test_false_alarms_stay_at_the_level_over_all_looks_and_naive_looks_do_not(privacy):
    """200 tests of no difference at 10%: four deviations of luck are 0.085. Naively it is twice as many."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), privacy, noise=sv.SimulatedNoise(4))
    coins, alarms, naive = np.random.default_rng(1), [], []
    for _ in range(200):
        arms = played(evaluations, coins, {"A": 0.3, "B": 0.3})
        (found,) = sv.ab_test(arms, schedule=SCHEDULE, confidence=0.9).differences
        alarms.append(any(look.shown for look in found.looks))
        naive.append(any(_naively(arms, look).shown for look in (1, 2, 3)))
    assert np.mean(alarms) <= 0.1 + 0.085
    assert np.mean(naive) >= 0.15
    assert np.mean(alarms) < np.mean(naive)


def _naively(arms, looks):
    """The difference as if this look were the only one: the last of a schedule that ends here, all of it spent there.

    A schedule whose earlier stages are all but nothing of the plan spends nothing on them.
    """
    short = {name: stages[:looks] for name, stages in arms.items()}
    if looks == 1:
        return sv.ab_test({name: stages[0] for name, stages in short.items()}, confidence=0.9).differences[0]
    from sottovoce.stats._arms import Arm
    from sottovoce.stats.ab_testing import look_at

    weights = tuple(map(float, SCHEDULE[:looks]))
    a, b = (Arm(name, tuple(one.result for one in short[name]), weights) for name in "AB")
    return look_at(looks, b, a, 0.1)


def test_intervals_of_all_looks_hold_a_true_difference_together():
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(0.2), noise=sv.SimulatedNoise(14))
    coins, held = np.random.default_rng(3), []
    for _ in range(150):
        found = sv.ab_test(
            played(evaluations, coins, {"A": 0.3, "B": 0.1, "C": 0.3}), schedule=SCHEDULE, confidence=0.9
        )
        truths = {"B": -0.2, "C": 0.0}
        held.append(all(look.low <= truths[one.arm] <= look.high for one in found.differences for look in one.looks))
    assert np.mean(held) >= 0.9 - 0.1


@pytest.fixture
def arms():
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=sv.SimulatedNoise(5))
    return played(evaluations, np.random.default_rng(6), {"A": 0.5, "B": 0.1, "C": 0.45})


def test_what_a_look_has_shown_stays_as_it_was(arms):
    """Later stages change nothing about an earlier look; neither does an arm that was dropped hear of them."""
    last = sv.ab_test(arms, schedule=SCHEDULE)
    for looks in (1, 2):
        early = sv.ab_test({name: stages[:looks] for name, stages in arms.items()}, schedule=SCHEDULE)
        assert early.looks == looks
        for now, then in zip(last.differences, early.differences, strict=True):
            assert now.looks[:looks] == then.looks
    dropped = sv.ab_test({**arms, "C": arms["C"][:1]}, schedule=SCHEDULE)
    assert dropped.differences[1].looks == last.differences[1].looks[:1]
    assert dropped.differences[0] == last.differences[0]
    assert "at all 3 planned looks, of which 3 were made" in last.correction


def test_levels_are_public(arms):
    """They are the same whatever was lost."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=sv.SimulatedNoise(9))
    others = played(evaluations, np.random.default_rng(2), {"A": 0.0, "B": 1.0, "C": 0.7})
    levels = [
        [look.confidence for one in sv.ab_test(given, schedule=SCHEDULE).differences for look in one.looks]
        for given in (arms, others)
    ]
    assert levels[0] == levels[1]
    assert levels[0][0] > levels[0][1] > levels[0][2]


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


def test_a_list_without_a_schedule_is_refused(arms):
    with pytest.raises(ValueError, match="'A' is a list of evaluations, and there is no schedule"):
        sv.ab_test(arms)


def test_a_schedule_cannot_be_prolonged(arms):
    with pytest.raises(ValueError, match="arm 'A' has 3 stages, and the schedule 2"):
        sv.ab_test(arms, schedule=(100, 100))


def test_the_control_is_in_every_stage(arms):
    with pytest.raises(ValueError, match="control 'A' has 1 stages and 'B' 3"):
        sv.ab_test({**arms, "A": arms["A"][:1]}, schedule=SCHEDULE)


def test_an_early_look_that_can_say_nothing_spans_everything():
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=sv.SimulatedNoise(5))
    arms = played(evaluations, np.random.default_rng(6), {"A": 1.0, "B": 0.0}, (10,))
    (found,) = sv.ab_test(arms, schedule=(10, 100_000)).differences
    assert (found.low, found.high) == (-1.0, 1.0)
    assert not found.shown
