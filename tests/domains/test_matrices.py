"""Matrix sets: oracles against full decompositions of numpy, projections against those of singular and eigenvalues."""

import math

import numpy as np
import pytest

from sampling import every
from sottovoce.domains import Ball, NuclearBall, Spectrahedron
from sottovoce.domains._solvers.eigenvectors import leading_eigenvector
from sottovoce.errors import DomainError
from sottovoce.projection import project


def hard_matrices(rows, columns, rng):
    """Random ones, and such as iterative methods dislike: ties, low rank, tiny gaps, zeros, widely spread values."""
    short = min(rows, columns)
    left = np.linalg.qr(rng.standard_normal((rows, short)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, short)))[0]
    spectra = [
        np.ones(short),
        np.r_[1.0, np.zeros(short - 1)],
        np.r_[1.0, 1.0 - 1e-9, np.full(short - 2, 0.5)],
        np.logspace(0, -200, short),
        np.linspace(1.0, 0.999, short),
    ]
    made = [(left * spectrum) @ right.T for spectrum in spectra]
    return [rng.standard_normal((rows, columns)), np.zeros((rows, columns)), np.eye(rows, columns), *made]


@every("shape", [(3, 5), (6, 2), (60, 45), (50, 90)])
def test_the_nuclear_oracle_against_a_full_decomposition(shape):
    domain = NuclearBall(*shape, radius=2.0)
    for matrix in hard_matrices(*shape, np.random.default_rng(0)):
        vertex = domain.extreme_point(matrix.ravel())
        largest = np.linalg.svd(matrix, compute_uv=False)[0]
        assert matrix.ravel() @ vertex == pytest.approx(-2.0 * largest, rel=1e-9, abs=1e-300)
        values = np.linalg.svd(vertex.reshape(shape), compute_uv=False)
        assert values[0] == pytest.approx(2.0)
        assert (values[1:] < 1e-12).all()
        left, weight, right = domain.extreme_factors(matrix.ravel())
        np.testing.assert_array_equal(np.multiply.outer(weight * left, right).ravel(), vertex)


@every("n", [2, 7, 60])
def test_the_spectrahedron_oracle_against_a_full_decomposition(n):
    domain = Spectrahedron(n, trace=3.0)
    rng = np.random.default_rng(1)
    for matrix in (*hard_matrices(n, n, rng), -np.eye(n), -np.multiply.outer(np.ones(n), np.ones(n))):
        vertex = domain.extreme_point(matrix.ravel())
        least = np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]
        assert matrix.ravel() @ vertex == pytest.approx(3.0 * least, rel=1e-9, abs=1e-9 * np.abs(matrix).max())
        values = np.linalg.eigvalsh(vertex.reshape(n, n))
        assert values[-1] == pytest.approx(3.0)
        assert np.abs(values[:-1]).max() < 1e-12
        left, weight, right = domain.extreme_factors(matrix.ravel())
        np.testing.assert_array_equal(np.multiply.outer(weight * left, right).ravel(), vertex)


@every("domain", [NuclearBall(60, 45), Spectrahedron(50)])
def test_answers_to_degenerate_costs_repeat_too(domain):
    """Where the start spans an invariant subspace, ARPACK goes on at random; where nothing converges, LAPACK does."""
    shape = (60, 45) if isinstance(domain, NuclearBall) else (50, 50)
    costs = hard_matrices(*shape, np.random.default_rng(5))
    first = [domain.extreme_point(cost.ravel()) for cost in costs]
    for cost, vertex in reversed(list(zip(costs, first, strict=True))):
        np.testing.assert_array_equal(domain.extreme_point(cost.ravel()), vertex)


@every("domain", [NuclearBall(60, 45), Spectrahedron(50)])
def test_iterated_answers_are_a_function_of_the_cost_and_do_not_see_its_scale(domain):
    rng = np.random.default_rng(2)
    costs = rng.standard_normal((4, domain.dimension))
    first = [domain.extreme_point(cost) for cost in costs]
    for cost, vertex in reversed(list(zip(costs, first, strict=True))):
        np.testing.assert_array_equal(domain.extreme_point(cost), vertex)
        for factor in (1e-250, 7.0, 1e200):
            np.testing.assert_allclose(domain.extreme_point(factor * cost), vertex, atol=1e-7)


@every("size", [41, 150, 600])
def test_the_iteration_ends_with_a_small_residual_at_the_top(size):
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((size, size))
    matrix = matrix + matrix.T
    vector = leading_eigenvector(lambda v: matrix @ v, size)
    value = vector @ matrix @ vector
    assert np.linalg.norm(matrix @ vector - value * vector) <= 1e-8 * value
    assert value == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-12)


