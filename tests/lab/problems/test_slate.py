"""Slates: the click model, the best slate, and what is played."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from lab_losses import losses_of
from sampling import every
from sottovoce.lab.problems import Slate
from sottovoce.lab.problems.slate import PEOPLE, SEASONS

SMALL = {"items": 8, "slots": 3, "categories": 2, "per_category": 2, "year": 4000, "drift": 1.0}


def all_slates(problem):
    """Every slate that the rules allow, by enumeration."""
    allowed = []
    for chosen in itertools.combinations(range(problem.domain.dimension), problem.slots):
        if np.bincount(problem.labels[list(chosen)]).max() <= problem.per_category:
            slate = np.zeros(problem.domain.dimension)
            slate[list(chosen)] = 1.0
            allowed.append(slate)
    return np.array(allowed)


def mean_loss(problem, point, horizon):
    return losses_of(problem.environment, 0, horizon)(point).mean()


def points(problem, count, seed=0):
    """Random mixtures of three slates."""
    slates, rng = all_slates(problem), np.random.default_rng(seed)
    picks = slates[rng.integers(0, len(slates), size=(count, 3))]
    return np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), size=count), picks)


@every("seed, horizon", [(0, 1), (1, 57), (2, 9000), (3, 9000)])
def test_the_best_slate_is_the_best_of_all_slates(seed, horizon):
    problem = Slate(**SMALL, seed=seed)
    best = problem.environment.comparator(horizon)
    assert best.certificate == pytest.approx(0.0, abs=1e-12)
    losses = [mean_loss(problem, slate, horizon) for slate in all_slates(problem)]
    assert mean_loss(problem, best.point, horizon) == pytest.approx(min(losses), abs=1e-12)


def test_losses_are_what_they_are_said_to_be():
    linear = Slate(**SMALL)
    likes = -3 * linear.environment.library.costs
    for x in points(linear, 5):
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


@every("privacy", [sv.PureDP(1.0), sv.NoPrivacy()])
def test_every_slate_that_is_played_keeps_the_limits(privacy):
    problem = Slate(**SMALL)
    optimizer = problem.optimizer(horizon=3000, privacy=privacy, seed=1, noise=sv.SimulatedNoise(1))
    for _ in range(6):
        actions = optimizer.ask(size=500)
        assert set(np.unique(actions.x)) <= {0.0, 1.0}
        assert (actions.x.sum(axis=1) == 3).all()
        for category in range(2):
            assert actions.x[:, problem.labels == category].sum(axis=1).max() <= 2
        optimizer.tell(actions.ids, problem.environment.losses(int(actions.ids[0]), actions.x))


def test_items_are_named_by_attraction():
    problem = Slate()
    names = problem.domain.coordinate_names
    first = [item for item in range(24) if names[item].endswith(" 1")]
    assert len(first) == 4
    attraction = problem.environment.click_rates.mean(axis=0)
    for item in first:
        assert attraction[item] == attraction[problem.labels == problem.labels[item]].max()


@every(
    ("settings", "words"),
    [
        ({"slots": 9}, "slots must be at most 8"),
        ({"slots": 24, "per_category": 6}, "slots"),
        ({"categories": 25}, "categories"),
        ({"per_category": 0}, "per_category"),
        ({"drift": -0.1}, "drift"),
        ({"year": 3}, "year"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_settings_are_refused_by_name(settings, words):
    with pytest.raises(ValueError, match=words):
        Slate(**settings)
