"""Slates: the click model, and what is played; tests/lab/simulation says of all problems what is best."""

import math

import numpy as np
import pytest
from scipy import stats

from lab_losses import losses_of
from sottovoce.lab.baselines._vertices import vertices_of
from sottovoce.lab.problems import Slate
from sottovoce.lab.problems.slate import PEOPLE, SEASONS

SMALL = {"items": 8, "slots": 3, "categories": 2, "per_category": 2, "year": 4000, "drift": 1.0}


def test_losses_are_what_they_are_said_to_be():
    linear = Slate(**SMALL)
    slates, likes = vertices_of(linear.domain), -3 * linear.environment.library.costs
    assert (slates.sum(axis=1) == 3).all()
    assert max(slates[:, linear.labels == category].sum(axis=1).max() for category in range(2)) == 2
    for x in np.random.default_rng(0).dirichlet(np.ones(len(slates)), size=5) @ slates:
        for event, person in enumerate(linear.environment.kinds(0, 40)):
            clicked = sum(x[i] for i in range(8) if likes[person, i] > 0.5)
            assert losses_of(linear.environment, event, 1)(x)[0] == pytest.approx((3 - clicked) / 3)


def test_people_click_at_the_rates_of_the_model():
    """False alarms: 1e-6 for the squares, and 1e-6 for all items by Hoeffding's inequality."""
    public = Slate(drift=0.7, seed=3).environment
    drawn = np.round(-6 * public.library.costs).reshape(SEASONS, PEOPLE, 24) + 0.0
    assert set(np.unique(drawn)) == {0.0, 1.0}
    rates = public.click_rates
    squares = (drawn.sum(axis=1) - PEOPLE * rates) ** 2 / (PEOPLE * rates * (1 - rates))
    assert stats.chi2.isf(1 - 1e-6, rates.size) < squares.sum() < stats.chi2.isf(1e-6, rates.size)
    most = math.sqrt(math.log(2 * 24 / 1e-6) / (2 * SEASONS * PEOPLE))
    assert np.abs(drawn.mean(axis=(0, 1)) - rates.mean(axis=0)).max() < most


def test_popularity_drifts_over_the_year_and_comes_round():
    steady, moving = Slate(drift=0.0), Slate(drift=1.5, year=3200)
    assert np.ptp(steady.environment.click_rates, axis=0).max() == 0.0
    odds = moving.environment.click_rates / (1 - moving.environment.click_rates)
    swing = np.log(odds.max(axis=0) / odds.min(axis=0))  # the cosine of 16 seasons misses its ends by little
    assert (swing <= 3.0 + 1e-9).all()
    assert (swing >= 3.0 * math.cos(math.pi / 16) - 1e-9).all()
    seasons = moving.environment.season_of(0, 6400)
    np.testing.assert_array_equal(np.bincount(seasons), np.full(16, 400))
    np.testing.assert_array_equal(seasons[:3200], seasons[3200:])
    favourites = {tuple(moving.domain.extreme_point(-rates)) for rates in moving.environment.click_rates}
    assert len(favourites) > 3


def test_items_are_named_by_attraction():
    problem = Slate()
    names = problem.domain.coordinate_names
    first = [item for item in range(24) if names[item].endswith(" 1")]
    assert len(first) == 4
    attraction = problem.environment.click_rates.mean(axis=0)
    for item in first:
        assert attraction[item] == attraction[problem.labels == problem.labels[item]].max()
