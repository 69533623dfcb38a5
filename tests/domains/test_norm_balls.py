"""Norm balls: oracles and distances against linear and quadratic programs and full decompositions, and rounding."""

import math

import numpy as np
import piqp
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Ball, L1Ball, NuclearBall
from sottovoce.errors import DomainError
from sottovoce.projection import project

HARD_COSTS = [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0], [0.0, -2.0, 0.0, 2.0]]


def test_the_l1_oracle_against_a_linear_program():
    ball = L1Ball(4, 2.5)
    for cost in (*np.random.default_rng(0).standard_normal((30, 4)), *map(np.array, HARD_COSTS)):
        found = linprog(np.concatenate((cost, -cost)), np.ones((1, 8)), [2.5])  # x = u - v with u, v >= 0
        assert cost @ ball.extreme_point(cost) == pytest.approx(found.fun, abs=1e-9)
        assert np.abs(ball.extreme_point(cost)).sum() == 2.5


def l1_distance_by_quadratic_program(x, radius):
    """Min ||u - v - x||^2 over u, v >= 0 with sum u + v <= radius, by piqp."""
    n = x.size
    split = np.hstack((np.eye(n), -np.eye(n)))
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    rows = np.ones((1, 2 * n))
    solver.setup(
        2 * split.T @ split + 1e-12 * np.eye(2 * n),
        -2 * split.T @ x,
        None,
        None,
        rows,
        np.array([-1e30]),
        np.array([radius]),
        np.zeros(2 * n),
        np.full(2 * n, 1e30),
    )
    solver.solve()
    return np.linalg.norm(split @ solver.result.x - x)


def test_l1_contains_is_a_matter_of_distance():
    rng = np.random.default_rng(3)
    ball = L1Ball(4, 2.0, [1.0, 0.0, 0.0, -1.0])
    for x in ball.center + rng.standard_normal((20, 4)):
        distance = l1_distance_by_quadratic_program(x - ball.center, 2.0)
        if distance > 1e-5:
            assert ball.contains(x, distance * 1.001 + 1e-6)
            assert not ball.contains(x, distance * 0.999 - 1e-6)
        else:
            assert ball.contains(x)


def hard_matrices(rows, columns, rng):
    """Random ones, and such with ties, of low rank, with tiny gaps, zeros and widely spread singular values."""
    short = min(rows, columns)
    left = np.linalg.qr(rng.standard_normal((rows, short)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, short)))[0]
    spectra = [
        np.ones(short),
        np.r_[1.0, np.zeros(short - 1)],
        np.r_[1.0, 1.0 - 1e-9, np.full(short - 2, 0.5)],
        np.logspace(0, -200, short),
    ]
    made = [(left * spectrum) @ right.T for spectrum in spectra]
    return [rng.standard_normal((rows, columns)), np.zeros((rows, columns)), np.eye(rows, columns), *made]


@every("shape", [(3, 5), (6, 2), (60, 45)])
def test_the_nuclear_oracle_finds_the_largest_singular_value(shape):
    domain = NuclearBall(*shape, radius=2.0)
    for matrix in hard_matrices(*shape, np.random.default_rng(0)):
        vertex = domain.extreme_point(matrix.ravel())
        largest = np.linalg.svd(matrix, compute_uv=False)[0]
        assert matrix.ravel() @ vertex == pytest.approx(-2.0 * largest, rel=1e-9, abs=1e-300)
        values = np.linalg.svd(vertex.reshape(shape), compute_uv=False)
        assert values[0] == pytest.approx(2.0)
        assert (values[1:] < 1e-12).all()


def test_nuclear_membership_is_a_matter_of_distance():
    """Of the projection, tests/projection/test_every_domain.py has the closed form."""
    domain = NuclearBall(3, 4, 1.5)
    for y in np.random.default_rng(4).standard_normal((6, 12)):
        nearest = project(domain, y, gap=1e-9)
        np.testing.assert_allclose(domain.nearest(y), nearest.point, atol=1e-6)
        distance = math.dist(domain.nearest(y), y)
        assert domain.contains(y, distance * (1 + 1e-9) + 1e-12)
        assert distance < 1e-9 or not domain.contains(y, distance * (1 - 1e-9))


@every("x", [[0.0, 0.0, 0.0, 0.0], [0.5, -0.3, 0.0, 0.1], [0.4, 0.4, 0.4, 0.4], [-2.0, 0.0, 0.0, 0.0]])
def test_rounding_has_the_right_mean_and_full_length(x):
    """Hoeffding with 20000 draws of width 4: off by more than 0.1 with probability below 2 exp(-25) a coordinate."""
    for domain in (L1Ball(4, 2.0), NuclearBall(2, 2, 2.0)):
        drawn = domain.round(x, np.random.default_rng(0), size=20_000)
        np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 2.0)
        np.testing.assert_allclose(drawn.mean(axis=0), x, atol=0.1)
        if isinstance(domain, L1Ball):
            assert (np.count_nonzero(drawn, axis=1) == 1).all()
        else:
            assert (np.linalg.matrix_rank(drawn[:50].reshape(-1, 2, 2), tol=1e-9) == 1).all()


def test_a_matrix_of_one_row_is_a_vector():
    row, ball = NuclearBall(1, 4, 3.0), Ball(4, 3.0)
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(row, name) == getattr(ball, name)


@every(
    "build, message",
    [
        (lambda: L1Ball(0), "n must be at least 1"),
        (lambda: L1Ball(2, radius=-1.0), "radius must be greater than 0"),
        (lambda: L1Ball(2, center=[0.0]), r"center must have shape \(2,\)"),
        (lambda: NuclearBall(0, 2), "rows must be at least 1"),
        (lambda: NuclearBall(2, 2.5), "columns must be a whole number"),
        (lambda: NuclearBall(2, 2, radius=0), "radius must be greater than 0"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()


def test_rounding_refuses_points_a_little_outside():
    for domain, bad in ((L1Ball(2), [0.7, 0.3001]), (NuclearBall(2, 2), [0.6, 0.0, 0.0, 0.5])):
        with pytest.raises(DomainError, match="away"):
            domain.round(bad, np.random.default_rng(0))
    L1Ball(2).round([0.7, 0.3 + 1e-9], np.random.default_rng(0))