def test_the_iteration_gives_up_rather_than_return_a_poor_vector():
    """Thousands of eigenvalues crowd together at the top: some hundred steps may not tell them apart."""
    spectrum = np.linspace(0.0, 1.0, 3000) ** 0.01
    vector = leading_eigenvector(lambda v: spectrum * v, 3000)
    assert vector is None or np.linalg.norm(spectrum * vector - (vector @ (spectrum * vector)) * vector) <= 1e-9


def on_simplex(values, total):
    """Projection on {x >= 0, sum = total}, by bisection on the shift."""
    low, high = values.min() - total, values.max()
    for _ in range(100):
        shift = (low + high) / 2
        low, high = (shift, high) if np.maximum(values - shift, 0.0).sum() > total else (low, shift)
    return np.maximum(values - high, 0.0)


def nearest_in_nuclear_ball(matrix, radius):
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return matrix if values.sum() <= radius else (left * on_simplex(values, radius)) @ right


def nearest_in_spectrahedron(matrix, trace):
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * on_simplex(values, trace)) @ vectors.T


@every(
    "domain, shape, nearest",
    [
        (NuclearBall(3, 4, 1.5), (3, 4), lambda matrix: nearest_in_nuclear_ball(matrix, 1.5)),
        (Spectrahedron(3, 2.0), (3, 3), lambda matrix: nearest_in_spectrahedron(matrix, 2.0)),
    ],
)
def test_projection_and_membership_against_closed_forms(domain, shape, nearest):
    rng = np.random.default_rng(4)
    for matrix in rng.standard_normal((6, *shape)):
        expected = nearest(matrix).ravel()
        found = project(domain, matrix.ravel(), gap=1e-9)
        assert math.dist(found.point, expected) <= math.sqrt(found.gap) + 1e-9
        x, y = found.point, matrix.ravel()
        assert (x - y) @ (x - domain.extreme_point(x - y)) <= 1e-8
        distance = math.dist(expected, y)
        assert domain.contains(y, distance * (1 + 1e-9) + 1e-12)
        assert distance < 1e-9 or not domain.contains(y, distance * (1 - 1e-9))
        assert domain.contains(expected, 1e-12)


def test_rounding_draws_rank_one_matrices_with_the_right_mean():
    """Hoeffding with 20000 draws of width 2: off by more than 0.05 with probability below 2 exp(-25) a coordinate."""
    rng = np.random.default_rng(5)
    ball, states = NuclearBall(2, 3), Spectrahedron(3)
    inside = 0.6 * rng.standard_normal((2, 3))
    inside /= max(np.linalg.svd(inside, compute_uv=False).sum() / 0.7, 1e-9)
    root = rng.standard_normal((3, 3))
    state = root @ root.T / np.trace(root @ root.T)
    for domain, x, shape in ((ball, inside, (2, 3)), (ball, np.zeros((2, 3)), (2, 3)), (states, state, (3, 3))):
        drawn = domain.round(x.ravel(), rng, size=20_000)
        np.testing.assert_allclose(drawn.mean(axis=0), x.ravel(), atol=0.05)
        values = np.linalg.svd(drawn[:50].reshape(-1, *shape), compute_uv=False)
        np.testing.assert_allclose(values[:, 0], 1.0)
        assert np.abs(values[:, 1:]).max() < 1e-12


def test_geometry_of_the_smallest_cases():
    """A row is a vector; 2 x 2 density matrices are a ball: the Bloch ball, here with its real part, a disc."""
    row, ball = NuclearBall(1, 4, 3.0), Ball(4, 3.0)
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(row, name) == getattr(ball, name)
    disc = Spectrahedron(2)
    assert (disc.affine_dimension, disc.inner_radius, disc.outer_radius) == (2, pytest.approx(0.5**0.5), 0.5**0.5)


@every(
    "build, message",
    [
        (lambda: NuclearBall(0, 2), "rows must be at least 1"),
        (lambda: NuclearBall(2, 2.5), "columns must be a whole number"),
        (lambda: NuclearBall(2, 2, radius=0), "radius must be greater than 0"),
        (lambda: Spectrahedron(1), "n must be at least 2"),
        (lambda: Spectrahedron(2, trace=-1), "trace must be greater than 0"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()


def test_rounding_refuses_matrices_outside():
    for domain, bad in (
        (NuclearBall(2, 2), [0.6, 0.0, 0.0, 0.5]),
        (Spectrahedron(2), [0.5, 0.1, 0.0, 0.5]),
        (Spectrahedron(2), [1.1, 0.0, 0.0, -0.1]),
        (Spectrahedron(2), [0.6, 0.0, 0.0, 0.6]),
    ):
        with pytest.raises(DomainError, match="away"):
            domain.round(bad, np.random.default_rng(0))
