"""A fit check compares decisions with the model: neither repeats nor a world that changes can hide or feign it."""

import numpy as np

from sampling import every
from sottovoce.models import FitCheck, Measurements, ModelSettings, Numbers

DECISIONS, ROUNDS, VARIANCE = 40, 5, 0.01


def fit_check(deviation_of_decisions, deviation_of_numbers, seed=0, tails=0.0):
    """Compare decisions that are off a model (of mean 0, known exactly) with it."""
    world = np.random.default_rng(seed)
    off, measurements = deviation_of_decisions * world.normal(size=DECISIONS), Measurements.empty(DECISIONS)
    for number in range(1, ROUNDS + 1):
        means = off + deviation_of_numbers * world.normal(size=DECISIONS)
        measurements = measurements.add(Numbers(np.eye(DECISIONS), means, np.ones(DECISIONS), number * DECISIONS))
    count = len(measurements)
    nothing, exact = np.zeros(DECISIONS), np.zeros((DECISIONS, DECISIONS))
    noise = np.sqrt(VARIANCE * np.sqrt(tails / 3))  # Laplace's, of numbers of one event each
    settings = ModelSettings(1000, 1.0, 0.5, noise, (1 / 400, 1 / 8, 1 / 4), 6, 8, 0.1, 0.02, 1.0)
    return FitCheck.between_decisions("linear", settings, measurements, (np.full(count, VARIANCE), nothing, exact))


def test_under_the_model_p_values_are_uniform():
    """Kolmogorov's distance of 400 to the uniform distribution: above 0.1 once in 2,500 times."""
    found = np.sort([fit_check(0.0, 0.1, seed).probability for seed in range(400)])
    assert np.abs(found - (np.arange(400) + 0.5) / 400).max() < 0.1


def test_decisions_off_the_model_are_seen_however_often_each_was_tried():
    assert fit_check(0.1, 0.1).serious


def test_numbers_that_differ_from_round_to_round_are_no_fault_of_the_model():
    """Twice the deviation that noise has, in all numbers: a world that changes."""
    assert not fit_check(0.0, 0.2).serious
    assert fit_check(0.3, 0.2).serious


def test_heavy_tails_count_for_less():
    assert fit_check(0.08, 0.1, tails=30.0).probability > fit_check(0.08, 0.1).probability


@every("model, words", [("linear", "do not look linear in the action"), ("radial", "which it allows for")])
def test_words_say_what_to_do(model, words):
    assert words in FitCheck(500.0, 100.0, 1e-9, model).caution
    assert "plan='worst-case'" in FitCheck(500.0, 100.0, 1e-9, model).caution
    assert FitCheck(100.0, 100.0, 0.5, model).caution == ""
