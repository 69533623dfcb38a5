"""Uniform directions in the affine hull, and the one-point estimate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.exploration import Sphere, one_point_sum

DOMAINS = [
    sv.domains.Ball(4),
    sv.domains.Simplex(5),
    sv.domains.Hypersimplex(6, 2),
    sv.domains.Box(-1.0, 1.0, dimension=3),
]
SAMPLES = 400_000


@pytest.fixture(params=DOMAINS, ids=repr)
def domain(request):
    return request.param


def test_directions_are_unit_vectors_of_the_hull(domain):
    directions = Sphere(domain, 0.01).directions(np.random.default_rng(0), 500)
    assert np.allclose(np.linalg.norm(directions, axis=1), 1.0)
    assert np.allclose(domain.tangent(directions), directions)


def test_directions_are_uniform(domain):
    """E u = 0 and E u u^T = P/d, P the projection on the direction space. Entries within 6 standard errors."""
    directions = Sphere(domain, 0.01).directions(np.random.default_rng(1), SAMPLES)
    assert np.abs(directions.mean(axis=0)).max() < 6 / np.sqrt(SAMPLES)
    projection = domain.tangent(np.eye(domain.dimension))
    covariance = directions.T @ directions / SAMPLES
    assert np.abs(covariance - projection / domain.affine_dimension).max() < 6 / np.sqrt(SAMPLES)


def _estimate(domain, loss, point, radius, samples=SAMPLES):
    """Mean of the one-point estimate and its standard error, on directions paired with their opposites."""
    sphere = Sphere(domain, radius, play="around")
    half = sphere.directions(np.random.default_rng(2), samples // 2)
    directions = np.concatenate([half, -half])
    terms = sphere.scale * loss(sphere.actions(point, directions))[:, None] * directions
    assert np.allclose(
        sphere.scale * one_point_sum(loss(sphere.actions(point, directions)), directions), terms.sum(axis=0)
    )
    paired = (terms[: samples // 2] + terms[samples // 2 :]) / 2
    return paired.mean(axis=0), paired.std(axis=0) / np.sqrt(len(paired))


def test_estimate_is_unbiased_for_linear_losses(domain):
    """The gradient of a smoothed linear loss is its own, along the hull. Within 6 standard errors: 1e-8 each."""
    cost = np.linspace(-1.0, 2.0, domain.dimension)
    mean, error = _estimate(domain, lambda x: x @ cost, domain.center, 0.1)
    assert (np.abs(mean - domain.tangent(cost)) <= 6 * error + 1e-12).all()
    assert error.max() < 0.02


def test_estimate_is_unbiased_for_quadratic_losses(domain):
    """Smoothing 1/2 x'Ax adds a constant, so the gradient stays Ax, along the hull."""
    n = domain.dimension
    rng = np.random.default_rng(3)
    root = rng.standard_normal((n, n))
    matrix = root @ root.T
    point = 0.5 * domain.center + 0.5 * domain.extreme_point(np.arange(n, dtype=float))
    mean, error = _estimate(domain, lambda x: np.einsum("ij,jk,ik->i", x, matrix, x) / 2, point, 0.1)
    assert (np.abs(mean - domain.tangent(matrix @ point)) <= 6 * error + 1e-12).all()


def test_estimate_with_the_ambient_dimension_would_be_biased():
    """On a flat set, d is the hull's dimension: n in its place is caught by the test above."""
    domain = sv.domains.Simplex(3)
    cost = np.array([0.0, 1.0, 5.0])
    mean, error = _estimate(domain, lambda x: x @ cost, domain.center, 0.1)
    wrong = mean * domain.dimension / domain.affine_dimension
    assert (np.abs(wrong - domain.tangent(cost)) > 6 * error).any()


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


def test_a_sphere_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="radius must be at most the domain's inner radius"):
        Sphere(sv.domains.Simplex(4), 0.9)
