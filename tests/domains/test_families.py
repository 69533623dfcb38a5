"""Each family's own facts: closed forms, brute force on small cases, and what the constructors refuse."""

import math

import numpy as np
import pytest

from sampling import every
from sottovoce.domains import Ball, Box, Custom, Hypersimplex, Simplex
from sottovoce.errors import DomainError


def test_the_hypersimplex_of_one_is_the_simplex():
    simplex, one = Simplex(5), Hypersimplex(5, 1)
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(simplex, name) == pytest.approx(getattr(one, name))


def test_systematic_sampling_keeps_sure_items_and_never_draws_impossible_ones():
    x = np.array([1.0, 0.0, 0.3, 0.7, 1.0, 1e-17, 0.5, 0.5])
    drawn = Hypersimplex(8, 4).round(x, np.random.default_rng(0), size=5000)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert (drawn.sum(axis=1) == 4).all()
    assert (drawn[:, [0, 4]] == 1).all()
    assert (drawn[:, [1, 5]] == 0).all()


def test_rounding_forgives_rounding_errors_only():
    slate = Hypersimplex(3, 1)
    rng = np.random.default_rng(0)
    drawn = slate.round([1.0 + 1e-9, -1e-9, 0.0], rng, size=100)
    assert (drawn.sum(axis=1) == 1).all()
    with pytest.raises(DomainError, match="away"):
        slate.round([1.0 + 1e-3, -1e-3, 0.0], rng)
    on_sphere = Ball(3).round([0.0, 0.0, 1.0 + 1e-9], rng, size=100)
    np.testing.assert_allclose(on_sphere, np.tile([0.0, 0.0, 1.0], (100, 1)), atol=1e-4)


def test_ball_rounds_to_the_sphere_from_anywhere():
    ball = Ball(4, 2.0, [1.0, 0.0, 0.0, 5.0])
    for reach in (0.0, 0.5, 1.0):
        x = ball.center + reach * 2.0 * np.array([0.6, 0.8, 0.0, 0.0])
        drawn = ball.round(x, np.random.default_rng(1), size=200)
        np.testing.assert_allclose(np.linalg.norm(drawn - ball.center, axis=1), 2.0)


def test_box_accepts_numbers_arrays_and_both():
    for box in (Box(0, 1, dimension=3), Box([0, 0, 0], 1), Box(0.0, np.ones(3)), Box([0, 0, 0], [1, 1, 1], 3)):
        np.testing.assert_array_equal(box.extreme_point([1, -1, 1]), [0.0, 1.0, 0.0])


def test_a_flat_box_has_room_only_where_it_is_not_flat():
    box = Box([0.0, 2.0, -1.0], [1.0, 2.0, 3.0])
    assert (box.affine_dimension, box.inner_radius) == (2, 0.5)
    np.testing.assert_array_equal(box.tangent([5.0, 6.0, 7.0]), [5.0, 0.0, 7.0])


def test_the_box_does_not_keep_a_hold_on_the_callers_arrays():
    low = np.zeros(2)
    box = Box(low, [1.0, 1.0])
    low[0] = 0.5
    assert box.low[0] == 0.0


@every(
    ("build", "message"),
    [
        (lambda: Box([0.0, 2.0], [1.0, 1.0]), "empty: low 2 is above high 1 at coordinate 1"),
        (lambda: Box(0.0, 1.0), "dimension must be given"),
        (lambda: Box([0.0, 1.0], [1.0, 2.0, 3.0]), r"low must have shape \(3,\)"),
        (lambda: Box(0.0, [1.0, math.inf]), "high must be finite"),
        (lambda: Ball(0), "dimension must be at least 1"),
        (lambda: Ball(2.5), "dimension must be a whole number"),
        (lambda: Ball(2, radius=0.0), "radius must be greater than 0"),
        (lambda: Ball(2, center=[0.0]), r"center must have shape \(2,\)"),
        (lambda: Simplex(1), "n must be at least 2"),
        (lambda: Hypersimplex(5, 0), "k must be at least 1 and at most 4"),
        (lambda: Hypersimplex(5, 5), "k must be at least 1 and at most 4"),
        (lambda: Custom(lambda cost: cost, 0), "dimension must be at least 1"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()


@every(
    "oracle, message",
    [
        (lambda cost: np.zeros(3), r"must return an array of shape \(2,\), got \(3,\)"),
        (lambda cost: None, "returned None"),
        (lambda cost: ["left", "right"], r"must return an array of shape \(2,\), got \['left'"),
        (lambda cost: np.full(2, np.nan), "must return finite"),
        (lambda cost: np.sign(cost), "if it maximises, give it the negative"),
        (lambda cost: np.array([np.cos(cost[0]), 0.0]), "does not minimise"),
    ],
)
def test_custom_refuses_what_is_not_an_oracle(oracle, message):
    with pytest.raises(DomainError, match=message):
        Custom(oracle, 2)


def test_custom_refuses_what_is_not_a_function():
    with pytest.raises(TypeError, match="oracle must be a function"):
        Custom([1.0, 2.0], 2)


def test_custom_notices_an_oracle_that_breaks_later():
    broken = False

    def oracle(cost):
        return np.full(2, np.nan) if broken else -np.sign(cost)

    domain = Custom(oracle, 2)
    broken = True
    with pytest.raises(DomainError, match="finite"):
        domain.extreme_point([1.0, 1.0])


def test_custom_copies_answers_that_the_oracle_will_overwrite():
    buffer = np.zeros(3)

    def reusing(cost):
        buffer[:] = 0.0
        buffer[np.argmin(cost)] = 1.0
        return buffer

    domain = Custom(reusing, 3)
    first = domain.extreme_point([0.0, 1.0, 1.0])
    domain.extreme_point([1.0, 0.0, 1.0])
    np.testing.assert_array_equal(first, [1.0, 0.0, 0.0])
    assert domain.contains([0.2, 0.3, 0.5])
