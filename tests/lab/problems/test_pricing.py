"""Pricing: revenue by hand, gradients by differences, and the best prices by another way."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from sampling import every
from sottovoce.domains.balls.nuclear_ball import nearest_in_nuclear_ball
from sottovoce.lab.problems import Pricing


def highest_prices(library):
    return library.slopes / library.volume + 2.0


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_revenue_is_price_times_demand(seed):
    problem = Pricing(segments=3, products=4, seed=seed % 5)
    library = problem.environment.library
    rng = np.random.default_rng(seed)
    changes = nearest_in_nuclear_ball(0.3 * rng.standard_normal((3, 4)), problem.domain.radius)
    kinds = rng.integers(0, len(library), 20)
    prices = 1 + changes[library.segments[kinds]]
    demand = library.volume * (highest_prices(library)[kinds] - prices)
    assert (demand >= -1e-12).all()
    by_hand = (prices * demand).sum(axis=1)
    np.testing.assert_allclose(library.revenues(changes.ravel(), kinds), by_hand)
    usual = np.array([(library.volume * (highest_prices(library) - 1))[library.segments == s].sum() for s in range(3)])
    usual /= np.bincount(library.segments)
    rows = library.losses(np.tile(changes.ravel(), (20, 1)), kinds)
    np.testing.assert_allclose(library.most - library.scale * rows, by_hand - usual[library.segments[kinds]])


def test_demand_is_never_negative_even_at_the_highest_price_of_the_ball():
    for problem in Pricing.examples():
        assert highest_prices(problem.environment.library).min() >= 1 + problem.domain.radius - 1e-12


@every("preference", [0.1, 0.3])
def test_a_single_segments_best_prices_solve_the_secular_equation(preference):
    """For one row the ball is Euclidean: x = c / (2 volume + multiplier), the multiplier by bisection."""
    problem = Pricing(segments=1, products=5, radius=0.3, preference=preference, seed=4)
    library = problem.environment.library
    weights = np.random.default_rng(1).dirichlet(np.ones(len(library)))
    slopes = weights @ library.slopes
    row = lambda multiplier: slopes / (2 * library.volume + multiplier)  # noqa: E731
    binding = np.linalg.norm(row(0.0)) > 0.3
    multiplier = brentq(lambda m: np.linalg.norm(row(m)) - 0.3, 0.0, 1e3, xtol=1e-14) if binding else 0.0
    assert binding == (preference == 0.3)
    np.testing.assert_allclose(library.best(problem.domain, weights), row(multiplier), atol=1e-4)
