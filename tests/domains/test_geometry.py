"""Geometry from the oracle alone, against what is known otherwise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from sampling import every
from sottovoce.domains import Box, Custom, Domain, Hypersimplex, Simplex
from sottovoce.errors import DomainError


def hull_of(points):
    return Custom(lambda cost: points[(points @ cost).argmin()], points.shape[1])


def default_of(domain):
    return Custom(domain.extreme_point, domain.dimension)


def mixed_points(seed, count, rank, dimension, stretch=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1.0, stretch, rank)
    return (rng.standard_normal((count, rank)) * scales) @ rng.standard_normal((rank, dimension)) + offset


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dimension=st.integers(1, 6),
    data=st.data(),
    stretch=st.sampled_from([1.0, 1e3]),
    offset=st.sampled_from([0.0, 1e3]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_affine_hull_of_random_points(seed, dimension, data, stretch, offset, scale):
    rank = data.draw(st.integers(1, dimension))
    points = scale * mixed_points(seed, rank + 5, rank, dimension, stretch, offset)
    domain = hull_of(points)
    assert domain.affine_dimension == rank
    across = points - points[0]
    np.testing.assert_allclose(domain.tangent(across), across, atol=1e-7 * np.abs(across).max())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), dimension=st.integers(2, 4), stretch=st.sampled_from([1.0, 30.0, 1e4]))
def test_certificates_of_random_polytopes_hold_against_their_facets(seed, dimension, stretch):
    points = mixed_points(seed, 15, dimension, dimension, stretch)
    domain = hull_of(points)
    facets = ConvexHull(points).equations  # unit normal, offset; inside is negative
    exact = -(facets[:, :-1] @ domain.center + facets[:, -1]).max()
    assert 0.0 < domain.inner_radius <= exact * (1 + 1e-9)
    assert np.linalg.norm(points - domain.center, axis=1).max() <= domain.outer_radius
    assert np.linalg.norm(points[:, None] - points[None], axis=2).max() <= domain.diameter


@every(
    "domain, share",
    [(Simplex(12), 1 - 1e-6), (Box(-1, 1, 4), 0.999), (Hypersimplex(12, 4), 0.75), (Hypersimplex(12, 11), 1 - 1e-6)],
)
def test_the_default_inner_radius_keeps_a_known_share_of_the_exact_one(domain, share):
    assert default_of(domain).inner_radius >= share * domain.inner_radius


@every("thickness", [1e-3, 1e-6, 1e-8])
def test_a_thin_set_is_not_flat_and_its_radius_is_found(thickness):
    turned = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    box = Box(0.0, [thickness, 1.0, 3.0])
    domain = Custom(lambda cost: turned @ box.extreme_point(turned.T @ cost) + 5.0, 3)
    assert domain.affine_dimension == 3
    assert 0.99 * thickness / 2 <= domain.inner_radius <= thickness / 2


class Triangle(Domain):
    """A domain with nothing of its own but the oracle."""

    corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])

    def __init__(self):
        self.dimension = 2
        self.calls = 0

    def extreme_point(self, cost):
        self.calls += 1
        return self.corners[(self.corners @ cost).argmin()]


def test_one_method_makes_a_domain_and_geometry_is_computed_once():
    triangle = Triangle()
    assert triangle.calls == 0
    assert 0.0 < triangle.inner_radius <= 1.0  # the inscribed circle of a 3-4-5 triangle
    assert triangle.diameter == pytest.approx(5.0, rel=0.2)
    spent = triangle.calls
    assert (triangle.inner_radius, triangle.diameter) == (triangle.inner_radius, triangle.diameter)
    assert triangle.calls == spent
    assert repr(triangle) == "Triangle(dimension=2)"


def test_a_centre_of_ones_own_asks_for_a_radius_of_ones_own():
    class OffCentre(Triangle):
        @property
        def center(self):
            return np.array([0.1, 0.1])

    with pytest.raises(DomainError, match="must override inner_radius too"):
        _ = OffCentre().inner_radius
    assert OffCentre().outer_radius >= math.dist((0.1, 0.1), (4.0, 0.0))


@every("scale", [1e-6, 1.0, 1e6])
def test_contains_is_decided_at_every_scale(scale):
    points = scale * mixed_points(5, 20, 3, 3)
    domain, middle, vertex = hull_of(points), points.mean(axis=0), points[ConvexHull(points).vertices[0]]
    for inside in (middle, points[0]):
        assert domain.contains(inside, tolerance=1e-9 * scale)
    for outside in (vertex + 1e-3 * (vertex - middle), np.full(3, 1e9 * scale)):
        assert not domain.contains(outside, tolerance=1e-9 * scale)
