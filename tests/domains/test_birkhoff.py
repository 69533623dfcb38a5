"""Assignments and matchings: larger ones, mixtures of permutations, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Birkhoff, Box, Matchings
from sottovoce.domains._solvers.assignment import permutation_mixture
from sottovoce.errors import DomainError
from sottovoce.projection import project


def line_sums(n):
    """Rows and columns of an n x n matrix add up to 1; one of the equations follows from the others."""
    eye, ones = np.eye(n), np.ones((1, n))
    return np.vstack((np.kron(eye, ones), np.kron(ones, eye)))[:-1]


def costs(rng, size):
    yield from (np.zeros(size), np.ones(size), -np.ones(size))
    yield from rng.integers(-1, 2, size=(20, size)).astype(float)
    yield from rng.standard_normal((20, size))


def test_assignments_against_highs():
    domain = Birkhoff(12)
    for cost in itertools.islice(costs(np.random.default_rng(1), 144), 0, None, 5):
        known = linprog(cost, A_eq=line_sums(12), b_eq=np.ones(23))
        assert cost @ domain.extreme_point(cost) == pytest.approx(known.fun, abs=1e-8)


def test_tangents_have_no_line_sums_left():
    rows = Birkhoff(5).tangent(np.random.default_rng(3).standard_normal((4, 25)))
    np.testing.assert_allclose(rows @ line_sums(5).T, 0.0, atol=1e-12)


def test_contains_measures_the_distance_of_a_matrix():
    domain, rng = Birkhoff(4), np.random.default_rng(4)
    for _ in range(20):
        y = domain.center + rng.standard_normal(16) * rng.choice([0.02, 0.2])
        away = math.dist(y, project(domain, y, gap=1e-16).point)
        near = domain._bracket(y)
        assert near.at_least * (1 - 1e-9) <= away <= near.at_most * (1 + 1e-9)
        assert domain.contains(y, 1.34 * away)  # between 1 and 4/3 it may say either
        assert not domain.contains(y, 0.99 * away)


@every("n", [1, 2, 5, 12])
@every("kind", ["few", "many", "sinkhorn"])
def test_mixtures_of_permutations_are_the_matrix(n, kind):
    rng = np.random.default_rng(5)
    if kind == "sinkhorn":
        matrix = rng.gamma(0.3, size=(n, n)) + 1e-9
        for _ in range(20_000):
            matrix /= matrix.sum(axis=0)
            matrix /= matrix.sum(axis=1, keepdims=True)
    else:
        shuffles = [np.eye(n)[rng.permutation(n)] for _ in range(3 if kind == "few" else 200)]
        matrix = np.tensordot(rng.dirichlet(np.ones(len(shuffles))), shuffles, axes=1)
    orders, weights = permutation_mixture(matrix)
    assert len(weights) <= n * n - 2 * n + 2 + 1
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 1e-13).all()  # nothing that only rounding made
    assert (np.sort(orders, axis=1) == np.arange(n)).all()
    np.testing.assert_allclose(np.tensordot(weights, np.eye(n)[orders], axes=1), matrix, atol=1e-9)


def test_mixtures_have_no_permutations_that_only_rounding_made():
    rng = np.random.default_rng(7)
    for _ in range(300):
        shuffles = [np.eye(4)[rng.permutation(4)] for _ in range(6)]
        _, weights = permutation_mixture(np.tensordot(rng.dirichlet(np.ones(6)), shuffles, axes=1))
        assert len(weights) <= 10
        assert weights.min() > 1e-13


def test_rounded_matrices_are_permutations_with_the_right_mean():
    """Hoeffding: 36 entries, 4 points, each off with probability 1e-9 at most."""
    domain, rng, draws = Birkhoff(6), np.random.default_rng(6), 20_000
    vertices = np.array([domain.extreme_point(cost) for cost in rng.standard_normal((30, 36))])
    for x in (
        rng.dirichlet(np.ones(30)) @ vertices,
        rng.dirichlet(np.full(30, 0.1)) @ vertices,
        domain.center,
        vertices[0],
    ):
        drawn = domain.round(x, rng, size=draws)
        assert (drawn @ line_sums(6).T == 1.0).all()
        assert set(np.unique(drawn)) == {0.0, 1.0}
        assert np.abs(drawn.mean(axis=0) - x).max() <= math.sqrt(math.log(2e9) / (2 * draws)) + 1e-9
        assert (drawn[:, x == 0.0] == 0.0).all()


def test_a_matrix_that_is_not_doubly_stochastic_is_not_rounded():
    rng = np.random.default_rng(0)
    for bad in ([0.6, 0.5, 0.4, 0.5], [1.1, -0.1, -0.1, 1.1]):
        with pytest.raises(DomainError, match="away: project it first"):
            Birkhoff(2).round(bad, rng)
    assert Birkhoff(2).round([1 + 1e-9, -1e-9, 0.0, 1.0], rng).tolist() == [1, 0, 0, 1]


def test_members_with_one_pair_each_decide_on_their_own():
    domain, box = Matchings(3, 3, [(0, 2), (1, 0), (2, 1)]), Box(0, 1, 3)
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(domain, name) == pytest.approx(getattr(box, name))


@every(
    "build, message",
    [
        (lambda: Birkhoff(1), "n must be at least 2"),
        (lambda: Matchings(0, 2), "left must be at least 1"),
        (lambda: Matchings(2, 2, [(0, 0), (0, 2)]), r"pairs must be \(0 to 1, 0 to 1\), got \(0, 2\)"),
        (lambda: Matchings(2, 2, [(0, 0), (1, 1), (0, 0)]), r"distinct, but \(0, 0\) is there twice"),
        (lambda: Matchings(2, 2, [(0.5, 0.0)]), "whole numbers of shape"),
        (lambda: Matchings(2, 2, []), "whole numbers of shape"),
    ],
)
def test_what_makes_no_sense_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
