"""Misfit compares decisions with the model: neither repeats nor a world that changes can hide or feign it."""

import numpy as np
import pytest

from sottovoce.models import History, Misfit, Numbers, Settings

DECISIONS, ROUNDS, VARIANCE = 40, 5, 0.01


def misfit(deviation_of_decisions, deviation_of_numbers, seed=0, tails=0.0):
    """Compare decisions that are off a model (of mean 0, known exactly) with it."""
    world = np.random.default_rng(seed)
    off, history = deviation_of_decisions * world.normal(size=DECISIONS), History.empty(DECISIONS)
    for number in range(1, ROUNDS + 1):
        means = off + deviation_of_numbers * world.normal(size=DECISIONS)
        history = history.add(Numbers(np.eye(DECISIONS), means, np.ones(DECISIONS), number * DECISIONS))
    count = len(history)
    nothing, exact = np.zeros(DECISIONS), np.zeros((DECISIONS, DECISIONS))
    noise = np.sqrt(VARIANCE * np.sqrt(tails / 3))  # Laplace's, of numbers of one event each
    settings = Settings(1000, 1.0, 0.5, noise, (1 / 400, 1 / 8, 1 / 4), 6, 8, 0.1, 0.02, 1.0)
    return Misfit.between_decisions("linear", settings, history, np.full(count, VARIANCE), nothing, exact)


def test_under_the_model_p_values_are_uniform():
    """Kolmogorov's distance of 400 to the uniform distribution: above 0.1 once in 2,500 times."""
    found = np.sort([misfit(0.0, 0.1, seed).probability for seed in range(400)])
    assert np.abs(found - (np.arange(400) + 0.5) / 400).max() < 0.1


def test_decisions_off_the_model_are_seen_however_often_each_was_tried():
    assert misfit(0.1, 0.1).serious


def test_numbers_that_differ_from_round_to_round_are_no_fault_of_the_model():
    """Twice the deviation that noise has, in all numbers: a world that changes."""
    assert not misfit(0.0, 0.2).serious
    assert misfit(0.3, 0.2).serious


def test_heavy_tails_count_for_less():
    assert misfit(0.08, 0.1, tails=30.0).probability > misfit(0.08, 0.1).probability


@pytest.mark.parametrize(
    ("model", "words"), [("linear", "do not look linear in the action"), ("radial", "which it allows for")]
)
def test_words_say_what_to_do(model, words):
    assert words in Misfit(500.0, 100.0, 1e-9, model).caution
    assert "plan='worst-case'" in Misfit(500.0, 100.0, 1e-9, model).caution
    assert Misfit(100.0, 100.0, 0.5, model).caution == ""
