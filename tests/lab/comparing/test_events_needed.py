"""How many events the paper's noise asks for: a range, since "log T" can be read in several ways."""

import math

import pytest

from sottovoce.lab.problems.naming import make_problem
from sottovoce.lab.reproduction.events_needed import READINGS, events_needed, events_needed_with_needed_noise
from sottovoce.plans.outlook import horizon_needed
from sottovoce.plans.problem import Problem
from sottovoce.privacy import ApproxDP, PureDP

HERE = "ball:dimension=8,play=around"


def test_the_range():
    events = {reading: events_needed(HERE, PureDP(1.0), reading) for reading in READINGS}
    assert {reading: f"{count:.0e}" for reading, count in events.items()} == {
        "binary logarithms of the events": "2e+14",
        "natural logarithms of the events": "3e+13",
        "binary logarithms of the rounds": "6e+12",
    }


def test_the_first_reading_is_that_of_the_papers_plan():
    made = make_problem(HERE, seed=0)
    known = made.settings()
    problem = Problem(made.domain, 10_000, known.pop("loss_range"), PureDP(1.0), **known)
    assert events_needed(HERE, PureDP(1.0), next(iter(READINGS))) == horizon_needed(problem, "paper")


def test_readings_are_what_they_say():
    binary, natural, rounds = READINGS.values()
    assert [one(10**6) * math.log2(10**6) for one in (binary, natural, rounds)] == pytest.approx(
        [math.log2(10**6), math.log(10**6), math.log2(1000)]
    )


def test_more_than_can_be_planned_for_is_none_and_the_needed_noise_needs_little():
    assert events_needed(HERE, ApproxDP(1.0, 1e-6), "binary logarithms of the rounds") is None
    assert events_needed_with_needed_noise(HERE, PureDP(1.0)) < 10**6
    assert events_needed_with_needed_noise(HERE, ApproxDP(1.0, 1e-6)) < 3 * 10**5
