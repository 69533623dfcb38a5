"""From points that are worked on to actions that are played."""

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.plans.placement import Placement

CHOICES = sv.domains.Hypersimplex(5, 2)
POINTS = np.array([[0.4, 0.4, 0.4, 0.4, 0.4], [1.0, 1.0, 0.0, 0.0, 0.0], [0.9, 0.1, 0.5, 0.3, 0.2]])


@every("integral", [False, True])
def test_the_original_position_is_played_whatever_is_worked_on(integral):
    placement = Placement(CHOICES, sv.domains.Rounded(CHOICES), integral)
    index = np.array([1, 1, 1])
    actions = placement.play(placement.working.from_original(POINTS), index, np.random.default_rng(0))
    np.testing.assert_allclose(actions, POINTS[index], atol=1e-9)  # a vertex is the only choice with that mean


def test_points_are_played_as_they_are():
    index = np.array([2, 0, 0, 2, 1])
    np.testing.assert_array_equal(Placement(CHOICES).play(POINTS, index, np.random.default_rng(0)), POINTS[index])


@every("index", [[2, 0, 2], [1, 2], [0], [2, 1, 0, 0, 2, 1, 1], []])
def test_vertices_have_the_mean_of_their_own_point(index):
    """However many events there are for however many points. Within 6 standard errors: 1e-8 for each entry."""
    placement, coins, index = Placement(CHOICES, integral=True), np.random.default_rng(1), np.array(index, dtype=int)
    draws = np.array([placement.play(POINTS, index, coins) for _ in range(1500)])
    assert set(np.unique(draws)) <= {0.0, 1.0}
    assert (draws.sum(axis=2) == 2.0).all()
    assert (np.abs(draws.mean(axis=0) - POINTS[index]) <= 6 * draws.std(axis=0) / np.sqrt(1500) + 1e-12).all()
