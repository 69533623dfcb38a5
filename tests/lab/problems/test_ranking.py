"""Rankings: the loss by hand, the public, and what is played."""

import itertools
import math

import numpy as np
import pytest

from lab_losses import losses_of
from sottovoce.lab.problems import Ranking
from sottovoce.lab.problems.ranking import PEOPLE


def as_point(problem, order):
    """The point of an order, `order[place]` being an item."""
    x = np.empty(len(order))
    x[list(order)] = [1 / math.log2(2 + place) for place in range(len(order))]
    return x


def loss_by_hand(worth, order):
    """1 - DCG/ideal DCG, in plain Python."""

    def gain(listed):
        return sum(worth[item] / math.log2(2 + place) for place, item in enumerate(listed))

    return 1 - gain(order) / gain(sorted(range(len(worth)), key=lambda item: -worth[item]))


def test_the_loss_is_one_minus_normalised_discounted_cumulative_gain():
    problem = Ranking(items=5, seed=3)
    environment = problem.environment
    rng = np.random.default_rng(0)
    for event in range(60):
        person = int(environment.kinds(event, 1)[0])
        order = rng.permutation(5).tolist()
        expected = loss_by_hand(environment.worth[person], order)
        assert losses_of(environment, event, 1)(as_point(problem, order))[0] == pytest.approx(expected, abs=1e-12)


def test_the_range_holds_for_any_reader_and_is_nearly_reached():
    """Not only for those of the simulation: the range is public, so it must not depend on who comes."""
    problem = Ranking(items=4)
    low, high = problem.environment.loss_range
    rng, worst = np.random.default_rng(2), 0.0
    for _ in range(400):
        worth = rng.pareto(0.3, size=4)
        ranked = np.argsort(worth).tolist()  # the worst order
        worst = max(worst, loss_by_hand(worth, ranked))
    assert low == 0.0
    assert 0.99 * high < worst <= high + 1e-12
    for order in itertools.permutations(range(4)):
        losses = problem.environment.library.losses(as_point(problem, order), np.arange(PEOPLE))
        assert losses.min() >= -1e-12
        assert losses.max() <= high


def test_types_come_in_falling_numbers():
    environment = Ranking(items=4, types=4).environment
    expected = np.array([1, 1 / 2, 1 / 3, 1 / 4])
    np.testing.assert_allclose(np.bincount(environment.type_of) / PEOPLE, expected / expected.sum(), atol=1 / PEOPLE)
    visits = np.bincount(environment.type_of[environment.kinds(0, 200_000)]) / 200_000
    # Hoeffding: 0.0071 for four shares at 1e-8 in all, and the shares themselves are rounded.
    np.testing.assert_allclose(visits, expected / expected.sum(), atol=0.009)


def test_items_are_named_by_what_they_are_worth():
    problem = Ranking(items=6, seed=2)
    worth = problem.environment.worth.mean(axis=0)
    assert [problem.domain.coordinate_names[item] for item in np.argsort(-worth)] == [
        f"item {number}" for number in range(1, 7)
    ]
