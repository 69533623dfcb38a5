"""Events needed: the formula of textbooks where there is one, and simulated tests where there is none."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sampling import every


def textbook(difference, confidence, power, variances):
    """The sample size of an arm: (z sqrt(2 V) + z' sqrt(V + V'))^2/d^2, V at the middle for the interval."""
    z, other = stats.norm.isf((1 - confidence) / 2), stats.norm.ppf(power)
    return math.ceil(((z * math.sqrt(0.5) + other * math.sqrt(sum(variances))) / difference) ** 2)


@every("difference", [0.02, 0.05])
@every("confidence, power", [(0.95, 0.8), (0.99, 0.9), (0.9, 0.5)])
def test_without_privacy_it_is_the_textbooks_formula(difference, confidence, power):
    """From 0.5 to 0.5 - d; the mean that differs lies within a standard error of the middle, so little is pulled."""
    found = sv.events_needed(difference, privacy=sv.NoPrivacy(), confidence=confidence, power=power)
    expected = textbook(difference, confidence, power, (0.25, 0.25 - difference**2))
    assert found.events == pytest.approx(expected, rel=0.004, abs=1)


@every(
    "privacy, settings",
    [
        (sv.PureDP(0.1), {"difference": 0.1}),
        (sv.PureDP(0.05), {"difference": 0.1, "mean": 0.2, "power": 0.9}),
        (sv.ZCDP(0.01), {"difference": 0.1, "confidence": 0.9}),
        (sv.LocalDP(2.0), {"difference": 0.15}),
        (sv.PureDP(0.2), {"difference": 0.1, "looks": 3}),
        (sv.PureDP(0.5), {"difference": 0.12, "arms": 3, "power": 0.7}),
        (sv.PureDP(0.5), {"difference": 0.03, "mean": 0.3, "deviation": 0.15}),
    ],
)
def test_a_difference_is_shown_as_often_as_planned(privacy, settings):
    """150 tests through evaluations; four deviations of luck are 0.13."""
    plan = sv.events_needed(privacy=privacy, **settings)
    difference, mean, power = settings["difference"], settings.get("mean", 0.5), settings.get("power", 0.8)
    other = mean - difference if mean >= 0.5 else mean + difference
    deviation = settings.get("deviation")
    squares = {"variance": deviation is not None}
    evaluations = sv.PrivateEvaluations((0.0, 1.0), privacy, noise=sv.SimulatedNoise(2), **squares)
    coins, shown = np.random.default_rng(11), []
    names = ["A", "B", "C"][: plan.arms]
    for _ in range(150):
        arms = {name: [] for name in names}
        for events in plan.schedule:
            for name in names:
                one = evaluations.open(events)
                tell(one, evaluations, coins, other if name == "B" else mean, deviation)
                arms[name].append(one)
        for looks in range(1, len(plan.schedule) + 1):
            early = {"schedule": plan.schedule} if len(plan.schedule) > 1 else {}
            given = {name: stages[:looks] if early else stages[0] for name, stages in arms.items()}
            found = sv.ab_test(given, confidence=settings.get("confidence", 0.95), **early).differences[0]
            if found.shown and (found.estimate > 0) == (other > mean):
                break
        shown.append(found.shown and (found.estimate > 0) == (other > mean))
    assert np.mean(shown) == pytest.approx(power, abs=0.13)


def tell(one, evaluations, coins, mean, deviation):
    """Losses that are all or nothing, or such as beta losses of a deviation."""
    losses = (coins.random(one.events) < mean).astype(float)
    if deviation is not None:
        size = mean * (1 - mean) / deviation**2 - 1
        losses = coins.beta(mean * size, (1 - mean) * size, one.events)
    if evaluations.channel is None:
        one.tell(losses)
    else:
        one.tell(report=sv.local.simulate_reports(losses, evaluations.channel, coins))


def test_more_privacy_arms_pairs_and_looks_cost_events_and_means_near_the_end_fewer():
    def needed(epsilon=1.0, difference=0.05, **settings):
        return sv.events_needed(difference, privacy=sv.PureDP(epsilon), **settings).events

    plain = sv.events_needed(0.05, privacy=sv.NoPrivacy())
    assert needed(0.01) > needed(0.1) > needed() >= plain.events
    assert needed() < needed(arms=4) < needed(arms=4, pairs="all")
    assert needed() < needed(looks=4)
    assert needed(0.5, 0.03, mean=0.3, deviation=0.15) < needed(0.5, 0.03, mean=0.3) / 4
    assert needed(difference=0.02, mean=0.05) < 0.4 * needed(difference=0.02)
    assert needed(difference=0.2, loss_range=(-5.0, 5.0), mean=-4.5) == needed(difference=0.02, mean=0.05)
    found = sv.events_needed(0.05, privacy=sv.PureDP(0.5), looks=4)
    assert found.without_privacy == sv.events_needed(0.05, privacy=sv.NoPrivacy(), looks=4).events
    assert sum(found.schedule) == found.events
    assert len(found.schedule) == 4
    assert f"schedule={found.schedule}" in str(found)
    assert "Without privacy" not in str(plain)
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (said["events"], said["total"]) == (found.events, 2 * found.events)
    assert said["privacy"] == {"kind": "PureDP", "epsilon": 0.5, "contributions": 1}


@every(
    "settings, message",
    [
        ({"difference": 0.0}, "difference must be"),
        ({"mean": 1.5}, "mean must be within the loss range"),
        ({"difference": 0.7}, "leads out of the loss range"),
        ({"looks": 1000}, "looks must be"),
        ({"privacy": 1.0}, "privacy must be a guarantee"),
        ({"difference": 1e-9}, "more than 1e"),
        ({"mean": 0.1, "deviation": 0.4}, "deviation must be"),
        ({"deviation": 0.1, "privacy": sv.LocalDP(1.0)}, "which LocalDP cannot have"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sv.events_needed(**{"difference": 0.1, "privacy": sv.PureDP(1.0), **settings})
