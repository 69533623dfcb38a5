"""Product and Affine: exact where their parts are, and nothing is lost on the way."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import (
    Affine,
    Ball,
    Box,
    ConvexHull,
    Hypersimplex,
    L1Ball,
    Polytope,
    Product,
    Simplex,
)
from sottovoce.errors import DomainError
from sottovoce.projection import project


def test_a_product_of_boxes_is_a_box():
    product, box = Product([Box([0.0], [2.0]), Box([-1.0, 5.0], [1.0, 9.0])]), Box([0.0, -1.0, 5.0], [2.0, 1.0, 9.0])
    for cost in (*np.random.default_rng(0).standard_normal((20, 3)), np.zeros(3)):
        np.testing.assert_array_equal(product.extreme_point(cost), box.extreme_point(cost))
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(product, name) == pytest.approx(getattr(box, name))
    np.testing.assert_array_equal(product.center, box.center)


def test_a_product_with_a_linear_program_on_all_of_it():
    product = Product([Simplex(3), Polytope([[1.0, 2.0]], [2.0], bounds=(0, 1)), Hypersimplex(4, 2)])
    rng = np.random.default_rng(1)
    equations = np.zeros((2, 9))
    equations[0, :3], equations[1, 5:] = 1.0, 1.0
    inequality = np.zeros((1, 9))
    inequality[0, 3:5] = 1.0, 2.0
    for cost in (*rng.standard_normal((10, 9)), *rng.integers(-1, 2, (10, 9)).astype(float), np.zeros(9)):
        reference = linprog(cost, inequality, [2.0], equations, [1.0, 2.0], bounds=(0, 1)).fun
        assert cost @ product.extreme_point(cost) == pytest.approx(reference, abs=1e-9)


def test_distances_to_a_product_add_up_by_pythagoras():
    product = Product([Ball(2), Ball(2)])
    x = np.array([1.3, 0.0, 0.0, 1.4])  # 0.3 and 0.4 away: 0.5 in all
    assert product.contains(x, 0.51 / 0.75)
    assert not product.contains(x, 0.49)
    assert not product.contains(x, 0.41)


def test_parts_that_are_points_leave_room_for_the_others():
    product = Product([Box([7.0], [7.0]), Box([0.0], [4.0])])
    assert (product.affine_dimension, product.inner_radius) == (1, 2.0)
    assert Product([Box([7.0], [7.0])]).inner_radius == 0.0
    drawn = product.round([7.0 + 1e-15, 1.0], np.random.default_rng(0), size=5)
    assert (drawn[:, 0] == 7.0).all()
    with pytest.raises(DomainError, match="away"):
        product.round([7.1, 1.0], np.random.default_rng(0))


def test_parts_are_rounded_independently():
    """Correlation of 10000 pairs of fair coins: beyond 0.06 with probability below 2 exp(-18)."""
    product = Product([Simplex(2), Simplex(2)])
    drawn = product.round([0.5, 0.5, 0.5, 0.5], np.random.default_rng(0), size=10_000)
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 2])[0, 1]) < 0.06


@every("scale", [3.0, -0.5])
def test_one_factor_scales_all_of_the_geometry(scale):
    original = L1Ball(3, 2.0)
    image = Affine(original, scale, [1.0, 2.0, 3.0])
    known = L1Ball(3, 2.0 * abs(scale), [1.0, 2.0, 3.0])
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(image, name) == pytest.approx(getattr(known, name), rel=1e-12)
    np.testing.assert_allclose(image.center, known.center)
    for cost in np.random.default_rng(0).standard_normal((20, 3)):
        np.testing.assert_allclose(image.extreme_point(cost), known.extreme_point(cost))
    for x in known.center + np.random.default_rng(1).standard_normal((50, 3)) * abs(scale):
        assert image.contains(x) == known.contains(x)


def test_rotations_keep_the_geometry():
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0]
    original = Simplex(4)
    image = Affine(original, rotation, 5.0)
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(image, name) == pytest.approx(getattr(original, name), rel=1e-9)


def test_factors_for_each_coordinate_make_a_box_of_a_box():
    image, known = Affine(Box([0.0, 0.0], [10.0, 1.0]), [1.0, 10.0], [0.0, 3.0]), Box([0.0, 3.0], [10.0, 13.0])
    assert image.inner_radius == pytest.approx(
        known.inner_radius, rel=1e-3
    )  # 0.5, were the original's ball all there is
    assert known.diameter <= image.diameter <= 1.001 * known.diameter
    for cost in np.random.default_rng(0).standard_normal((20, 2)):
        np.testing.assert_array_equal(image.extreme_point(cost), known.extreme_point(cost))


def test_matrices_map_vertices_to_vertices():
    rng = np.random.default_rng(3)
    points, matrix, shift = rng.standard_normal((20, 3)), rng.standard_normal((5, 3)), rng.standard_normal(5)
    image, known = Affine(ConvexHull(points), matrix, shift), ConvexHull(points @ matrix.T + shift)
    for cost in rng.standard_normal((30, 5)):
        np.testing.assert_allclose(image.extreme_point(cost), known.extreme_point(cost))
    assert image.affine_dimension == known.affine_dimension == 3
    np.testing.assert_allclose(image.tangent(np.eye(5)), known.tangent(np.eye(5)), atol=1e-12)
    for weights in rng.dirichlet(np.full(20, 0.2), 8):
        x = weights @ known.points
        for moved in (x, known.center + 1.5 * (x - known.center), x + 1e-3 * rng.standard_normal(5)):
            assert image.contains(moved) == known.contains(moved)


def test_projection_on_an_ellipse():
    """Of the ellipse (x/2)^2 + y^2 <= 1 the point nearest to (0, 3) is (0, 1), and to (5, 0), (2, 0)."""
    ellipse = Affine(Ball(2), [2.0, 1.0])
    for y, expected in (([0.0, 3.0], [0.0, 1.0]), ([5.0, 0.0], [2.0, 0.0])):
        np.testing.assert_allclose(project(ellipse, y, gap=1e-12).point, expected, atol=1e-6)
    assert not ellipse.contains([0.0, 1.01])
    assert ellipse.contains([1.99, 0.0])
    assert ellipse.contains([0.0, 1.1], 0.14)  # the original alone cannot tell, by how much its tolerance is stretched
    assert not ellipse.contains([0.0, 1.1], 0.09)
    assert not ellipse.contains([2.1, 0.0], 0.09)


@every(
    ("build", "message"),
    [
        (lambda: Product([]), "at least one domain"),
        (lambda: Product([Simplex(2), 3]), r"domains\[1\] must be a Domain, got 3"),
        (lambda: Affine(3, 1.0), "domain must be a Domain"),
        (lambda: Affine(Simplex(2), 0.0), "must not be zero"),
        (lambda: Affine(Simplex(2), [1.0, 0.0]), "must not be zero"),
        (lambda: Affine(Simplex(2), [1.0, 2.0, 3.0]), r"shape \(2,\) or \(m, 2\), got \(3,\)"),
        (lambda: Affine(Simplex(2), [[1.0, 1.0]]), "full column rank"),
        (lambda: Affine(Simplex(2), [[1.0, 1.0], [2.0, 2.0]]), "full column rank"),
        (lambda: Affine(Simplex(2), math.inf), "scale must be finite"),
        (lambda: Affine(Simplex(2), 1.0, [1.0]), r"shift must have shape \(2,\)"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()
