"""Uniform directions in the affine hull, and the one-point estimate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from exploring import agree, drawn, estimated, in_working, rounded
from sampling import every
from sottovoce._sums import Weighted
from sottovoce.plans.placement import Placement
from sottovoce.plans.sphere import Sphere, Spheres

DOMAINS = [
    sv.domains.Ball(4),
    sv.domains.Simplex(5),
    sv.domains.Hypersimplex(6, 2),
    sv.domains.Box(-1.0, 1.0, dimension=3),
]
SAMPLES = 200_000
UNIT = 2.0**-30  # of quantised directions


@pytest.fixture(params=DOMAINS, ids=repr)
def domain(request):
    return request.param


def test_directions_are_uniform_unit_vectors_of_the_hull(domain):
    """E u = 0 and E u u^T = P/d, P the projection on the direction space. Entries within 6 standard errors."""
    directions = Sphere(domain, 0.01).directions(np.random.default_rng(1), SAMPLES)
    assert np.allclose(np.linalg.norm(directions, axis=1), 1.0)
    assert np.allclose(domain.tangent(directions), directions)
    assert np.abs(directions.mean(axis=0)).max() < 6 / np.sqrt(SAMPLES)
    projection = domain.tangent(np.eye(domain.dimension))
    covariance = directions.T @ directions / SAMPLES
    assert np.abs(covariance - projection / domain.affine_dimension).max() < 6 / np.sqrt(SAMPLES)


def spheres_on(placement, radius, size, play="inside", middle=0.0):
    grid = {"quantise": lambda u: np.rint(u / UNIT).astype(np.int64), "step": UNIT}
    return Spheres(placement, radius, size, play, middle, **grid)


def test_estimate_is_unbiased_for_quadratic_losses(domain):
    """Smoothing 1/2 x'Ax adds a constant, so the gradient stays Ax, along the hull; each direction and its opposite."""
    coins, n, sphere = np.random.default_rng(3), domain.dimension, Sphere(domain, 0.1, play="around")
    root = coins.standard_normal((n, n))
    point = 0.5 * domain.center + 0.5 * domain.extreme_point(np.arange(n, dtype=float))
    half = sphere.directions(coins, SAMPLES // 2)
    losses = [((sphere.actions(point, u) @ root) ** 2).sum(axis=1) / 2 for u in (half, -half)]
    agree(sphere.scale * half * (losses[0] - losses[1])[:, None] / 2, domain.tangent(root @ root.T @ point))


@given(st.integers(0, len(DOMAINS) - 1), st.integers(0, 2**32 - 1), st.floats(0.01, 1.0))
@settings(max_examples=100, deadline=None)
def test_inside_play_never_leaves_the_set(index, seed, share):
    domain = DOMAINS[index]
    rng = np.random.default_rng(seed)
    sphere = Sphere(domain, share * domain.inner_radius)
    point = domain.extreme_point(rng.standard_normal(domain.dimension))  # the worst: a vertex
    for action in sphere.actions(point, sphere.directions(rng, 20)):
        assert domain.contains(action, tolerance=1e-9)


def test_around_play_is_the_papers():
    domain = sv.domains.Ball(3)
    sphere = Sphere(domain, 0.5, play="around")
    directions = sphere.directions(np.random.default_rng(0), 10)
    point = np.array([1.0, 0.0, 0.0])
    assert np.allclose(sphere.actions(point, directions), point + 0.5 * directions)


class TestSpheres:
    """Rounds of independent directions, summed into one integer for each coordinate."""

    @every("blocks", [(12,), (5, 4, 3)])
    def test_a_rounds_estimate_is_the_sum_of_its_events_estimates(self, domain, blocks):
        """(d/radius) sum of (f - middle) u, worked out again from the actions."""
        rounds, coins = spheres_on(Placement(domain), 0.05, 12, middle=0.3), np.random.default_rng(4)
        assert [rounds.round_size(passed) for passed in (0, 12, 1200)] == [12, 12, 12]
        exploration, draws = drawn(rounds, domain.center, coins, blocks)
        assert all(isinstance(draw.weights, Weighted) and draw.wants_loss is None for draw in draws)
        losses = coins.integers(0, 1000, size=12) / 1024
        directions = (np.concatenate([draw.actions for draw in draws]) - domain.center) / 0.05
        expected = domain.affine_dimension / 0.05 * (losses - 0.3) @ directions
        np.testing.assert_allclose(estimated(exploration, draws, losses), expected, rtol=1e-6, atol=1e-5)

    @every("integral", [False, True])
    def test_unbiased_in_rounded_position_and_with_vertices(self, integral):
        """Directions live in the working set, losses on the set that is played. Within 6 standard errors: 1e-8 each."""
        domain, cost = sv.domains.Hypersimplex(5, 2), np.linspace(-1.0, 2.0, 5)
        placement, size = rounded(domain, integral), 20_000 if integral else 100_000
        rounds = spheres_on(placement, 0.9 * placement.working.inner_radius, size, middle=1.0)
        _, (draw,) = drawn(rounds, placement.working.center, np.random.default_rng(5), (size,))
        assert not integral or set(np.unique(draw.actions)) == {0.0, 1.0}
        terms = rounds.sphere.scale * (draw.actions @ cost - 1.0)[:, None] * draw.weights.rows * UNIT
        agree(terms, in_working(placement, cost))
