"""Pricing: revenue by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

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
