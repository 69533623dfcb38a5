"""What `ab_test` says, and what it refuses."""

import json

import numpy as np
import pytest

import sottovoce as sv
from sampling import every


@pytest.fixture
def evaluations():
    return sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=sv.SimulatedNoise(1), seed=2)


def told(evaluations, mean, events=2000):
    """An evaluation of people who lose all or nothing."""
    one = evaluations.open(events)
    one.tell(np.arange(events) < mean * events)
    return one


def test_a_difference_that_is_shown_is_said_in_plain_words(evaluations):
    found = sv.ab_test({"A": told(evaluations, 0.5), "B": told(evaluations, 0.4)})
    (one,) = found.differences
    assert one.shown
    assert found.shown == (one,)
    assert one.low < -0.1 < one.high < 0
    assert one.words == (f"B loses {-one.estimate:.3g} less than A, between {-one.high:.3g} and {-one.low:.3g}, at 95%")
    assert "A: 0.5, between" in str(found)
    assert one.words in str(found)
    assert "the interval of the difference holds at 95%" in str(found)


def test_of_rewards_more_is_better(evaluations):
    arms = {"A": told(evaluations, 0.5), "B": told(evaluations, 0.4)}
    loss, reward = (sv.ab_test(arms, direction=way) for way in ("minimize", "maximize"))
    assert (loss.differences[0].better, reward.differences[0].better) == ("B", "A")
    assert reward.differences[0].words == loss.differences[0].words.replace("loses", "gains")
    assert "Means (more is better):" in str(reward)
    alike = sv.ab_test({"A": told(evaluations, 0.5, 100), "B": told(evaluations, 0.5, 100)}, direction="maximize")
    assert alike.differences[0].better is None
    assert "B may gain up to" in str(alike)


def test_one_that_is_not_shown_says_how_much_it_may_be(evaluations):
    found = sv.ab_test({"A": told(evaluations, 0.5, 100), "B": told(evaluations, 0.5, 100)})
    assert not found.shown
    assert found.differences[0].words.startswith("B against A: no difference is shown at 95%; B may lose up to 0.1")


def test_the_control_is_the_first(evaluations):
    arms = {name: told(evaluations, 0.5, 100) for name in "ABC"}
    assert [(one.arm, one.against) for one in sv.ab_test(arms).differences] == [("B", "A"), ("C", "A")]
    every = sv.ab_test(arms, pairs="all")
    assert [(one.arm, one.against) for one in every.differences] == [("B", "A"), ("C", "A"), ("C", "B")]
    assert "all 3 differences hold together at 95% (Bonferroni: each at 98.33%)" in every.correction
    assert "at most 5%" in every.correction


def test_without_privacy_the_interval_is_agrestis_and_caffos_at_even_odds(evaluations):
    """In the middle nothing is pulled: estimate +- 1.96 sqrt(1/4n + 1/4n)."""
    plain = sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy())
    found = sv.ab_test({"A": told(plain, 0.5), "B": told(plain, 0.5)}).differences[0]
    assert found.high == pytest.approx(1.959964 * np.sqrt(0.5 / 2000), abs=1e-8)


def test_it_is_plain_data(evaluations):
    found = sv.ab_test({"A": told(evaluations, 0.5), "B": told(evaluations, 0.4)})
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["differences"][0]["words"] == found.differences[0].words
    assert plain["arms"][1]["events"] == 2000
    assert plain["control"] == "A"
    assert plain["correction"] == found.correction
    assert eval(repr(found), vars(sv.stats)) == found


@every(
    ("change", "message"),
    [
        ({"arms": [1, 2]}, "arms must name two evaluations"),
        ({"arms": {}}, "arms must name two evaluations"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"pairs": "some"}, "pairs must be one of 'control', 'all'"),
        ({"schedule": (500,)}, "two stages at least"),
        ({"schedule": (500, 0)}, "an entry of schedule"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(evaluations, change, message):
    arms = {"A": told(evaluations, 0.5, 50), "B": told(evaluations, 0.5, 50)}
    with pytest.raises((TypeError, ValueError), match=message):
        sv.ab_test(**{"arms": arms, **change})


def test_other_things_are_refused_without_being_shown_and_so_are_arms_of_different_ranges(evaluations):
    with pytest.raises(TypeError, match="arm 'B' must be an evaluation that is closed, or its result, got float") as it:
        sv.ab_test({"A": told(evaluations, 0.5, 50), "B": 0.123456})
    assert "0.123456" not in str(it.value)
    other = sv.PrivateEvaluations((0.0, 2.0), sv.PureDP(1.0), noise=sv.SimulatedNoise(1))
    with pytest.raises(ValueError, match=r"one loss_range.*A \(0.0, 1.0\), B \(0.0, 2.0\)"):
        sv.ab_test({"A": told(evaluations, 0.5, 50), "B": told(other, 0.5, 50)})


def test_one_evaluation_is_not_two_arms_read_from_a_storage_twice_or_not(tmp_path):
    url = f"sqlite:///{tmp_path}/tests.db"
    with sv.PrivateEvaluations(storage=url, name="a", loss_range=(0.0, 1.0), privacy=sv.PureDP(1.0)) as stored:
        for mean in (0.2, 0.6):
            stored.open(events=400).tell(np.arange(400) < mean * 400)
    with sv.PrivateEvaluations(storage=url, name="a") as stored, sv.PrivateEvaluations(storage=url, name="a") as again:
        found = sv.ab_test({"A": stored.evaluation(0), "B": stored.evaluation(1)})
        assert found.differences[0].low > 0
        with pytest.raises(ValueError, match="'A' and 'B' hold the same evaluation"):
            sv.ab_test({"A": stored.evaluation(0), "B": again.evaluation(0)})
        with pytest.raises(ValueError, match="hold the same evaluation"):
            sv.ab_test({"A": stored.evaluation(0), "B": stored.evaluation(0)})


def test_squares_narrow_an_arm_only_if_all_of_its_stages_have_them():
    schedule, losses = (400, 400), np.tile([0.3, 0.32], 200)
    arms = {}
    for squares in ((False, False), (True, False), (True, True)):
        stages = []
        for variance in squares:
            noise = sv.SimulatedNoise(10 * len(arms) + len(stages))
            one = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=noise, variance=variance).open(400)
            one.tell(losses)
            stages.append(one)
        arms[str(squares)] = stages
    widths = [one.high - one.low for one in sv.ab_test(arms, schedule=schedule).arms]
    assert widths[0] == pytest.approx(widths[1], rel=0.02)
    assert widths[2] < 0.5 * widths[1]
