"""Products: exact where their parts are, and nothing is lost on the way."""

import numpy as np
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import (
    Ball,
    Box,
    Hypersimplex,
    Polytope,
    Product,
    Simplex,
)
from sottovoce.errors import DomainError


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


@every(
    ("build", "message"),
    [
        (lambda: Product([]), "at least one domain"),
        (lambda: Product([Simplex(2), 3]), r"domains\[1\] must be a Domain, got 3"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()
